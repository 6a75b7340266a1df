package etcd

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// cacheLag is how far an API server's cache may lag behind the etcd member on the same node. A watch keeps the cache up
// to date.
const cacheLag = 10 * time.Millisecond

// arrival is the time, on a member's monotonic clock, at which the member applied a revision.
type arrival struct {
	revision int64
	at       time.Duration
}

// arrived records that this member has just applied the current revision. It forgets revisions that are too old to
// appear in any cache.
func (s *server) arrived(m *raft.Member) {
	now := m.Monotonic()
	for len(s.arrivals) > 1 && s.arrivals[1].at <= now-cacheLag {
		s.arrivals = s.arrivals[1:]
	}
	s.arrivals = append(s.arrivals, arrival{s.store.revision, now})
}

// cached returns the contents of the API server's cache and their revision. The cache shows the member's state at a
// random time up to cacheLag ago. A member that is cut off from the others does not notice that it is lagging.
func (q *apiCall) cached() (keys []keyValue, revision int64) {
	now := q.m.Monotonic()
	lag := time.Duration(q.m.Rand("cache", sim.Key(now)) % uint64(cacheLag))
	if len(q.arrivals) == 0 {
		return q.store.keys, q.store.revision
	}
	revision = q.arrivals[0].revision
	for _, a := range q.arrivals[1:] {
		if a.at <= now-lag {
			revision = a.revision
		}
	}
	if revision == q.store.revision {
		return q.store.keys, revision
	}
	return q.store.asOf(revision), revision
}

// view calls f with the keys that a request sees. With resourceVersion=0, these are the cached keys. Otherwise they are
// the result of a quorum read.
func (q *apiCall) view(f func(keys []keyValue, revision int64) *Status) *Status {
	if q.query.Get("resourceVersion") == "0" {
		return f(q.cached())
	}
	return q.quorumRead(func() *Status { return f(q.store.keys, q.store.revision) })
}
