package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

func init() {
	RegisterBackend(&Backend{Kind: locks.OnEtcd, Place: 2, Most: maxMembers, Steady: true,
		Name: etcd.Name, Former: map[string]string{"DELETE": "Delete…", "LEASE": "Lease…"},
		Front: front.Etcd{}, Paths: true, Scheme: "http://", Called: "etcd", Service: history.Etcd,
		Upkeep:  []string{"preface", "ping", "leasekeepalive", "authenticate", "memberlist", "status"},
		Meaning: "how many members of an etcd cluster: etcd-1 …",
		Cluster: func(s *Servers) Cluster {
			c := raft.Config{Fsync: s.Fsync}
			return &etcdCluster{etcd.New(c, s.names()), c}
		}})
}

// etcdCluster is the set of an etcd cluster's members.
type etcdCluster struct {
	*raft.Cluster
	config raft.Config
}

func (c *etcdCluster) Add(w *sim.World, _ nemesis.Plan, wrap Tap) {
	c.Reset(c.config)
	c.AddTo(wrap.Before(w))
}
