package zookeeper

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// permission is one entry of an access list: what those may do who have an identity.
type permission struct {
	perms      int32
	scheme, id string
}

// everybody is how a znode is created that is open to all.
var everybody = []permission{{jute.All, "world", "anyone"}}

// entries is the access list that stands in replies.
func (n *znode) entries() []permission {
	if n.acl == nil {
		return everybody
	}
	return n.acl
}

// permits reports whether a client with these identities may do something to a znode (ZooKeeperServer.checkACL).
func (n *znode) permits(perm int32, identities []string) bool {
	return permits(n.acl, perm, identities)
}

func permits(acl []permission, perm int32, identities []string) bool {
	return acl == nil || slices.ContainsFunc(acl, func(p permission) bool {
		return p.perms&perm != 0 && (p.scheme == "world" || slices.Contains(identities, p.id))
	})
}

// shown is the access list as a client may see it: digests are hidden from those that may not change it.
func (n *znode) shown(identities []string) []permission {
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

// grants makes the access list that a client asks for, without duplicates; auth stands for the client's own identities
// (PrepRequestProcessor.fixupACL). Of the schemes of ZooKeeper there are world, auth and digest.
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

// digestOf reports whether id is a user and a digest.
func digestOf(id string) bool {
	return strings.Count(strings.TrimRight(id, ":"), ":") == 1
}

// identity is that of a user who gives a password, as "user:password" (DigestAuthenticationProvider).
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
