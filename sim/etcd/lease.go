package etcd

import (
	"math"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// lease is a promise to keep keys for ttl seconds after the latest keepalive.
type lease struct {
	id    int64
	ttl   int64 // s
	grant history.Attempt
	keys  []string // attached keys, sorted
	// expiry is when the lease ends, on the leader's monotonic clock. On other members it is forever.
	expiry  time.Duration
	ending  bool  // the leader has proposed its end
	waiting []ask // keepalives that arrived after that; they wait until the end is committed or another leader is known
}

const forever = time.Duration(math.MaxInt64)

// lessor contains the leases. Which leases exist is replicated, but only the leader knows when they end.
type lessor struct {
	leases  []*lease // in the order of their grants
	free    []*lease // leases of earlier runs, for reuse
	primary bool
	reign   uint64 // how often this member became primary in this life; timers of an earlier reign are obsolete
}

// These are constants of etcd's lessor.
const (
	lessorInterval = 500 * time.Millisecond // time between two checks for leases that have ended
	maxTTL         = 9_000_000_000          // s
)

func (l *lessor) reset() {
	l.free = append(l.free, l.leases...)
	clear(l.leases)
	l.leases = l.leases[:0]
	l.primary, l.reign = false, 0
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

// ended lists the leases that have ended by now and whose end has not been proposed.
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

// refresh restarts the lease, which then lasts for its TTL plus extend.
func (x *lease) refresh(now, extend time.Duration) {
	x.expiry = now + time.Duration(x.ttl)*time.Second + extend
	x.ending = false
}

// promote makes this member the primary, which ends leases. It cannot know what its predecessor has promised. Therefore
// every lease restarts and lasts an election timeout longer, because both members may have been leader for that long.
func (s *server) promote(m *raft.Member) {
	s.lessor.primary = true
	s.lessor.reign++
	extend := m.Config().ElectionTimeout()
	for _, x := range s.lessor.leases {
		x.refresh(m.Monotonic(), extend)
		s.recordProlonged(m, x, "")
	}
	m.After(lessorInterval, s.lessor.reign)
}

// demote leaves the leases to another member. Clients that wait for an answer will ask that member.
func (s *server) demote() {
	s.lessor.primary = false
	for _, x := range s.lessor.leases {
		x.expiry, x.ending, x.waiting = forever, false, x.waiting[:0]
	}
}

// These are tags of timers. Smaller tags are reigns.
const (
	tagLeaderless uint64 = 1 << 48
	tagWait       uint64 = 1 << 49
	tagWatch      uint64 = 1 << 50
)

// Wake handles a timer. For a reign, it checks for leases that have ended and proposes their revocation. If a leader
// has been deposed without knowing it, its proposals have no effect.
func (s *server) Wake(m *raft.Member, reign uint64) {
	switch {
	case reign >= tagWatch:
		s.endWatch(m, int64(reign-tagWatch))
		return
	case reign >= tagWait:
		s.wakeWait(m, reign-tagWait)
		return
	case reign >= tagLeaderless:
		s.endWithoutLeader(m, reign-tagLeaderless)
		return
	}
	if !s.lessor.primary || reign != s.lessor.reign {
		return
	}
	m.After(lessorInterval, reign)
	for _, x := range s.lessor.ended(m.Monotonic()) { // a single member applies each proposal at once
		x.ending = true
		m.ProposeAsLeader(raft.Command{Args: []string{logExpire, format(x.id)}})
	}
}

// applyGrant grants a lease, unless it exists.
func (s *server) applyGrant(m *raft.Member, e *raft.Entry) []byte {
	id, ttl := parse(e.Args[1]), parse(e.Args[2])
	if s.lessor.find(id) != nil {
		return outcome(nil, errLeaseExists)
	}
	election := m.Config().ElectionTimeout()
	shortest := (3*election/2 + time.Second - 1) / time.Second
	x := s.lessor.add(id, max(ttl, int64(shortest)), e.Attempt)
	if s.lessor.primary {
		x.refresh(m.Monotonic(), 0)
	}
	return outcome(appendNumber(appendNumber(s.header(m).append(nil, 1), 2, x.id), 3, x.ttl), nil)
}

// applyRevoke ends a lease and deletes its keys in one revision.
func (s *server) applyRevoke(m *raft.Member, e *raft.Entry) []byte {
	x := s.lessor.find(parse(e.Args[1]))
	if x == nil {
		return outcome(nil, errLeaseNotFound)
	}
	w := write{entry: e, revision: s.store.revision + 1, why: history.Deleted, by: e.Attempt, lease: x}
	if e.Args[0] == logExpire {
		w.why = history.Expired
	}
	for len(x.keys) > 0 {
		s.remove(m, &w, x.keys[0], "")
	}
	s.commit(m, &w)
	s.lessor.remove(x)
	for _, a := range x.waiting {
		s.answer(m, a, 0, x.ttl)
	}
	x.waiting = x.waiting[:0]
	return outcome(s.header(m).append(nil, 1), nil)
}
