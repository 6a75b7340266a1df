package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/front"
)

func init() {
	registerBackend(&backend{kind: locks.OnZooKeeper, place: 3, most: maxMembers, log: true, steady: true,
		front: front.ZooKeeper{}, called: "ZooKeeper", service: history.ZooKeeper,
		upkeep:  []string{"connect", "ping", "auth", "setwatches", "setwatches2", "closesession"},
		former:  map[string]string{"CREATE": "CREATE2", "CHILDREN": "GETCHILDREN2", "CLOSE": "CLOSESESSION"},
		meaning: "how many members of a ZooKeeper ensemble: zookeeper-1 …",
		cluster: func(s *Servers) cluster {
			c := zookeeper.Config{Tick: s.TickTime, SyncLimit: s.SyncLimit, MinTimeout: locks.LeastSession,
				MaxTimeout: locks.MostSession, Log: raft.Config{Fsync: s.Fsync}}
			return &zooKeeperCluster{zookeeper.NewEnsemble(c, s.names()), c}
		}})
}

// zooKeeperCluster holds the members of a ZooKeeper ensemble.
type zooKeeperCluster struct {
	*zookeeper.Ensemble
	config zookeeper.Config
}

func (c *zooKeeperCluster) add(w *sim.World, _ nemesis.Plan, wrap tap) {
	c.Reset(c.config)
	c.AddTo(wrap.before(w))
}
