package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/front"
)

func init() {
	RegisterBackend(&Backend{Kind: locks.OnZooKeeper, Place: 3, Most: maxMembers, Steady: true,
		Front: front.ZooKeeper{}, Called: "ZooKeeper", Service: history.ZooKeeper,
		Upkeep:   []string{"connect", "ping", "auth", "setwatches", "setwatches2", "closesession"},
		Former:   map[string]string{"CREATE": "CREATE2", "CHILDREN": "GETCHILDREN2", "CLOSE": "CLOSESESSION"},
		Settings: zooKeeperSettings, Fixed: true,
		Silence: func(s *Servers) time.Duration {
			if s.N == 1 {
				return 0
			}
			return time.Duration(s.SyncLimit) * s.TickTime
		},
		check: func(f *file) {
			if place, given := f.inServers["sync-limit"]; given && f.scenario.Servers.N == 1 {
				f.Problem(place, "", "sync-limit applies to members of an ensemble, but there is only one server: "+
					"remove it")
			}
		},
		Meaning: "how many members of a ZooKeeper ensemble: zookeeper-1 …",
		Cluster: func(s *Servers) Cluster {
			c := zookeeper.Config{Tick: s.TickTime, SyncLimit: s.SyncLimit, MinTimeout: locks.LeastSession,
				MaxTimeout: locks.MostSession, Log: raft.Config{Fsync: s.Fsync}}
			return &zooKeeperCluster{zookeeper.NewEnsemble(c, s.names()), c}
		}})
}

// zooKeeperSettings are the settings of ZooKeeper ensembles.
var zooKeeperSettings = []format.Key[Servers]{
	format.Time("tick-time", func(s *Servers) *time.Duration { return &s.TickTime }, zookeeper.DefaultTick,
		"the unit of time of a ZooKeeper ensemble (tickTime): its leader checks for expired sessions once a tick, "+
			"and members exchange heartbeats twice a tick").With(func(f *format.Form) {
		f.Least, f.Most, f.Step = int64(100*time.Millisecond), int64(time.Minute), int64(time.Millisecond)
	}).Refusing("ZooKeeper does not start with a tickTime of 0 (\"tickTime is not set\")"),
	format.Number("sync-limit", func(s *Servers) *int { return &s.SyncLimit },
		zookeeper.DefaultSyncLimit, 1, 100,
		"how many ticks a ZooKeeper member continues to serve without a heartbeat from its leader, "+
			"and how many ticks a leader keeps a silent member (syncLimit)").
		Refusing("ZooKeeper does not start with a syncLimit of 0 (\"syncLimit is not set\")"),
}

// zooKeeperCluster is the set of members of a ZooKeeper ensemble.
type zooKeeperCluster struct {
	*zookeeper.Ensemble
	config zookeeper.Config
}

func (c *zooKeeperCluster) Add(w *sim.World, _ nemesis.Plan, wrap Tap) {
	c.Reset(c.config)
	c.AddTo(wrap.Before(w))
}
