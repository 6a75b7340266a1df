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
	registerBackend(&backend{kind: locks.OnEtcd, place: 2, most: maxMembers, log: true, steady: true,
		name: etcd.Name, former: map[string]string{"DELETE": "Delete…", "LEASE": "Lease…"},
		front: front.Etcd{}, paths: true, scheme: "http://", called: "etcd", service: history.Etcd,
		upkeep:  []string{"preface", "ping", "leasekeepalive", "authenticate", "memberlist", "status"},
		meaning: "how many members of an etcd cluster: etcd-1 …",
		cluster: func(s *Servers) cluster {
			c := raft.Config{Fsync: s.Fsync}
			return &etcdCluster{etcd.New(c, s.names()), c}
		}})
}

// etcdCluster holds the members of an etcd cluster.
type etcdCluster struct {
	*raft.Cluster
	config raft.Config
}

func (c *etcdCluster) add(w *sim.World, _ nemesis.Plan, wrap tap) {
	c.Reset(c.config)
	c.AddTo(wrap.before(w))
}
