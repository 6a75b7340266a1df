package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// Config is an ensemble's. The zero value is ZooKeeper's defaults, except for Log.
type Config struct {
	// Tick is the unit in which sessions are kept; 0 means 2 s. The leader checks for expired sessions once a tick; the
	// other members report to it twice a tick which clients they have received from.
	Tick time.Duration
	// MinTimeout and MaxTimeout bound what a client may request; 0 means 2 and 20 ticks.
	MinTimeout, MaxTimeout time.Duration
	// Log keeps the ensemble together. Its election time-out is how long a member serves without a sign of life of its
	// leader, and how long a leader keeps a silent member (syncLimit x tickTime, 10 s by default in ZooKeeper). The
	// zero value means 1 s, in five heartbeats.
	Log raft.Config
}

func (c Config) withDefaults() Config {
	if c.Tick == 0 {
		c.Tick = 2 * time.Second
	}
	if c.MinTimeout == 0 {
		c.MinTimeout = 2 * c.Tick
	}
	if c.MaxTimeout == 0 {
		c.MaxTimeout = 20 * c.Tick
	}
	if c.Log.Heartbeat == 0 && c.Log.ElectionTicks == 0 {
		c.Log.Heartbeat, c.Log.ElectionTicks = 200*time.Millisecond, 5
	}
	c.Log.HangsUp = true
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
