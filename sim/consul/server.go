package consul

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// Config configures a cluster.
type Config struct {
	// Multiplier lengthens raft's timeouts (performance.raft_multiplier, 1 to 10); 0 means 5, as in Consul. The
	// election timeout is this number of seconds, and the leader's lease is half of that.
	Multiplier int
	// Fsync is how long a disk write takes.
	Fsync time.Duration
}

// DefaultMultiplier is Consul's default for Multiplier.
const DefaultMultiplier = 5

func (c Config) log() raft.Config {
	n := time.Duration(c.Multiplier)
	if n == 0 {
		n = DefaultMultiplier
	}
	return raft.Config{Heartbeat: n * 100 * time.Millisecond, ElectionTicks: 10, Lease: n * 500 * time.Millisecond,
		Fsync: c.Fsync}
}

// Cluster is a cluster of Consul servers.
type Cluster struct {
	*raft.Cluster
	config Config
}

// New returns a cluster with a server for each name.
func New(c Config, names []sim.ProcessID) *Cluster {
	return &Cluster{raft.NewCluster(c.log(), names, func() raft.Machine { return &server{} }), c}
}

// Reset returns the cluster to its initial state, for the next run.
func (c *Cluster) Reset() { c.Cluster.Reset(c.config.log()) }

// server is one member's Consul server.
type server struct {
	store store

	// The fields below are lost when the member stops.
	delays  map[string]time.Duration // when each key can be acquired again, on the monotonic clock
	leading bool
	leader  sim.ProcessID
	last    uint64    // last number given to a timer, request or session
	asks    []pending // unanswered requests of this member's clients
	waiting []*query  // reads that this member must answer
}

// Reset gives a starting member an empty state.
func (s *server) Reset(*raft.Member) {
	*s = server{store: store{keys: map[string]*entry{}, sessions: map[string]*session{}},
		delays: map[string]time.Duration{}}
}

// Kinds of timers. A timer's tag contains its kind in bits 48 to 55, and a number in the bits below.
const (
	timerTTL uint64 = (iota + 1) << 48
	timerQuery
	timerLeader
	timerKinds uint64 = 0xff << 48
)

// after sets a timer and returns its number.
func (s *server) after(m *raft.Member, d time.Duration, kind uint64) uint64 {
	s.last++
	m.After(d, kind|s.last)
	return s.last
}

// Wake handles a timer.
func (s *server) Wake(m *raft.Member, tag uint64) {
	switch n := tag &^ timerKinds; tag & timerKinds {
	case timerTTL:
		s.expire(m, func(x *session) bool { return x.timer == n })
	case timerQuery:
		s.endQuery(m, n)
	case timerLeader:
		s.giveUp(n)
	}
}

// Fault handles sim.ExpireSession by ending a client's sessions. It ignores all other faults.
func (s *server) Fault(m *raft.Member, f sim.ServerFault) {
	if f.Kind != sim.ExpireSession || !m.Up() {
		return
	}
	s.expire(m, func(x *session) bool {
		owner, _, _ := strings.Cut(string(x.creator), "/")
		return owner == string(f.To)
	})
}

// LeaderChanged restarts all sessions' TTLs if this member has become the leader. It also passes on or fails the
// requests that the previous leader has not answered (passOnAgain).
func (s *server) LeaderChanged(m *raft.Member) {
	if leading := m.Leading(); leading != s.leading {
		s.leading = leading
		for _, x := range s.store.ordered() {
			if s.renew(m, x); leading {
				s.recordProlonged(m, x, "")
			}
		}
	}
	if leader := m.Leader(); leader != s.leader {
		s.leader = leader
		s.passOnAgain(m)
	}
}

// Lost records that all locked keys are lost, for the given reason.
func (s *server) Lost(m *raft.Member, why history.Why) {
	for _, key := range s.store.locked("") {
		recordGone(m, s.store.keys[key], change{why: why})
	}
}

// encode encodes a value as JSON.
func encode(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen: all values consist of strings, numbers and lists
	}
	return string(b)
}
