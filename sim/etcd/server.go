package etcd

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// New returns a cluster with one member per name. See [raft.Cluster] for how to use it.
func New(c raft.Config, names []sim.ProcessID) *raft.Cluster {
	return raft.NewCluster(c, names, func() raft.Machine { return &server{} })
}

// server is one member's etcd server.
type server struct {
	store  store
	lessor lessor

	// The fields below are lost when the member stops.
	watchers   []watcher
	lastWatch  int64
	lastLease  int64
	lastAsk    uint64       // last number given to a request to the leader; different in each life of the member
	asks       []pendingAsk // in the order in which they time out
	streams    streams
	waits      []*wait // waiting calls of the lock and election services
	lastWait   uint64
	lastUID    uint64 // last number used in the UID of an object that the API server created
	arrivals   []arrival
	leaderless uint64 // counts the calls of awaitLeader; a timer that an earlier call has set is ignored
}

// Reset gives a starting member an empty state.
func (s *server) Reset(m *raft.Member) {
	s.store.reset()
	s.lessor.reset()
	clear(s.watchers)
	clear(s.asks)
	s.watchers, s.asks = s.watchers[:0], s.asks[:0]
	s.lastWatch, s.lastLease, s.lastAsk = 0, 0, m.Life()<<32
	s.streams, s.waits, s.lastWait, s.leaderless, s.lastUID = nil, nil, 0, 0, 0
	s.arrivals = s.arrivals[:0]
}

// Fault handles sim.ExpireSession: at its next check, the leader will find that a client's leases have ended. Fault
// ignores all other faults.
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

// LeaderChanged makes this member take over the leases when it becomes the leader, and give them up when it stops being
// the leader. It also sends the new leader the requests that the old leader has not answered.
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

// Serve handles a client's request.
func (s *server) Serve(m *raft.Member, r *sim.Incoming) {
	if len(r.Args) > 0 && r.Args[0] == http1.Word {
		s.serveAPI(m, r)
		return
	}
	s.serveRPC(m, r)
}

// propose proposes a command to the log. Once this member has applied the command, propose calls done with the outcome:
// a response or an error.
func (s *server) propose(m *raft.Member, of history.Attempt, c command, done func(message []byte, err error)) {
	m.Propose(proposal(of, c), func(reply []byte, err error) {
		switch {
		case err != nil:
			done(nil, errTimeout)
		case Code(reply[0]) != OK:
			done(nil, &Error{Code(reply[0]), string(reply[1:])})
		default:
			done(reply[1:], nil)
		}
	})
}

// leaseID returns the ID for a new lease: id itself, or a unique ID if id is 0. A unique ID consists of the member's
// number, the number of times that the member has started, and a counter. etcd uses the member, the time and a counter.
func (s *server) leaseID(m *raft.Member, id int64) int64 {
	if id != 0 {
		return id
	}
	s.lastLease++
	return int64(m.Number())<<48 | int64(m.Life())<<32 | s.lastLease
}

func format(n int64) string { return strconv.FormatInt(n, 10) }
