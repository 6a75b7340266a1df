package zookeeper

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// ensemble is a replicated state with two sessions.
type ensemble struct {
	t *testing.T
	state
	a, b SessionID
}

func newEnsemble(t *testing.T) *ensemble {
	e := &ensemble{t: t}
	e.state.reset()
	for i, id := range []*SessionID{&e.a, &e.b} {
		*id = e.apply(1, &command{kind: createSession, timeout: 6 * time.Second, conn: uint64(i + 1)}).session.id
	}
	return e
}

// connOf returns the number of the connection on which newEnsemble opened a session.
func (e *ensemble) connOf(id SessionID) uint64 {
	if id == e.a {
		return 1
	}
	return 2
}

func (e *ensemble) create(id SessionID, path string, mode Mode) string {
	r := e.apply(1, &command{kind: createNode, session: id, conn: e.connOf(id), path: path, mode: mode,
		attempt: "client-1/1"})
	if r.code != "" {
		return string(r.code)
	}
	return r.path
}

func (e *ensemble) delete(id SessionID, path string, version int64) Code {
	return e.apply(1, &command{kind: deleteNode, session: id, conn: e.connOf(id), path: path, version: version}).code
}

func (e *ensemble) set(path string, version int64) Code {
	return e.apply(1, &command{kind: setData, session: e.a, conn: 1, path: path, data: "x", version: version}).code
}

