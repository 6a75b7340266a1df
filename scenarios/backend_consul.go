package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
)

func init() {
	registerBackend(&backend{kind: locks.OnConsul, place: 5, most: maxMembers, log: true, steady: true,
		name: consul.Name, fixed: true,
		front: consul.Front(), scheme: "http://", called: "Consul", service: history.Consul,
		upkeep:  []string{"sessionrenew"},
		silence: func(s *Servers) time.Duration { return time.Duration(s.RaftMultiplier) * time.Second },
		settings: []format.Key[Servers]{
			format.Number("raft-multiplier", func(s *Servers) *int { return &s.RaftMultiplier },
				consul.DefaultMultiplier, 1, 10, "how many seconds members of a Consul cluster wait before they elect "+
					"another leader; a leader that is cut off from the others resigns after half of that "+
					"(performance.raft_multiplier)"),
		},
		meaning: "how many servers of a Consul cluster: consul-1 …",
		cluster: func(s *Servers) cluster {
			return &consulCluster{consul.New(consul.Config{Multiplier: s.RaftMultiplier, Fsync: s.Fsync}, s.names())}
		}})
}

// consulCluster holds the servers of a Consul cluster.
type consulCluster struct{ *consul.Cluster }

func (c *consulCluster) add(w *sim.World, _ nemesis.Plan, wrap tap) {
	c.Reset()
	c.AddTo(wrap.before(w))
}
