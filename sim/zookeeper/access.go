package zookeeper

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// permission is one entry of an access list. It specifies what clients with a certain identity may do.
type permission struct {
	perms      int32
	scheme, id string
}

// everybody is the access list that gives all clients all permissions.
var everybody = []permission{{jute.All, "world", "anyone"}}

// entries returns the access list to put in a reply.
func (n *znode) entries() []permission {
	if n.acl == nil {
		return everybody
	}
	return n.acl
}

// permits reports whether a client with the given identities has a permission for the znode (ZooKeeperServer.checkACL).
func (n *znode) permits(perm int32, identities []string) bool {
	return permits(n.acl, perm, identities)
}

func permits(acl []permission, perm int32, identities []string) bool {
	return acl == nil || slices.ContainsFunc(acl, func(p permission) bool {
		return p.perms&perm != 0 && (p.scheme == "world" || slices.Contains(identities, p.id))
	})
}

// visibleACL returns the access list that a client may see. Digests are hidden unless the client may change the list.
func (n *znode) visibleACL(identities []string) []permission {
	if n.permits(jute.Admin, identities) {
		return n.entries()
	}
	list := slices.Clone(n.entries())
	for i := range list {
		if user, _, found := strings.Cut(list[i].id, ":"); found && list[i].scheme == digestScheme {
			list[i].id = user + ":x"
		}
	}
	return list
}

// grants returns the access list that a client has requested, without duplicates. Entries with the scheme auth are
// replaced with the client's own identities (PrepRequestProcessor.fixupACL). Of ZooKeeper's schemes, only world, auth
// and digest are supported.
func grants(asked []permission, identities []string) ([]permission, Code) {
	var list []permission
	for i, p := range asked {
		valid := slices.Index(asked, p) == i
		switch {
		case !valid:
			continue
		case p.scheme == "world" && p.id == "anyone":
			list = append(list, p)
		case p.scheme == "auth" && len(identities) > 0:
			for _, id := range identities {
				list = append(list, permission{p.perms, digestScheme, id})
			}
		case p.scheme == digestScheme && digestOf(p.id):
			list = append(list, p)
		default:
			return nil, InvalidACL
		}
	}
	if len(list) == 0 {
		return nil, InvalidACL
	}
	return list, ""
}

const digestScheme = "digest"

// digestOf reports whether id has the form user:digest.
func digestOf(id string) bool {
	return strings.Count(strings.TrimRight(id, ":"), ":") == 1
}

// identity returns the identity "user:digest" of a client that gives the name and password "user:password"
// (DigestAuthenticationProvider).
func identity(given string) string {
	user, _, _ := strings.Cut(given, ":")
	sum := sha1.Sum([]byte(given))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

func appendACL(r jute.Record, list []permission) jute.Record {
	r = r.Int(int32(len(list)))
	for _, p := range list {
		r = r.Int(p.perms).Text(p.scheme).Text(p.id)
	}
	return r
}

func readACL(f *jute.Fields) (list []permission) {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		list = append(list, permission{f.Int(), f.Text(), f.Text()})
	}
	return list
}
