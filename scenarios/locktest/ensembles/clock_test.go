package ensembles

import (
	"cmp"
	"math/rand"

	"slices"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/balancer/roundrobin"
)

// valCtxCh is what the Done of a watch's context returns in etcd's client: a channel that is never closed, made when
// the program starts. It belongs to no bubble, and a goroutine that waits for it keeps the clock from moving. Nil means
// the same, "never done", and nobody waits for it. Beside a file with go:linkname must be one in assembler (clock.s).
//
//go:linkname valCtxCh go.etcd.io/etcd/client/v3.valCtxCh
var valCtxCh chan struct{}

// randIntN is gRPC's choice of the member that it connects to first. It cannot be seeded; math/rand is, in each run.
//
//go:linkname randIntN google.golang.org/grpc/balancer/endpointsharding.randIntN
var randIntN func(n int) int

func init() {
	valCtxCh = nil
	randIntN = rand.Intn
	balancer.Register(inTurn{})
}

// inTurn is gRPC's round robin without the order of a Go map: equal seeds choose the same members.
type inTurn struct{}

// Name is that of the balancer that it replaces.
func (inTurn) Name() string { return roundrobin.Name }

// Build makes the balancer of a client.
func (inTurn) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return endpointsharding.NewBalancer(ordered{cc}, o, balancer.Get(pickfirst.Name).Build, endpointsharding.Options{})
}

// ordered is a client whose members are in order when it chooses among them.
type ordered struct{ balancer.ClientConn }

// UpdateState replaces the choice.
func (o ordered) UpdateState(s balancer.State) {
	children := endpointsharding.ChildStatesFromPicker(s.Picker)
	slices.SortFunc(children, func(a, b endpointsharding.ChildState) int {
		return cmp.Compare(a.Endpoint.Addresses[0].Addr, b.Endpoint.Addresses[0].Addr)
	})
	p := &picker{}
	for _, c := range children {
		if c.State.ConnectivityState == s.ConnectivityState {
			p.members = append(p.members, c.State.Picker)
		}
	}
	if len(p.members) > 0 {
		p.next.Store(rand.Uint32())
		s.Picker = p
	}
	o.ClientConn.UpdateState(s)
}

type picker struct {
	members []balancer.Picker
	next    atomic.Uint32
}

// Pick chooses the next.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	return p.members[p.next.Add(1)%uint32(len(p.members))].Pick(info)
}
