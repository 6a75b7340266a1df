package zookeeper

import (
	"fmt"
	"testing"
)

// TestPasswordsAreZooKeepers compares session passwords with those computed by OpenJDK 17: new java.util.Random(id ^
// 0xB3415C00).nextBytes.
func TestPasswordsAreZooKeepers(t *testing.T) {
	for id, want := range map[int64]string{
		1:                  "054cc74a37327db215e702e20c73f005",
		0x100000abcdef0001: "76b39f6d54c3bc4f6ebe2fdff1198ecf",
		-5:                 "d47144b5e45e45c49c3b7fdcd66257ba",
	} {
		same(t, fmt.Sprint("session ", id), fmt.Sprintf("%x", password(id)), want)
	}
}

// TestAMultiIsCarriedOutAsAWholeOrNotAtAll checks that if a part fails, all effects of earlier parts are undone,
// including the numbers of sequential znodes and the deletion of other sessions' ephemeral znodes.
func TestAMultiIsCarriedOutAsAWholeOrNotAtAll(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	e.create(e.a, "/q/old", Persistent)
	e.create(e.b, "/q/other", Ephemeral)
	parts := []command{
		{kind: createNode, path: "/q/n-", mode: EphemeralSequential},
		{kind: setData, path: "/q", data: "new", version: AnyVersion},
		{kind: deleteNode, path: "/q/other", version: AnyVersion},
		{kind: createNode, path: "/q/old/child"},
	}
	state := func() string {
		s, o := e.nodes["/q"], e.nodes["/q/old"]
		return fmt.Sprint(len(e.nodes), s.stat(), s.data, s.children, o.stat(), o.children,
			len(e.session(e.a).ephemerals), len(e.session(e.b).ephemerals))
	}
	before := state()
	r := e.apply(1, &command{kind: multi, session: e.a, conn: 1,
		parts: append(parts[:4:4], command{kind: checkVersion, path: "/q", version: 7}, parts[0])})
	same(t, "code", r.code, BadVersion)
	same(t, "parts that were tried", len(r.each), 5)
	same(t, "state", state(), before)
	same(t, "events", e.events(), "")
	r = e.apply(1, &command{kind: multi, session: e.a, conn: 1, parts: parts})
	same(t, "code", r.code, "")
	same(t, "path", r.each[0].path, "/q/n-0000000002")
	same(t, "ephemerals", fmt.Sprint(len(e.session(e.a).ephemerals), len(e.session(e.b).ephemerals)), "1 0")
	same(t, "events", e.events(), "NodeCreated /q/n-0000000002, NodeChildrenChanged /q, NodeDataChanged /q, "+
		"NodeDeleted /q/other, NodeChildrenChanged /q, NodeCreated /q/old/child, NodeChildrenChanged /q/old")
}

// TestContainersGoWhenTheyHaveHadChildren checks that a container without children is removed, but only if it has had
// some.
func TestContainersGoWhenTheyHaveHadChildren(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/c", ContainerMode)
	same(t, "never used", len(e.containers()), 0)
	e.create(e.a, "/c/x", Persistent)
	same(t, "in use", len(e.containers()), 0)
	same(t, "in use, all the same", e.apply(1, &command{kind: reapContainer, path: "/c"}).code, NotEmpty)
	e.delete(e.a, "/c/x", AnyVersion)
	same(t, "used up", fmt.Sprint(e.containers()), "[/c]")
	same(t, "reaped", e.apply(1, &command{kind: reapContainer, path: "/c"}).code, "")
	same(t, "reaped again", e.apply(1, &command{kind: reapContainer, path: "/c"}).code, NoNode)
}
