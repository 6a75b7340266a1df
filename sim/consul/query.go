package consul

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// query is a read that has not been answered yet, such as a blocking query that is waiting for a change.
type query struct {
	ask
	index    uint64 // the result's index must be higher than this
	missing  bool   // the requested key or session did not exist when this was last checked
	timer    uint64
	answered bool
	done     func(*reply)
}

// Default and maximum waiting times of a blocking query. A random time of up to a sixteenth is added.
const (
	defaultWait = 5 * time.Minute
	longestWait = 10 * time.Minute
	waitJitter  = 16
)

// read answers a read from the state that this member has applied. It may answer a blocking query later.
func (s *server) read(m *raft.Member, a ask, done func(*reply)) {
	q := &query{ask: a, index: a.index, done: done}
	if a.index > 0 {
		wait := min(a.wait, longestWait)
		if wait <= 0 {
			wait = defaultWait
		}
		jitter := m.Rand("wait", sim.Key(0).Text(string(a.attempt)).Word(a.index)) %
			max(uint64(wait/waitJitter), 1)
		q.timer = s.after(m, wait+time.Duration(jitter), timerQuery)
	}
	s.waiting = append(s.waiting, q)
	s.look(m, q)
}

// look answers a query if it no longer needs to wait. For ?consistent, it first confirms that this member is still the
// leader.
func (s *server) look(m *raft.Member, q *query) {
	if q.mode != consistent {
		s.show(m, q)
		return
	}
	m.ReadIndex(func(err error) {
		if err != nil || !m.Leading() {
			s.finish(q, fail(500, "node is not the leader"))
			return
		}
		s.show(m, q)
	})
}

// show answers a query with the current state, unless the query must wait for a higher index. If the key or session
// does not exist, and did not exist before, the query goes on waiting even if the index has increased (blockingQuery).
func (s *server) show(m *raft.Member, q *query) {
	index, found := s.store.index(q.call)
	if !found && q.missing {
		q.index = index
	}
	q.missing = !found
	if q.timer == 0 || max(index, 1) > q.index {
		s.finish(q, s.result(m, q.call))
	}
}

// result returns the reply to a read, from the current state.
func (s *server) result(m *raft.Member, c *call) *reply {
	index, found := s.store.index(c)
	r := &reply{code: 200, query: true, index: index, leader: m.Leader() != "", json: true}
	switch k := s.store.keys[c.key]; {
	case c.op == opSessionInfo && found:
		r.body = encode([]*session{s.store.sessions[c.session.ID]})
	case c.op == opSessionInfo:
		r.body = "[]"
	case !found:
		r.code, r.json = 404, false
	case c.raw:
		r.body, r.json = string(k.Value), false
	default:
		r.body = encode([]*entry{k})
	}
	return r
}

func (s *server) finish(q *query, r *reply) {
	if q.answered {
		return
	}
	q.answered = true
	s.waiting = slices.DeleteFunc(s.waiting, func(other *query) bool { return other == q })
	q.done(r)
}

// answerQueries is called after a change. It answers the queries that no longer need to wait.
func (s *server) answerQueries(m *raft.Member) {
	for _, q := range slices.Clone(s.waiting) {
		if q.timer != 0 {
			s.look(m, q)
		}
	}
}

// endQuery answers a query whose maximum waiting time has passed.
func (s *server) endQuery(m *raft.Member, timer uint64) {
	if i := slices.IndexFunc(s.waiting, func(q *query) bool { return q.timer == timer }); i >= 0 {
		s.finish(s.waiting[i], s.result(m, s.waiting[i].call))
	}
}