func (e *ensemble) events() string {
	var list []string
	for _, c := range e.changes {
		list = append(list, string(c.Type)+" "+c.Path)
	}
	return strings.Join(list, ", ")
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestSequentialNamesCountTheCreatesOfTheParent(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	same(t, "first", e.create(e.a, "/q/n-", EphemeralSequential), "/q/n-0000000000")
	same(t, "plain nodes count too", e.create(e.a, "/q/plain", Persistent), "/q/plain")
	same(t, "third", e.create(e.b, "/q/other-", PersistentSequential), "/q/other-0000000002")
	same(t, "delete", e.delete(e.a, "/q/plain", AnyVersion), "")
	same(t, "deletes do not count", e.create(e.a, "/q/n-", EphemeralSequential), "/q/n-0000000003")
	s := e.nodes["/q"].stat()
	same(t, "cversion counts both", s.Cversion, 5)
	same(t, "children", s.NumChildren, 3)
	n, ok := Sequence("/q/n-0000000003")
	same(t, "sequence", fmt.Sprint(n, ok), "3 true")
	for _, name := range []string{"", "n-3", "0123456789x", "-000000001"} {
		if _, ok := Sequence(name); ok {
			t.Errorf("%q has a sequence", name)
		}
	}
}

// TestANumberMayMakeAName checks that a sequential znode's path is not checked until the number has been appended to
// it.
func TestANumberMayMakeAName(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	same(t, "a slash", e.create(e.a, "/q/", EphemeralSequential), "/q/0000000000")
	same(t, "dots", e.create(e.a, "/q/..", PersistentSequential), "/q/..0000000001")
}

func TestZxidsCountWithinTheEpoch(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	same(t, "czxid", e.nodes["/q"].czxid, 1<<32+3)
	e.create(e.a, "/q", Persistent) // a transaction that fails also uses up a zxid
	e.set("/q", AnyVersion)
	e.create(e.a, "/q/c", Persistent)
	s := e.nodes["/q"].stat()
	same(t, "zxids of /q", fmt.Sprint(s.Czxid-1<<32, s.Mzxid-1<<32, s.Pzxid-1<<32), "3 5 6")
	e.delete(e.a, "/q/c", AnyVersion)
	same(t, "pzxid after a delete", e.nodes["/q"].pzxid, 1<<32+7)
	e.apply(2, &command{kind: setData, session: e.a, conn: 1, path: "/q", version: AnyVersion})
	same(t, "next epoch", e.nodes["/q"].mzxid, 2<<32+1)
}

func TestTransactionsThatAreRefused(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	e.create(e.a, "/e", Ephemeral)
	e.create(e.a, "/q/c", Persistent)
	for _, c := range []struct {
		what      string
		got, want Code
	}{
		{"existing", Code(e.create(e.a, "/q", Persistent)), NodeExists},
		{"without a parent", Code(e.create(e.a, "/none/c", Persistent)), NoNode},
		{"below an ephemeral node", Code(e.create(e.a, "/e/c", Persistent)), NoChildrenForEphemerals},
		{"relative", Code(e.create(e.a, "q", Persistent)), BadArguments},
		{"empty", Code(e.create(e.a, "", Persistent)), BadArguments},
		{"root", Code(e.create(e.a, "/", Persistent)), NodeExists},
		{"trailing slash", Code(e.create(e.a, "/q/", Persistent)), BadArguments},
		{"below no znode", Code(e.create(e.a, "/q/../r", Persistent)), NoNode},
		{"dots", Code(e.create(e.a, "/q/..", Persistent)), BadArguments},
		{"delete of what is no path", e.delete(e.a, "q", AnyVersion), BadArguments},
		{"delete of what ends in a slash", e.delete(e.a, "/q/", AnyVersion), NoNode},
		{"set of what is no path", e.set("/q/.", AnyVersion), BadArguments},
		{"no such mode", Code(e.create(e.a, "/r", noMode)), BadArguments},
		{"delete of nothing", e.delete(e.a, "/none", AnyVersion), NoNode},
		{"delete of the root", e.delete(e.a, "/", AnyVersion), BadArguments},
		{"delete with children", e.delete(e.a, "/q", AnyVersion), NotEmpty},
		{"delete of another version", e.delete(e.a, "/q/c", 1), BadVersion},
		{"set of nothing", e.set("/none", AnyVersion), NoNode},
		{"set of another version", e.set("/q", 1), BadVersion},
		{"set of the right version", e.set("/q", 0), ""},
		{"set of an old version", e.set("/q", 0), BadVersion},
		{"without a session", e.apply(1, &command{kind: setData, session: 99, path: "/q"}).code, SessionExpired},
		{"on another connection", e.apply(1, &command{kind: setData, session: e.a, conn: 2, path: "/q"}).code,
			SessionMoved},
		{"of no kind", e.apply(1, &command{kind: "unheard-of", session: e.a, conn: 1}).code, BadArguments},
	} {
		same(t, c.what, c.got, c.want)
	}
}

func TestTheEndOfASessionTakesItsEphemeralNodesOnly(t *testing.T) {
	for _, how := range []kind{closeSession, expireSession} {
		e := newEnsemble(t)
		e.create(e.a, "/q", Persistent)
		e.create(e.a, "/q/n-", EphemeralSequential)
		e.create(e.b, "/q/n-", EphemeralSequential)
		e.create(e.a, "/q/gone", Ephemeral)
		e.create(e.a, "/kept", PersistentSequential)
		e.delete(e.b, "/q/gone", AnyVersion) // a client may delete the znode of another
		e.apply(1, &command{kind: how, session: e.a, conn: 1})
		same(t, "events", e.events(), "NodeDeleted /q/n-0000000000, NodeChildrenChanged /q")
		same(t, "children", strings.Join(e.nodes["/q"].children, " "), "n-0000000001")
		same(t, "kept", e.nodes["/kept0000000001"] != nil, true)
		same(t, "session", e.session(e.a), nil)
		same(t, "again", e.apply(1, &command{kind: how, session: e.a, conn: 1}).code, SessionExpired)
		same(t, "late write", e.set("/q", AnyVersion), SessionExpired)
	}
}

func TestSessionSpeaksThroughItsLatestConnection(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	e.apply(1, &command{kind: moveSession, session: e.a, conn: 9})
	same(t, "old connection", e.set("/q", AnyVersion), SessionMoved)
	same(t, "new connection",
		e.apply(1, &command{kind: setData, session: e.a, conn: 9, path: "/q", version: AnyVersion}).code, "")
	same(t, "close on the old one", e.apply(1, &command{kind: closeSession, session: e.a, conn: 1}).code, SessionMoved)
}

// TestMembersMayShareACommand checks that a command does not change when it is applied, because all members apply the
// same object.
func TestMembersMayShareACommand(t *testing.T) {
	list := func(session SessionID) []command {
		return []command{
			{kind: createNode, path: "/q", acl: []permission{{jute.All, "auth", ""}}, identities: []string{"a:b"},
				at: 7},
			{kind: createNode, path: "/q/n-", data: "x", mode: EphemeralSequential, attempt: "client-1/2"},
			{kind: setData, path: "/q", null: true, version: AnyVersion, identities: []string{"a:b"}},
			{kind: setAccess, path: "/q", acl: []permission{{1, "world", "anyone"}, {1, "world", "anyone"}},
				version: AnyVersion, identities: []string{"a:b"}},
			{kind: multi, parts: []command{
				{kind: checkVersion, op: jute.Check, path: "/q", version: AnyVersion},
				{kind: createNode, op: jute.Create2, path: "/c", mode: ContainerSequential, acl: everybody}}},
			{kind: reapContainer, path: "/q"},
			{kind: closeSession},
			{kind: expireSession, session: session, due: 9},
		}
	}
	one, two := newEnsemble(t), newEnsemble(t)
	shared, before := list(one.b), list(one.b)
	for i := range shared {
		for _, c := range []*command{&shared[i], &before[i]} {
			if c.kind != expireSession && c.kind != reapContainer {
				c.session, c.conn = one.a, 1
			}
		}
		first, second := one.apply(1, &shared[i]), two.apply(1, &shared[i])
		if !reflect.DeepEqual(shared[i], before[i]) || first.code != second.code {
			t.Errorf("%+v became %+v, with %q and %q", before[i], shared[i], first.code, second.code)
		}
	}
}

// plainTree is a simple model of a tree. It maps each path to how many children have ever been created there.
type plainTree map[string]int

func (p plainTree) children(path string) (names []string) {
	for other := range p {
		if parent, name, _ := split(other); other != "/" && parent == path {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p plainTree) create(path string, sequential bool) Code {
	parent, _, _ := split(path)
	if _, there := p[parent]; !there {
		return NoNode
	}
	if sequential {
		path = fmt.Sprintf("%s%010d", path, p[parent])
	}
	if _, there := p[path]; there {
		return NodeExists
	}
	p[path] = 0
	p[parent]++
	return ""
}

func (p plainTree) delete(path string) Code {
	if _, there := p[path]; !there {
		return NoNode
	}
	if len(p.children(path)) > 0 {
		return NotEmpty
	}
	delete(p, path)
	return ""
}

func TestTreeIsWhatItsPathsSay(t *testing.T) {
	paths := []string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a"}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		e, plain := newEnsemble(t), plainTree{"/": 0, systemNode: 0, configNode: 0, quotaNode: 0}
		for range 200 {
			path := paths[r.IntN(len(paths))]
			mode := []Mode{Persistent, Persistent, PersistentSequential}[r.IntN(3)]
			if names := plain.children("/a"); len(names) > 0 && r.IntN(3) == 0 {
				path = "/a/" + names[r.IntN(len(names))]
			}
			if r.IntN(2) == 0 {
				got, code := e.create(e.a, path, mode), plain.create(path, mode.sequential())
				if code != "" {
					same(t, "create "+path, Code(got), code)
				}
			} else {
				same(t, "delete "+path, e.delete(e.a, path, AnyVersion), plain.delete(path))
			}
		}
		same(t, "paths", fmt.Sprint(slices.Sorted(maps.Keys(e.nodes))), fmt.Sprint(slices.Sorted(maps.Keys(plain))))
		for path, n := range e.nodes {
			same(t, "children of "+path, fmt.Sprint(n.children), fmt.Sprint(plain.children(path)))
			same(t, "creates of "+path, int(n.creates), plain[path])
		}
	}
}
