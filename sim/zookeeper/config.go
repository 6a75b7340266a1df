package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// ZooKeeper's default settings, from its zoo_sample.cfg.
const (
	DefaultTick      = 2 * time.Second
	DefaultSyncLimit = 5
)

// Config configures an ensemble. The zero value stands for ZooKeeper's defaults.
type Config struct {
	// Tick is the ensemble's time unit (tickTime); 0 means 2 s. Once per tick, the leader checks for expired sessions.
	// Twice per tick, it pings the other members, which report their live sessions.
	Tick time.Duration
	// SyncLimit is a number of ticks (syncLimit); 0 means 5. If a member hears nothing from its leader for that long,
	// it stops serving. If a leader hears nothing from a member for that long, it drops the member.
	SyncLimit int
	// MinTimeout and MaxTimeout limit clients' session timeouts. They default to 2 and 20 ticks.
	MinTimeout, MaxTimeout time.Duration
	// Log configures the replicated log. Except for Fsync, its times are derived from the fields above.
	Log raft.Config
}

// finalizeWait is how long a member waits for a better vote before it considers an election decided
// (FastLeaderElection.finalizeWait). No campaign begins before that.
const finalizeWait = 200 * time.Millisecond

func (c Config) withDefaults() Config {
	if c.Tick == 0 {
		c.Tick = DefaultTick
	}
	if c.SyncLimit == 0 {
		c.SyncLimit = DefaultSyncLimit
	}
	if c.MinTimeout == 0 {
		c.MinTimeout = 2 * c.Tick
	}
	if c.MaxTimeout == 0 {
		c.MaxTimeout = 20 * c.Tick
	}
	c.Log.Connections = true
	c.Log.Heartbeat, c.Log.ElectionTicks = c.Tick/2, 2
	c.Log.Silence, c.Log.Campaign = time.Duration(c.SyncLimit)*c.Tick, finalizeWait
	return c
}

// negotiate returns the requested session timeout, clamped to the configured range.
func (c *Config) negotiate(asked time.Duration) time.Duration {
	return min(max(asked, c.MinTimeout), c.MaxTimeout)
}

// Ensemble holds one ZooKeeper service's servers.
type Ensemble struct {
	cluster *raft.Cluster
	servers []*server
}

// NewEnsemble returns an ensemble with a server for each name.
func NewEnsemble(c Config, names []sim.ProcessID) *Ensemble {
	e := &Ensemble{}
	e.cluster = raft.NewCluster(c.withDefaults().Log, names, func() raft.Machine {
		s := &server{}
		e.servers = append(e.servers, s)
		return s
	})
	e.Reset(c)
	return e
}

// Reset returns the ensemble to its initial state with the given configuration, for the next run.
func (e *Ensemble) Reset(c Config) {
	c = c.withDefaults()
	for _, s := range e.servers {
		s.config, s.losses = c, 0
	}
	e.cluster.Reset(c.Log)
}

// AddTo adds the servers to a world by calling add for each of them.
func (e *Ensemble) AddTo(add func(sim.ProcessID, sim.Server)) { e.cluster.AddTo(add) }
