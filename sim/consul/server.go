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
	// Multiplier stretches the timeouts of raft (performance.raft_multiplier, 1 to 10); 0 means 5, as in Consul. The
	// election timeout is as many seconds, and the leader's lease half of that.
	Multiplier int
	// Fsync is the duration of a write to disk.
	Fsync time.Duration
}

// DefaultMultiplier is the Multiplier of a Consul that is not configured.
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

// server is Consul on one member.
type server struct {
	store store

	// The following fields are the state of this member in its current life.
	delays  map[string]time.Duration // when keys can be acquired again, on the monotonic clock
	leading bool
	leader  sim.ProcessID
	last    uint64    // number of the latest timer, request or session
	asks    []pending // requests of this member's clients that it has not answered
	waiting []*query  // blocking queries that this member will answer
}

// Reset begins a life with an empty state.
func (s *server) Reset(*raft.Member) {
	*s = server{store: store{keys: map[string]*entry{}, sessions: map[string]*session{}},
		delays: map[string]time.Duration{}}
}

// Kinds of timers, in the upper half of a tag. The lower half is a number.
const (
	timerTTL uint64 = (iota + 1) << 48
	timerQuery
	timerLeader
	timerKinds uint64 = 0xff << 48
)

// after starts a timer and returns its number.
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

// Fault ends the sessions of a client.
func (s *server) Fault(m *raft.Member, f sim.ServerFault) {
	if f.Kind != sim.ExpireSession || !m.Up() {
		return
	}
	s.expire(m, func(x *session) bool {
		owner, _, _ := strings.Cut(string(x.creator), "/")
		return owner == string(f.To)
	})
}

// LeaderChanged restarts the time of all sessions if this member leads from now on, and passes on the requests that
// the previous leader has not answered.
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

// Lost records that all locks are gone.
func (s *server) Lost(m *raft.Member, why history.Why) {
	for _, key := range s.store.locked("") {
		recordGone(m, s.store.keys[key], change{why: why})
	}
}

// encode returns a value as JSON.
func encode(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // all values are texts, numbers and lists of them
	}
	return string(b)
}
