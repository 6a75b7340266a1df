package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/apiserver"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

func init() {
	RegisterBackend(&Backend{Kind: locks.OnKubernetes, Place: 4, Most: maxMembers, Steady: true,
		Name: etcd.Name, Fixed: true,
		Front: apiserver.Front(), Scheme: "http://", Called: "Kubernetes", Service: history.Kubernetes,
		Meaning: "how many nodes of a Kubernetes control plane, each with an API server and a member of etcd: " +
			"kubernetes-1 …",
		Cluster: func(s *Servers) Cluster {
			c := raft.Config{Fsync: s.Fsync}
			return &etcdCluster{etcd.New(c, s.names()), c}
		}})
}
