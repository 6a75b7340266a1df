package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// Defaults of ZooKeeper, as its zoo_sample.cfg has them.
const (
	DefaultTick      = 2 * time.Second
	DefaultSyncLimit = 5
)

// Config is an ensemble's. The zero value is ZooKeeper as it is shipped.
type Config struct {
	// Tick is the unit of time of the ensemble (tickTime); 0 means 2 s. The leader checks for expired sessions once a
	// tick, and sends the other members a sign of life twice a tick; they report to it as often which clients they have
	// received from.
	Tick time.Duration
	// SyncLimit is how many ticks a member serves without a sign of life of its leader, and how long a leader keeps a
	// silent member (syncLimit); 0 means 5.
	SyncLimit int
	// MinTimeout and MaxTimeout bound what a client may request; 0 means 2 and 20 ticks.
	MinTimeout, MaxTimeout time.Duration
	// Log keeps the ensemble together; its times follow from those above, but for that of an fsync.
	Log raft.Config
}

// finalizeWait is how long a member waits for a better vote before it takes an election for decided
// (FastLeaderElection.finalizeWait): no campaign begins earlier.
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

// negotiate brings the requested timeout within bounds.
func (c *Config) negotiate(asked time.Duration) time.Duration {
	return min(max(asked, c.MinTimeout), c.MaxTimeout)
}

// Ensemble holds the servers of one ZooKeeper service.
type Ensemble struct {
	cluster *raft.Cluster
	servers []*server
}

// NewEnsemble makes an ensemble with a server of each name.
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

// Reset makes the ensemble as new, for the next run.
func (e *Ensemble) Reset(c Config) {
	c = c.withDefaults()
	for _, s := range e.servers {
		s.config, s.losses = c, 0
	}
	e.cluster.Reset(c.Log)
}

// AddTo adds the servers to a world.
func (e *Ensemble) AddTo(add func(sim.ProcessID, sim.Server)) { e.cluster.AddTo(add) }
