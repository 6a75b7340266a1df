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
	RegisterBackend(&Backend{Kind: locks.OnConsul, Place: 5, Most: maxMembers, Steady: true,
		Name: consul.Name, Fixed: true,
		Front: consul.Front(), Scheme: "http://", Called: "Consul", Service: history.Consul,
		Upkeep:  []string{"sessionrenew"},
		Silence: func(s *Servers) time.Duration { return time.Duration(s.RaftMultiplier) * time.Second },
		Settings: []format.Key[Servers]{
			format.Number("raft-multiplier", func(s *Servers) *int { return &s.RaftMultiplier },
				consul.DefaultMultiplier, 1, 10,
				"how many seconds members of a Consul cluster wait before they elect another leader "+
					"(performance.raft_multiplier); "+
					"a leader that is cut off from the others resigns after half of that time"),
		},
		Lasts: func(ttl time.Duration) time.Duration {
			return consul.TTLMultiplier*ttl + consul.DefaultLockDelay + locks.ConsulRetry
		},
		Meaning: "how many servers of a Consul cluster: consul-1 …",
		Cluster: func(s *Servers) Cluster {
			return &consulCluster{consul.New(consul.Config{Multiplier: s.RaftMultiplier, Fsync: s.Fsync}, s.names())}
		}})
}

// consulCluster is a Consul cluster's set of servers.
type consulCluster struct{ *consul.Cluster }

func (c *consulCluster) Add(w *sim.World, _ nemesis.Plan, wrap Tap) {
	c.Reset()
	c.AddTo(wrap.Before(w))
}
