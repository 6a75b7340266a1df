package zookeeper

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// LocksFolder is the path under which clients create their lock requests: the children of LocksFolder + NAME are the
// requests for lock NAME. The name of a lock elsewhere in the tree is the path of its requests' parent znode.
const LocksFolder = "/locks/"

// LockOf returns the lock that a znode requests. A znode that is persistent and not sequential is a folder and does not
// request a lock.
func LockOf(path string, ephemeral, sequential bool) (lock history.Lock, name string, ok bool) {
	if !ephemeral && !sequential {
		return "", "", false
	}
	parent, name, ok := split(path)
	return history.Lock(strings.TrimPrefix(parent, LocksFolder)), name, ok
}

func lockOf(n *znode) (lock history.Lock, name string, ok bool) {
	if n == nil {
		return "", "", false
	}
	return LockOf(n.path, n.owner != 0, n.sequential)
}

// recordCopies records that this server has learned that lock requests were created or removed.
func (s *server) recordCopies(m *raft.Member) {
	for i := range s.changes {
		x := &s.changes[i]
		lock, name, ok := lockOf(x.node)
		if !ok {
			continue
		}
		e := history.Event{Type: history.OK, F: history.CopyGone, Lock: lock, Member: name, Of: x.node.by}
		if x.Type == NodeCreated {
			e.F = history.KeyCopied
		}
		m.Record(e)
	}
}

// record records the lock requests that a transaction has created or removed. Heartbeats are not recorded. Instead,
// when a session expires, its last deadline is recorded first. This deadline is measured from the last client message
// that the leader knows about.
func (s *server) record(m *raft.Member, c *command, r *result) {
	for i := range s.changes {
		x := &s.changes[i]
		lock, name, ok := lockOf(x.node)
		if !ok {
			continue
		}
		e := history.Event{Type: history.OK, Lock: lock, Member: name, Of: x.node.by}
		switch {
		case x.Type == NodeCreated:
			e.F, e.By, e.Value, e.Until = history.KeySet, c.attempt, name, history.Never
			if owner := s.session(x.node.owner); owner != nil {
				e.Until = m.Due(owner.timeout)
			}
		case c.kind == expireSession:
			e.F, e.By, e.Until = history.KeyProlonged, x.node.by, c.due
			m.Record(e)
			e.F, e.By, e.Until, e.Why = history.KeyGone, "", 0, history.Expired
		case c.kind == closeSession: // the client itself gives up all its requests
			e.F, e.By, e.Why = history.KeyGone, x.node.by, history.Deleted
		default:
			e.F, e.By, e.Why = history.KeyGone, c.attempt, history.Deleted
		}
		m.Record(e)
	}
}

// Lost records that all lock requests are gone, in the order in which they were created.
func (s *server) Lost(m *raft.Member, why history.Why) {
	s.losses++
	nodes := slices.SortedFunc(maps.Values(s.nodes), func(a, b *znode) int {
		return cmp.Or(cmp.Compare(a.czxid, b.czxid), strings.Compare(a.path, b.path))
	})
	for _, n := range nodes {
		if lock, name, ok := lockOf(n); ok {
			m.Record(history.Event{Type: history.OK, F: history.KeyGone, Lock: lock, Member: name, Of: n.by, Why: why})
		}
	}
}
