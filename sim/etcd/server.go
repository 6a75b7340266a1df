package etcd

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// New returns a cluster with a member for each name. See [raft.Cluster] for its use.
func New(c raft.Config, names []sim.ProcessID) *raft.Cluster {
	return raft.NewCluster(c, names, func() raft.Machine { return &server{} })
}

// server is etcd on one member.
type server struct {
	store  store
	lessor lessor

	// State of this member in its current life.
	watchers   []watcher
	lastWatch  int64
	lastLease  int64
	lastAsk    uint64
	asks       []pendingAsk // in the order of their deadlines
	streams    streams
	waits      []*wait // calls of the lock and election services
	lastWait   uint64
	lastUID    uint64 // latest number in the UID of an object that the API server has created
	arrivals   []arrival
	leaderless uint64 // how often no leader was known; timers from before the latest time are void
	out        []byte // buffer for replies; always empty
	head       []byte // buffer for pushes, because out may hold a reply
	pushed     []byte
}

// Reset begins a life with an empty state.
func (s *server) Reset(*raft.Member) {
	s.store.reset()
	s.lessor.reset()
	clear(s.watchers)
	clear(s.asks)
	s.watchers, s.asks = s.watchers[:0], s.asks[:0]
	s.lastWatch, s.lastLease, s.lastAsk = 0, 0, 0
	s.streams, s.waits, s.lastWait, s.leaderless, s.lastUID = nil, nil, 0, 0, 0
	s.arrivals = s.arrivals[:0]
	if s.out == nil {
		s.out = make([]byte, 0, 512)
	}
}

// Fault ends a client's leases: the leader finds at its next check that they have ended.
func (s *server) Fault(m *raft.Member, f sim.ServerFault) {
	if f.Kind != sim.ExpireSession || !m.Up() || !s.lessor.primary {
		return
	}
	for _, x := range s.lessor.leases {
		if owner, _, _ := strings.Cut(string(x.grant), "/"); owner == string(f.To) {
			x.expiry = m.Monotonic()
		}
	}
}

// LeaderChanged hands the leases over, and sends the new leader the questions that the old one has not answered.
func (s *server) LeaderChanged(m *raft.Member) {
	switch leading := m.Leading(); {
	case leading && !s.lessor.primary:
		s.promote(m)
	case !leading && s.lessor.primary:
		s.demote()
	}
	if m.Leader() != "" {
		s.askAgain(m)
	}
	s.awaitLeader(m)
}

// Names of commands in the log that differ from the request's.
const (
	logGrant  = "GRANT"  // id, ttl
	logRevoke = "REVOKE" // id; a client requested it
	logExpire = "EXPIRE" // id; it has ended
)

// Serve takes a client's request.
func (s *server) Serve(m *raft.Member, r *sim.Incoming) {
	if len(r.Args) == 0 {
		r.Reply(AppendError(s.out, Empty))
		return
	}
	if isRPC(r.Args) {
		s.serveRPC(m, r)
		return
	}
	switch r.Args[0] {
	case api:
		s.serveAPI(m, r)
	case "RANGE":
		s.serveRange(m, r)
	case "PUT", "DELETE":
		if _, err := ReadOp(r.Args); err != nil {
			s.refuse(r, err)
			return
		}
		s.propose(m, r, r.Args)
	case "TXN":
		s.serveTxn(m, r)
	case "LEASE":
		s.serveLease(m, r)
	case "WATCH":
		s.serveWatch(m, r)
	case "UNWATCH":
		s.serveUnwatch(r)
	case "STATUS":
		b := sim.AppendInt(sim.AppendArray(s.out, 3), s.store.revision)
		r.Reply(sim.AppendInt(sim.AppendBulk(b, string(m.Leader())), int64(m.Term())))
	default:
		r.Reply(AppendError(s.out, Unknown))
	}
}

func (s *server) refuse(r *sim.Incoming, err error) { r.Reply(AppendError(s.out, err.Error())) }

// propose proposes a command to the log, and replies once this member has applied it.
func (s *server) propose(m *raft.Member, r *sim.Incoming, args []string) {
	m.Propose(raft.Command{Attempt: r.Attempt, Args: args}, func(reply []byte, err error) {
		if err != nil {
			reply = AppendError(s.out, errTimeout.Text)
		}
		r.Reply(reply)
	})
}

// read replies once this member has caught up with the cluster.
func (s *server) read(m *raft.Member, r *sim.Incoming, answer func() []byte) {
	m.ReadIndex(func(err error) {
		if err != nil {
			r.Reply(AppendError(s.out, errTimeout.Text))
			return
		}
		r.Reply(answer())
	})
}

func (s *server) serveRange(m *raft.Member, r *sim.Incoming) {
	o, err := ReadOp(r.Args)
	switch {
	case err != nil:
		s.refuse(r, err)
	case o.Serializable:
		r.Reply(s.ranged(&o))
	default:
		s.read(m, r, func() []byte { return s.ranged(&o) })
	}
}

func (s *server) ranged(o *Op) []byte {
	r := s.look(o, s.store.revision)
	return r.append(s.out)
}

func (s *server) serveTxn(m *raft.Member, r *sim.Incoming) {
	t, err := ReadTxn(r.Args)
	switch {
	case err != nil:
		s.refuse(r, err)
	case t.readOnly():
		s.read(m, r, func() []byte { return s.carryOut(m, &t, &write{revision: s.store.revision + 1}) })
	default:
		s.propose(m, r, r.Args)
	}
}

func (s *server) serveLease(m *raft.Member, r *sim.Incoming) {
	l, err := ReadLease(r.Args)
	if err != nil {
		s.refuse(r, err)
		return
	}
	switch l.Command {
	case "GRANT":
		s.grant(m, r, l.ID, l.TTL)
	case "REVOKE":
		s.propose(m, r, []string{logRevoke, format(l.ID)})
	case "KEEPALIVE":
		s.askLeader(m, r.Attempt, l.ID, true, s.answerInWords(r, l.ID, true))
	case "TIMETOLIVE":
		s.askLeader(m, r.Attempt, l.ID, false, s.answerInWords(r, l.ID, false))
	}
}

func (s *server) grant(m *raft.Member, r *sim.Incoming, id, ttl int64) {
	if ttl > maxTTL {
		r.Reply(AppendError(s.out, errTTLTooLarge.Text))
		return
	}
	s.propose(m, r, []string{logGrant, format(s.leaseID(m, id)), format(ttl)})
}

// leaseID returns the id of a new lease. If the client leaves the choice to the member, the id consists of the member,
// its life and a count. etcd's ids (member, time, count) are equally unique.
func (s *server) leaseID(m *raft.Member, id int64) int64 {
	if id != 0 {
		return id
	}
	s.lastLease++
	return int64(m.Number())<<48 | int64(m.Life())<<32 | s.lastLease
}

func format(n int64) string { return strconv.FormatInt(n, 10) }

// parse parses a number that was written by format.
func parse(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
