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

// valCtxCh is what the Done of a watch's context returns in etcd's client: a channel that is never closed, made when
// the program starts. It belongs to no bubble, and a goroutine that waits for it keeps the clock from moving. Nil means
// the same, "never done", and nobody waits for it. Beside a file with go:linkname must be one in assembler (clock.s).
//
//go:linkname valCtxCh go.etcd.io/etcd/client/v3.valCtxCh
var valCtxCh chan struct{}

// randIntN is drawn by gRPC whenever the state of a connection changes, and cannot be seeded. With 0 the members are
// connected to in order; among those that are connected inTurn chooses.
//
//go:linkname randIntN google.golang.org/grpc/balancer/endpointsharding.randIntN
var randIntN func(n int) int

func init() {
	valCtxCh = nil
	randIntN = func(int) int { return 0 }
	balancer.Register(inTurn{})
}

// inTurn is gRPC's round robin, but that equal seeds choose the same members: a Go map has no part in their order, and
// the calls of one instant begin one after another.
type inTurn struct{}

// Name is that of the balancer that it replaces.
func (inTurn) Name() string { return roundrobin.Name }

// Build makes the balancer of a client.
func (inTurn) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	turns := &turns{first: rand.Uint32(), calls: map[string]uint32{}}
	return endpointsharding.NewBalancer(ordered{cc, turns}, o, balancer.Get(pickfirst.Name).Build,
		endpointsharding.Options{})
}

// ordered is a client whose members are in order when it chooses among them.
type ordered struct {
	balancer.ClientConn
	turns *turns
}

// UpdateState replaces the choice.
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

// turns chooses the members of a client in turn, for each method by itself.
type turns struct {
	first uint32

	mu      sync.Mutex
	members []balancer.Picker
	calls   map[string]uint32 // by method
}

func (t *turns) turnTo(members []balancer.Picker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.members = members
}

// Pick chooses the next. It takes some microseconds, by the method: so each of the calls that wake at one instant
// begins at an instant of its own, and one that is repeated since its connection broke finds the members that are left.
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

// mostWait is how long a choice takes at most, in microseconds. By this one the methods that clients use all differ.
const mostWait = 101
