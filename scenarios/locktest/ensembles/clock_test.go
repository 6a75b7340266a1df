package ensembles

import (
	"cmp"
	"hash/fnv"
	"math/rand"
	"slices"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/balancer/roundrobin"
)

// valCtxCh is the channel returned by the Done method of a watch's context in etcd's client. It is created when the
// program starts and is never closed. It isn't part of any synctest bubble, so a goroutine that is waiting on it stops
// the bubble's clock. init replaces it with nil, which also means "never done" but does not stop the clock. A package
// that uses go:linkname needs an assembly file (clock.s).
//
//go:linkname valCtxCh go.etcd.io/etcd/client/v3.valCtxCh
var valCtxCh chan struct{}

// randIntN is gRPC's function for random integers, which cannot be seeded. gRPC calls it whenever a connection's state
// changes. If it returns 0, gRPC connects to the members in order. The inTurn balancer then chooses among the connected
// members.
//
//go:linkname randIntN google.golang.org/grpc/balancer/endpointsharding.randIntN
var randIntN func(n int) int

func init() {
	valCtxCh = nil
	randIntN = func(int) int { return 0 }
	balancer.Register(inTurn{})
}

// inTurn is gRPC's round-robin balancer, with two changes that make it choose the same members in all runs with the
// same seed. The order of the members does not depend on a Go map, and calls made at the same instant start one after
// another.
type inTurn struct{}

// Name returns the name of the balancer replaced by inTurn.
func (inTurn) Name() string { return roundrobin.Name }

// Build creates a client's balancer.
func (inTurn) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	turns := &turns{first: rand.Uint32(), calls: map[string]uint32{}}
	return endpointsharding.NewBalancer(ordered{cc, turns}, o, balancer.Get(pickfirst.Name).Build,
		endpointsharding.Options{})
}

// ordered is a gRPC client connection that sorts the members before choosing among them.
type ordered struct {
	balancer.ClientConn
	turns *turns
}

// UpdateState replaces gRPC's picker with turns.
func (o ordered) UpdateState(s balancer.State) {
	children := endpointsharding.ChildStatesFromPicker(s.Picker)
	slices.SortFunc(children, func(a, b endpointsharding.ChildState) int {
		return cmp.Compare(a.Endpoint.Addresses[0].Addr, b.Endpoint.Addresses[0].Addr)
	})
	var members []balancer.Picker
	for _, c := range children {
		if c.State.ConnectivityState == s.ConnectivityState {
			members = append(members, c.State.Picker)
		}
	}
	if len(members) > 0 {
		o.turns.turnTo(members)
		s.Picker = o.turns
	}
	o.ClientConn.UpdateState(s)
}

// turns chooses members for a client's calls by round robin, separately for each method.
type turns struct {
	first uint32

	mu      sync.Mutex
	members []balancer.Picker
	calls   map[string]uint32 // number of calls of each method
}

func (t *turns) turnTo(members []balancer.Picker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = members
}

// Pick chooses the next member. It takes several microseconds, depending on the method, so calls that are due at the
// same instant start at different instants. A call that is repeated because its connection broke finds only the
// remaining members.
func (t *turns) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	method := fnv.New32a()
	method.Write([]byte(info.FullMethodName))
	time.Sleep(time.Microsecond * time.Duration(1+method.Sum32()%mostWait))
	t.mu.Lock()
	t.calls[info.FullMethodName]++
	at := (t.first + method.Sum32() + t.calls[info.FullMethodName]) % uint32(len(t.members))
	member := t.members[at]
	t.mu.Unlock()
	return member.Pick(info)
}

// mostWait is the maximum duration of a Pick, in microseconds. It is chosen so that Pick takes a different time for
// each method that clients use.
const mostWait = 101
