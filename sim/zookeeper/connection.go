package zookeeper

import (
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// connection is a client's connection to this member. Its requests are served one after another, each after the one
// before was answered, so that a client's reads see its own earlier writes.
type connection struct {
	id      uint64
	session SessionID       // 0 until the log has delivered it
	queue   []*sim.Incoming // the first request is being served
	busy    bool            // the first request waits for the log
	ending  bool            // the session has ended: the reply that reports it is the last one
	gone    bool
	events  int64   // number of events pushed so far
	frames  *frames // nil if the client is a task, whose requests are words
}

func (s *server) connection(id uint64) *connection {
	for _, c := range s.conns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Serve takes a client's request. A member that knows no leader serves nobody.
func (s *server) Serve(m *raft.Member, r *sim.Incoming) {
	if s.unled(m) {
		s.early = append(s.early, r)
		return
	}
	c := s.connection(r.ConnID)
	framed := isFrame(r.Args)
	switch {
	case framed && jute.Word([]byte(r.Args[0])) == r.Args[0]:
		s.answerWord(m, r)
		return
	case m.Leader() == "" || len(r.Args) == 0 || c == nil && r.Args[0] != ReqConnect && !framed:
		r.Reply([]byte(ClosedReply))
		return
	case c == nil:
		c = &connection{id: r.ConnID}
		if framed {
			c.frames = &frames{}
		}
		s.conns = append(s.conns, c)
	}
	if c.session != 0 {
		s.markAlive(m, c.session)
	}
	c.queue = append(c.queue, r)
	s.serve(m, c)
}

// serve continues with the requests that have arrived on a connection.
func (s *server) serve(m *raft.Member, c *connection) {
	for !c.busy && !c.gone && len(c.queue) > 0 {
		r := c.queue[0]
		if c.frames != nil {
			s.serveFrame(m, c)
		} else if r.Args[0] == ReqConnect && s.behind(m, seenBy(r.Args)) {
			s.drop(c)
		} else if cmd, write := s.command(c, r); write {
			s.propose(m, c, &cmd)
		} else if r.Args[0] == ReqSync {
			s.sync(m, c)
		} else {
			s.answer(c, s.look(m, c, r.Args))
		}
	}
}

// behind reports whether this member must refuse a client that has seen a higher zxid than it has itself. The client
// must try another member, and finds none if a single server has lost its data (ZooKeeperServer.processConnectRequest).
// A new leader has everything, even if it has not applied it yet.
func (s *server) behind(m *raft.Member, seen Zxid) bool {
	return seen > s.zxid && (!m.Leading() || m.CaughtUp())
}

// seenBy returns the highest zxid that a client has seen, from its request to connect.
func seenBy(args []string) Zxid {
	if len(args) < 4 {
		return 0
	}
	seen, _ := strconv.ParseInt(args[3], 10, 64)
	return Zxid(seen)
}

// answer sends the reply to the first request.
func (s *server) answer(c *connection, body []byte) {
	if c.frames != nil {
		c.queue[0].Reply(c.frames.answer(s.zxid, body))
		c.queue = slices.Delete(c.queue, 0, 1)
		return
	}
	var room [256]byte
	c.queue[0].Reply(append(AppendHead(room[:0], s.zxid, c.events), body...))
	c.queue = slices.Delete(c.queue, 0, 1)
}

// propose passes a transaction to the log. If the log does not confirm it in time, its outcome is unknown and the
// connection is closed.
func (s *server) propose(m *raft.Member, c *connection, cmd *command) {
	c.busy = true
	m.Propose(cmd.replicated(), func(reply []byte, err error) {
		if c.gone {
			return
		}
		c.busy = false
		if err != nil {
			s.hangUp(m, c)
			return
		}
		if c.frames != nil && c.frames.moved(reply) {
			s.hangUp(m, c)
			return
		}
		s.answer(c, reply)
		switch {
		case c.frames != nil && (c.ending || c.session == 0):
			s.hangUp(m, c)
		case c.ending:
			s.drop(c)
		case cmd.kind == moveSession && c.session == 0:
			s.drop(c) // the session had expired
		default:
			s.serve(m, c)
		}
	})
}

// sync replies once this member has caught up with the leader, which may have been deposed without knowing it.
func (s *server) sync(m *raft.Member, c *connection) {
	c.busy = true
	m.CatchUp(func(err error) {
		if c.gone {
			return
		}
		c.busy = false
		if err != nil {
			s.hangUp(m, c)
			return
		}
		if c.frames != nil {
			s.answer(c, c.frames.synced())
		} else {
			s.answer(c, AppendOK(s.out[:0]))
		}
		s.serve(m, c)
	})
}

// notify pushes a watch event.
func (s *server) notify(m *raft.Member, conn uint64, e Event) {
	if c := s.connection(conn); c != nil {
		c.events++
		if c.frames != nil {
			s.out = eventFrame(e)
		} else {
			s.out = AppendEvent(s.out[:0], c.events, e)
		}
		m.Push(conn, m.Second().Text(e.Path).Text(string(e.Type)), s.out)
	}
}

// hangUp closes a connection. Requests that wait on it get no other reply.
func (s *server) hangUp(m *raft.Member, c *connection) {
	s.drop(c)
	m.Push(c.id, m.Second(), []byte(ClosedReply))
}

// drop forgets a connection. Waiting requests and later ones get the reply that it is closed.
func (s *server) drop(c *connection) {
	for _, r := range c.queue {
		r.Reply([]byte(ClosedReply))
	}
	c.gone, c.queue = true, nil
	if c.frames != nil {
		s.watches.data.forget(c.id)
		s.watches.child.forget(c.id)
	}
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
	}
}

// command returns the transaction that a request asks for. ok is false if the request only reads.
func (s *server) command(c *connection, r *sim.Incoming) (cmd command, ok bool) {
	arg := func(i int) string {
		if i < len(r.Args) {
			return r.Args[i]
		}
		return ""
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(arg(i), 10, 64)
		return n
	}
	cmd = command{attempt: r.Attempt, session: c.session, conn: c.id}
	switch r.Args[0] {
	case ReqConnect:
		cmd.kind, cmd.session, cmd.timeout = moveSession, SessionID(number(1)), s.config.negotiate(millis(arg(2)))
		if cmd.session == 0 {
			cmd.kind, cmd.client = createSession, r.Client
		}
	case ReqClose:
		cmd.kind = closeSession
	case ReqCreate:
		cmd.kind, cmd.path, cmd.data, cmd.mode = createNode, arg(1), arg(2), noMode
		if n := number(3); n >= 0 && n <= int64(EphemeralSequential) {
			cmd.mode = Mode(n)
		}
	case ReqDelete:
		cmd.kind, cmd.path, cmd.version = deleteNode, arg(1), number(2)
	case ReqSetData:
		cmd.kind, cmd.path, cmd.data, cmd.version = setData, arg(1), arg(2), number(3)
	default:
		return cmd, false
	}
	return cmd, true
}
