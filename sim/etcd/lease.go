package etcd

import (
	"math"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// lease keeps the keys that are attached to it alive. It ends ttl seconds after the last keepalive.
type lease struct {
	id    int64
	ttl   int64 // TTL in s
	grant history.Attempt
	keys  []string // attached keys, sorted
	// expiry is when the lease ends, on the leader's monotonic clock. On other members, the lease never ends.
	expiry  time.Duration
	ending  bool  // the leader has proposed to revoke the lease
	waiting []ask // asks that wait until the revocation is committed or another leader is known
}

const forever = time.Duration(math.MaxInt64)

// lessor manages the leases. All members know which leases exist, but only the leader knows when they end.
type lessor struct {
	leases     []*lease // in the order in which they were granted
	free       []*lease // leases of earlier runs, for reuse
	primary    bool
	leadership uint64 // how many times this member has become primary since it started; earlier timers are ignored
}

// Constants from etcd's lessor.
const (
	lessorInterval = 500 * time.Millisecond // how often the leader checks for leases that have ended
	maxTTL         = 9_000_000_000          // maximum TTL of a lease in s
)

func (l *lessor) reset() {
	l.free = append(l.free, l.leases...)
	clear(l.leases)
	l.leases = l.leases[:0]
	l.primary, l.leadership = false, 0
}

func (l *lessor) find(id int64) *lease {
	for _, x := range l.leases {
		if x.id == id {
			return x
		}
	}
	return nil
}

func (l *lessor) add(id, ttl int64, grant history.Attempt) *lease {
	x := &lease{}
	if n := len(l.free); n > 0 {
		x, l.free = l.free[n-1], l.free[:n-1]
	}
	*x = lease{id: id, ttl: ttl, grant: grant, keys: x.keys[:0], expiry: forever, waiting: x.waiting[:0]}
	l.leases = append(l.leases, x)
	return x
}

func (l *lessor) remove(x *lease) {
	l.leases = slices.DeleteFunc(l.leases, func(y *lease) bool { return x == y })
	l.free = append(l.free, x)
}

// ended returns the leases that have ended and that the leader has not yet proposed to revoke.
func (l *lessor) ended(now time.Duration) (list []*lease) {
	for _, x := range l.leases {
		if x.expiry <= now && !x.ending {
			list = append(list, x)
		}
	}
	return list
}

func (x *lease) attach(key string) {
	if i, found := slices.BinarySearch(x.keys, key); !found {
		x.keys = slices.Insert(x.keys, i, key)
	}
}

func (x *lease) detach(key string) {
	if i, found := slices.BinarySearch(x.keys, key); found {
		x.keys = slices.Delete(x.keys, i, i+1)
	}
}

// refresh makes the lease end after its TTL plus extend, counted from now.
func (x *lease) refresh(now, extend time.Duration) {
	x.expiry = now + time.Duration(x.ttl)*time.Second + extend
	x.ending = false
}

// promote makes this member the primary, which decides when leases end. A new primary does not know which keepalives
// its predecessor has answered, so it restarts every lease. It also adds an election timeout to each lease, because the
// predecessor may have answered keepalives for that long while both were leaders.
func (s *server) promote(m *raft.Member) {
	s.lessor.primary = true
	s.lessor.leadership++
	extend := m.Config().ElectionTimeout()
	for _, x := range s.lessor.leases {
		x.refresh(m.Monotonic(), extend)
		s.recordProlonged(m, x, "")
	}
	m.After(lessorInterval, s.lessor.leadership)
}

// demote is called when this member is no longer the primary. Clients waiting for an answer will get it from the new
// leader.
func (s *server) demote() {
	s.lessor.primary = false
	for _, x := range s.lessor.leases {
		x.expiry, x.ending, x.waiting = forever, false, x.waiting[:0]
	}
}

// Ranges of timer tags. A tag below the first range is a value of lessor.leadership.
const (
	tagLeaderless uint64 = 1 << 48
	tagWait       uint64 = 1 << 49
	tagWatch      uint64 = 1 << 50
)

// Wake handles a timer. The tag says what the timer is for. If it is the current lessor.leadership, the timer is for
// the leases: Wake proposes to revoke those that have ended. If the member is no longer the leader but does not know it
// yet, the proposals have no effect.
func (s *server) Wake(m *raft.Member, tag uint64) {
	switch {
	case tag >= tagWatch:
		s.endWatch(m, int64(tag-tagWatch))
		return
	case tag >= tagWait:
		s.wakeWait(m, tag-tagWait)
		return
	case tag >= tagLeaderless:
		s.endWithoutLeader(m, tag-tagLeaderless)
		return
	}
	if !s.lessor.primary || tag != s.lessor.leadership {
		return
	}
	m.After(lessorInterval, tag)
	// ended returns a new list. This matters because a member without peers applies each proposal immediately, which
	// removes the lease while this loop is running.
	for _, x := range s.lessor.ended(m.Monotonic()) {
		x.ending = true
		m.ProposeAsLeader(proposal("", &revocation{x.id, true}))
	}
}

// apply grants a lease, unless a lease with this ID already exists.
func (g *grant) apply(s *server, m *raft.Member, w *write) ([]byte, error) {
	if s.lessor.find(g.id) != nil {
		return nil, errLeaseExists
	}
	election := m.Config().ElectionTimeout()
	shortest := (3*election/2 + time.Second - 1) / time.Second
	x := s.lessor.add(g.id, max(g.ttl, int64(shortest)), w.by)
	if s.lessor.primary {
		x.refresh(m.Monotonic(), 0)
	}
	return appendNumber(appendNumber(s.header(m).append(nil, 1), 2, x.id), 3, x.ttl), nil
}

// apply ends a lease and deletes all of its keys in one revision.
func (r *revocation) apply(s *server, m *raft.Member, w *write) ([]byte, error) {
	x := s.lessor.find(r.id)
	if x == nil {
		return nil, errLeaseNotFound
	}
	w.lease = x
	if r.expired {
		w.why = history.Expired
	}
	for len(x.keys) > 0 {
		s.remove(m, w, x.keys[0], "")
	}
	s.commit(m, w)
	s.lessor.remove(x)
	for _, a := range x.waiting {
		s.answer(m, a, 0, x.ttl)
	}
	x.waiting = x.waiting[:0]
	return s.header(m).append(nil, 1), nil
}
