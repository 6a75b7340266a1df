package zkserver

import (
	"strings"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// records contains the znodes that represent lock requests, as reported by the members.
type records struct {
	mu    sync.Mutex
	nodes map[string]node // the latest znode at each path
	asked map[origin]history.Attempt
}

// origin identifies a request that creates a znode, by its session and path.
type origin struct {
	session int64
	path    string // without the number that ZooKeeper appends to a sequential znode
}

// node is a recorded znode.
type node struct {
	czxid int64
	gone  int64 // a zxid at which the znode is known not to exist; 0: it exists
	lock  history.Lock
	name  string
	of    history.Attempt
}

// numbered strips the number from the end of a sequential znode's path, and returns the path that the client requested.
// The second result reports whether the path ends with such a number.
func numbered(path string) (asked string, is bool) {
	at := len(path) - 10
	if at < 0 || strings.Trim(path[at:], "0123456789") != "" {
		return path, false
	}
	return path[:at], true
}

// ask records which attempt is requesting a znode, so that the owner is known when the znode appears.
func (r *records) ask(session int64, path string, of history.Attempt) {
	r.mu.Lock()
	r.asked[origin{session, path}] = of
	r.mu.Unlock()
}

// standing lists the paths of the znodes that exist according to the records.
func (r *records) standing() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, n := range r.nodes {
		if n.gone == 0 {
			list = append(list, path)
		}
	}
	return list
}

// stands records that, as of the given zxid, a member has a znode with the given path, unless this has already been
// recorded.
func (r *records) stands(m *member, path string, zxid int64, s *zookeeper.Stat) {
	asked, sequential := numbered(path)
	lock, name, is := zookeeper.LockOf(path, s.EphemeralOwner != 0, sequential)
	if !is {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.nodes[path]
	if known && int64(s.Czxid) <= was.czxid && (was.gone == 0 || zxid <= was.gone) {
		return
	}
	if known && was.gone == 0 { // another znode has replaced it in the meantime
		m.recordGone(was)
	}
	n := node{czxid: int64(s.Czxid), lock: lock, name: name, of: r.asked[origin{int64(s.EphemeralOwner), asked}]}
	r.nodes[path] = n
	m.recordSet(n, int64(s.EphemeralOwner))
}

// gone records that, as of the given zxid, a member has no znode with the given path. It does nothing if this has
// already been recorded, or if the member has not yet seen the znode's creation.
func (r *records) gone(m *member, path string, zxid int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, known := r.nodes[path]
	if !known || n.gone != 0 || zxid < n.czxid {
		return
	}
	n.gone = zxid
	r.nodes[path] = n
	m.recordGone(n)
}

func (m *member) recordSet(n node, owner int64) {
	timeout := m.ensemble.sessions.get(owner).timeout
	m.ensemble.Do(func() {
		until := history.Never
		if owner != 0 {
			until = m.Host.Due(timeout)
		}
		m.Host.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: n.lock, Member: n.name, Value: n.name,
			Of: n.of, By: n.of, Until: until})
	})
}

func (m *member) recordGone(n node) {
	m.ensemble.Do(func() {
		m.Host.Record(history.Event{Type: history.OK, F: history.KeyGone, Lock: n.lock, Member: n.name, Of: n.of,
			Why: history.NotRecorded})
	})
}
