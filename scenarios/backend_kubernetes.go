package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/apiserver"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

func init() {
	registerBackend(&backend{kind: locks.OnKubernetes, place: 4, most: maxMembers, log: true, steady: true,
		name: etcd.Name, fixed: true,
		front: apiserver.Front(), scheme: "http://", called: "Kubernetes", service: history.Kubernetes,
		meaning: "how many nodes of a Kubernetes control plane, each with an API server and a member of etcd: " +
			"kubernetes-1 …",
		cluster: func(s *Servers) cluster {
			c := raft.Config{Fsync: s.Fsync}
			return &etcdCluster{etcd.New(c, s.names()), c}
		}})
}
