package etcd

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// ask is a request about a lease that only the leader can answer: either to renew the lease, or to report how much time
// remains.
type ask struct {
	lease   int64
	renew   bool
	attempt history.Attempt
	from    sim.ProcessID // the member that received the client's request
	number  uint64        // number of this request at that member, which it never gives again, not even after a restart
	key     sim.Key       // identifies the message and the answer; their delays depend on it
}

type leaderAnswer struct {
	number uint64 // number of the request
	left   int64  // remaining time in s; after a renewal, the TTL; 0 or less if the lease does not exist
	ttl    int64  // the lease's TTL in s
}

// pendingAsk is a request that is waiting for the leader's answer.
type pendingAsk struct {
	ask
	deadline time.Duration
	done     func(leaderAnswer, error)
}

// askLeader asks the leader about a lease on behalf of one of this member's clients. It passes the answer, or
// errTimeout, to done.
func (s *server) askLeader(m *raft.Member, of history.Attempt, lease int64, renew bool,
	done func(leaderAnswer, error)) {
	s.lastAsk++
	a := ask{lease: lease, renew: renew, attempt: of, from: m.Name(), number: s.lastAsk,
		key: m.Second().Text(string(of))}
	s.dropLateAsks(m)
	s.asks = append(s.asks, pendingAsk{a, m.Monotonic() + m.Config().RequestTimeout, done})
	s.passOn(m, a)
}

// dropLateAsks answers requests that have timed out with errTimeout. There is no timer for this: it happens when
// another request arrives, or when the member learns of a new leader.
func (s *server) dropLateAsks(m *raft.Member) {
	for len(s.asks) > 0 && s.asks[0].deadline <= m.Monotonic() {
		late := s.asks[0]
		s.asks = slices.Delete(s.asks, 0, 1)
		late.done(leaderAnswer{}, errTimeout)
	}
}

// passOn sends a request to the leader. If no leader is known, the request waits for one.
func (s *server) passOn(m *raft.Member, a ask) {
	switch leader := m.Leader(); {
	case leader == m.Name():
		s.decide(m, a)
	case leader != "":
		m.SendToPeer(leader, "lease", a.key, a)
	}
}

// ReceiveFromPeer handles a request from another member (ask), or the leader's answer to one of this member's requests.
func (s *server) ReceiveFromPeer(m *raft.Member, from sim.ProcessID, body any) {
	switch b := body.(type) {
	case ask:
		if m.Leading() {
			s.decide(m, b)
		} // if it is not the leader, the other member will ask the new leader as soon as it knows it
	case leaderAnswer:
		s.deliver(b)
	}
}

// decide answers a member's request as the leader. A leader that was stopped for a while first confirms that it is
// still the leader.
func (s *server) decide(m *raft.Member, a ask) {
	if m.Active() {
		s.decideNow(m, a)
		return
	}
	m.ReadIndex(func(err error) {
		switch {
		case err == nil && m.Leading():
			s.decideNow(m, a)
		case a.from == m.Name():
			s.passOn(m, a)
		}
	})
}

func (s *server) decideNow(m *raft.Member, a ask) {
	x := s.lessor.find(a.lease)
	now := m.Monotonic()
	switch {
	case x == nil && a.renew:
		s.answer(m, a, 0, 0)
	case x == nil:
		s.answer(m, a, -1, 0)
	case !a.renew:
		s.answer(m, a, max(int64((x.expiry-now)/time.Second), 0), x.ttl)
	case x.expiry <= now:
		x.waiting = append(x.waiting, a) // the lease has ended; the ask waits until its end is committed
	default:
		x.refresh(now, 0)
		s.recordProlonged(m, x, a.attempt)
		s.answer(m, a, x.ttl, x.ttl)
	}
}

func (s *server) answer(m *raft.Member, a ask, left, ttl int64) {
	t := leaderAnswer{a.number, left, ttl}
	if a.from == m.Name() {
		s.deliver(t)
		return
	}
	m.SendToPeer(a.from, "lease", a.key, t)
}

// deliver passes on the leader's answer to a request if the request is still pending.
func (s *server) deliver(t leaderAnswer) {
	i := slices.IndexFunc(s.asks, func(p pendingAsk) bool { return p.number == t.number })
	if i < 0 {
		return
	}
	p := s.asks[i]
	s.asks = slices.Delete(s.asks, i, i+1)
	p.done(t, nil)
}

// askAgain sends a new leader the requests that the previous leader did not answer.
func (s *server) askAgain(m *raft.Member) {
	s.dropLateAsks(m)
	for _, p := range slices.Clone(s.asks) {
		s.passOn(m, p.ask)
	}
}
