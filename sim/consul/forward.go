package consul

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// ask is a call that a member sends to the leader.
type ask struct {
	*call
	attempt history.Attempt
	from    sim.ProcessID // the member that received the client's call
	number  uint64        // number of the call at that member, which it never gives again, not even after a restart
	key     sim.Key       // identifies the message and the answer; their delays depend on it
}

// answer is the leader's answer to a member's call.
type answer struct {
	number uint64 // number of the call
	*reply
}

// pending is a call that the leader hasn't answered yet.
type pending struct {
	ask
	sent bool // the call has been sent to a leader
	to   *sim.Incoming
}

// hold is how long a call may wait for a leader before it fails (rpc_hold_timeout).
const hold = 7 * time.Second

// Serve handles a client's request.
func (s *server) Serve(m *raft.Member, r *sim.Incoming) {
	request, ok := http1.Read(r.Args)
	if !ok {
		r.Reply(fail(400, "400 Bad Request").bytes())
		return
	}
	c, refused := readCall(&request)
	if refused != nil {
		r.Reply(refused.bytes())
		return
	}
	// In Consul, the leader chooses the session's ID. Here, the member that received the request chooses it. This ID is
	// unique, too.
	if c.op == opSessionCreate {
		s.last++
		c.session.ID, c.session.Node = s.newID(m), string(m.Name())
	}
	if c.op.reads() && c.mode == stale {
		s.read(m, ask{call: c, attempt: r.Attempt}, func(x *reply) { r.Reply(x.bytes()) })
		return
	}
	s.last++
	p := pending{ask: ask{c, r.Attempt, m.Name(), m.Life()<<32 | s.last,
		m.Second().Text(string(r.Attempt)).Text(string(c.op))}, to: r}
	s.asks = append(s.asks, p)
	m.After(hold, timerLeader|p.number)
	s.passOn(m, p.number)
}

// newID returns a random UUID for a new session.
func (s *server) newID(m *raft.Member) string {
	a, b := m.Rand("session", sim.Key(m.Life()).Word(s.last)), m.Rand("session id", sim.Key(m.Life()).Word(s.last))
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// passOn sends a call to the leader. If no leader is known, the call waits for one.
func (s *server) passOn(m *raft.Member, number uint64) {
	i := s.pending(number)
	if i < 0 || m.Leader() == "" {
		return
	}
	s.asks[i].sent = true
	m.SendToPeer(m.Leader(), "call", s.asks[i].key, s.asks[i].ask)
}

func (s *server) pending(number uint64) int {
	return slices.IndexFunc(s.asks, func(p pending) bool { return p.number == number })
}

// deliver sends an answer to the client, unless the client has already had an answer.
func (s *server) deliver(a answer) {
	if i := s.pending(a.number); i >= 0 {
		to := s.asks[i].to
		s.asks = slices.Delete(s.asks, i, i+1)
		to.Reply(a.bytes())
	}
}

// giveUp fails a call because no leader was found in time.
func (s *server) giveUp(number uint64) {
	if i := s.pending(number); i >= 0 && !s.asks[i].sent {
		s.deliver(answer{number, fail(500, "No cluster leader")})
	}
}

// passOnAgain sends a new leader all pending reads, and those pending writes that have not been sent to a leader yet. A
// write that an earlier leader may have executed fails.
func (s *server) passOnAgain(m *raft.Member) {
	for _, p := range slices.Clone(s.asks) {
		switch {
		case !p.sent || p.op.reads():
			s.passOn(m, p.number)
		case m.Leader() != "":
			s.deliver(answer{p.number, fail(500, "rpc error making call: EOF")})
		}
	}
}

// ReceiveFromPeer handles a call from another member, or the answer to one of this member's calls.
func (s *server) ReceiveFromPeer(m *raft.Member, from sim.ProcessID, body any) {
	switch b := body.(type) {
	case ask:
		if m.Leading() { // if it is not the leader, the other member acts when it knows the new leader (passOnAgain)
			s.decide(m, b)
		}
	case answer:
		s.deliver(b)
	}
}

// decide executes a call as the leader.
func (s *server) decide(m *raft.Member, a ask) {
	answerWith := func(r *reply) {
		if a.from == m.Name() {
			s.deliver(answer{a.number, r})
			return
		}
		if r.code == 500 {
			r.body = "rpc error making call: " + r.body
		}
		m.SendToPeer(a.from, "answer", a.key, answer{a.number, r})
	}
	var refused *reply
	if a.op == opSessionCreate {
		refused = a.session.check()
	}
	switch x := s.store.sessions[a.session.ID]; {
	case refused != nil:
		answerWith(refused)
	case a.op.reads():
		s.read(m, a, answerWith)
	case a.op == opSessionRenew && x == nil:
		answerWith(fail(404, "Session id '%s' not found", a.session.ID))
	case a.op == opSessionRenew:
		s.renew(m, x)
		s.recordProlonged(m, x, a.attempt)
		answerWith(&reply{code: 200, body: encode([]*session{x}), json: true})
	// Consul checks the lock delay before proposing the command (kvsPreApply).
	case a.op == opAcquire && s.delays[a.call.key] > m.Monotonic():
		answerWith(&reply{code: 200, body: "false", json: true})
	default:
		args := []string{string(a.op), a.call.key, a.session.ID}
		m.Propose(raft.Command{Attempt: a.attempt, Args: args, Value: a.call},
			func(b []byte, err error) { answerWith(outcome(a.op, b, err)) })
	}
}

// outcome returns the reply to a write.
func outcome(o op, b []byte, err error) *reply {
	what := "raft apply failed: "
	if o == opSessionCreate || o == opSessionDestroy {
		what = "apply failed: "
	}
	switch {
	case err != nil:
		return fail(500, "%sleadership lost while committing log", what)
	case b[0] == failed:
		return fail(500, "%s%s", what, b[1:])
	}
	return &reply{code: 200, body: string(b[1:]), json: true}
}
