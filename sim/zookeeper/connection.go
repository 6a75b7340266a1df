package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// connection is a client's connection to this member. Requests are served one at a time, each after the previous one
// has been answered. So a client's reads see the client's own earlier writes.
type connection struct {
	id      uint64
	session SessionID       // 0 until the log has confirmed the session
	queue   []*sim.Incoming // pending requests; the first is being served
	busy    bool            // the first request waits for the log
	ending  bool            // the session has ended; the connection is closed after the next reply
	gone    bool

	old        bool     // the client's version is 3.3 or earlier
	identities []string // identities that the client has proven

	// The fields below belong to the request that is being served.
	xid int32
	op  jute.Op
}

func (s *server) connection(id uint64) *connection {
	for _, c := range s.conns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Serve handles a client's request. A member that does not know a leader refuses all clients.
func (s *server) Serve(m *raft.Member, r *sim.Incoming) {
	if s.unled(m) {
		s.early = append(s.early, r)
		return
	}
	c := s.connection(r.ConnID)
	switch {
	case len(r.Args) == 1 && jute.Word([]byte(r.Args[0])) == r.Args[0]:
		s.answerWord(m, r)
		return
	case m.Leader() == "" || len(r.Args) == 0:
		r.Reply([]byte(ClosedReply))
		return
	case c == nil:
		c = &connection{id: r.ConnID}
		s.conns = append(s.conns, c)
	}
	if c.session != 0 {
		s.markAlive(m, c.session)
	}
	c.queue = append(c.queue, r)
	s.serve(m, c)
}

// serve handles the requests queued on a connection.
func (s *server) serve(m *raft.Member, c *connection) {
	for !c.busy && !c.gone && len(c.queue) > 0 {
		s.serveFirst(m, c)
	}
}

// isBehind reports whether the client has seen a higher zxid than this member. The member must then refuse the client
// (ZooKeeperServer.processConnectRequest), and the client has to try another member. If the member is a single server
// that has lost its data, there is no other member to try. A new leader is never behind, even if it hasn't applied all
// of its log yet.
func (s *server) isBehind(m *raft.Member, seen Zxid) bool {
	return seen > s.zxid && (!m.Leading() || m.CaughtUp())
}

// answer replies to the first request in the connection's queue.
func (s *server) answer(c *connection, body []byte) {
	c.queue[0].Reply(c.reply(s.zxid, body))
	c.queue = slices.Delete(c.queue, 0, 1)
}

// propose proposes a transaction to the log. If the transaction is not confirmed in time, its outcome is unknown and
// the connection is closed.
func (s *server) propose(m *raft.Member, c *connection, cmd *command) {
	c.busy = true
	m.Propose(cmd.proposed(), func(reply []byte, err error) {
		if c.gone {
			return
		}
		c.busy = false
		if err != nil || c.moved(reply) {
			s.hangUp(m, c)
			return
		}
		s.answer(c, reply)
		if c.ending || c.session == 0 { // the session has ended
			s.hangUp(m, c)
			return
		}
		s.serve(m, c)
	})
}

// notify sends a watch event to a client.
func (s *server) notify(m *raft.Member, conn uint64, e Event) {
	if c := s.connection(conn); c != nil {
		m.Push(conn, m.Second().Text(e.Path).Text(string(e.Type)), eventFrame(e))
	}
}

// hangUp closes a connection. Requests that are waiting on it are told that it is closed.
func (s *server) hangUp(m *raft.Member, c *connection) {
	s.drop(c)
	m.Push(c.id, m.Second(), []byte(ClosedReply))
}

// drop removes a connection. Requests that are waiting on it or arrive later are told that it is closed.
func (s *server) drop(c *connection) {
	for _, r := range c.queue {
		r.Reply([]byte(ClosedReply))
	}
	c.gone, c.queue = true, nil
	s.watches.data.forget(c.id)
	s.watches.child.forget(c.id)
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
	}
}
