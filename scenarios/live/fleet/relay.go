package fleet

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// Loop represents the world's goroutine. Do makes it run f once, or never if the run has ended. Functions passed by the
// same goroutine run in order.
type Loop interface{ Do(f func()) }

// Bounds of the range of networks, which starts at 127.1.0.0. Each run uses its own network, so no two runs choose the
// same port at the same address.
const (
	firstNet = 1 << 8
	lastNet  = 255 << 8
)

// Relay connects one run's ports. Before the world begins, it passes bytes on without delay.
type Relay struct {
	failed func(error)
	// the caller method, except in tests, where all servers are in one process
	knows func(from, to netip.AddrPort) *Port
	net   int // the second and third byte of its processes' addresses

	early sync.Mutex // before the world begins: held while connections are accessed
	loop  Loop       // nil until the world begins

	mu      sync.Mutex
	ports   []*Port
	plugs   map[*plug]bool
	closed  chan struct{}
	over    sync.Once
	running sync.WaitGroup
}

// newRelay returns a relay without ports. If the run cannot continue, failed is called with the reason, on any
// goroutine.
func newRelay(failed func(error)) *Relay {
	r := &Relay{failed: failed, net: firstNet + rand.IntN(lastNet-firstNet), plugs: map[*plug]bool{},
		closed: make(chan struct{})}
	r.knows = r.caller
	return r
}

// do runs f on the loop's goroutine, where connections may be accessed. Before the world begins, it runs f on the
// calling goroutine, while holding r.early.
func (r *Relay) do(f func()) {
	r.early.Lock()
	defer r.early.Unlock()
	if r.loop != nil {
		r.loop.Do(f)
		return
	}
	select {
	case <-r.closed:
	default:
		f()
	}
}

// begin makes all further bytes travel through the loop's world. The servers must already be in the world, and the loop
// must not be running yet.
func (r *Relay) begin(l Loop) {
	r.early.Lock()
	defer r.early.Unlock()
	r.loop = l
}

// close closes all ports and connections, and waits until they are closed. The loop must have ended.
func (r *Relay) close() {
	r.early.Lock()
	r.over.Do(func() { close(r.closed) })
	r.early.Unlock()
	r.mu.Lock()
	for _, p := range r.ports {
		p.listener.Close()
	}
	plugs := slices.Collect(maps.Keys(r.plugs))
	r.mu.Unlock()
	for _, g := range plugs {
		g.out.Reset() // reset it now: a stopped process would not read what was sent to it
		g.in.Stop()
	}
	r.running.Wait()
}

// Port accepts connections from other servers to a server. A nil Port means that the server does not communicate with
// other servers.
type Port struct {
	relay    *Relay
	name     sim.ProcessID
	own      netip.Addr // loopback address of the server's process
	listener *net.TCPListener
	process  func() int       // returns the ID of the server's process
	at       string           // address at which the process is listening
	places   []netip.AddrPort // addresses at which the process is listening, if it connects through a proxy

	// Only the loop may use the fields below.
	host  sim.Host
	ready <-chan struct{}
	ends  []*end // the server's ends of connections, in the order in which they were opened
	sent  uint64
}

// Listen is an [Opener] for a server that accepts direct connections from other servers.
func (r *Relay) Listen(server sim.ProcessID, process func() int) (*Port, error) {
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("opening a port for others to reach %s: %w", server, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.ports)
	at := r.net + n/250
	p := &Port{relay: r, name: server, own: netip.AddrFrom4([4]byte{127, byte(at >> 8), byte(at), byte(1 + n%250)}),
		listener: ln, process: process}
	r.ports = append(r.ports, p)
	return p, nil
}

// Number returns the port number, on 127.0.0.1.
func (p *Port) Number() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Own returns the loopback address at which the server's process must listen.
func (p *Port) Own() string { return p.own.String() }

// Free returns a port at Own's address that no process is currently listening on.
func (p *Port) Free() (netip.AddrPort, error) {
	n, err := FreePort(p.Own())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("finding a port for %s: %w", p.name, err)
	}
	return netip.AddrPortFrom(p.own, uint16(n)), nil
}

// Open accepts connections and forwards them to the given address, where the server's process is listening.
func (p *Port) Open(at string) {
	p.at = at
	p.accept(func(caller *Port, tcp *net.TCPConn) {
		c := newConnection(caller, p, p.at)
		p.relay.plug(c.ends[0], tcp, func(g *plug) { c.begin(g) })
	})
}

// accept calls serve for each connection from one of the servers' processes until the port is closed. Each call has its
// own goroutine. Connections from other processes are closed immediately.
func (p *Port) accept(serve func(caller *Port, tcp *net.TCPConn)) {
	r := p.relay
	r.running.Go(func() {
		for {
			tcp, err := p.listener.AcceptTCP()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					r.failed(fmt.Errorf("connections to %s: %w", p.name, err))
				}
				return
			}
			if caller := r.knows(addressOf(tcp.RemoteAddr()), addressOf(tcp.LocalAddr())); caller != nil {
				serve(caller, tcp)
			} else {
				tcp.Close()
			}
		}
	})
}

func addressOf(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// plug is a socket with its reader and writer.
type plug struct {
	in  *realtime.In
	out *realtime.Out
}

// plug connects a socket to one end of a connection, and begins to read and write. It calls begin before anything is
// read.
func (r *Relay) plug(e *end, tcp *net.TCPConn, begin func(*plug)) {
	g := &plug{realtime.NewIn(tcp, func() { r.do(e.collect) }), realtime.NewOut(tcp)}
	r.mu.Lock()
	select {
	case <-r.closed:
		r.mu.Unlock()
		tcp.Close()
		return
	default:
	}
	r.plugs[g] = true
	r.running.Add(2)
	r.mu.Unlock()
	r.do(func() { begin(g) })
	go func() {
		defer r.running.Done()
		g.in.Run()
	}()
	go func() {
		defer r.running.Done()
		g.out.Run()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.plugs, g)
	}()
}

// finish closes the socket once everything has been written.
func (g *plug) finish() {
	g.out.Finish()
	g.in.Stop()
}
