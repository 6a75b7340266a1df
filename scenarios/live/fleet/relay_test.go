//go:build linux

package fleet

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// patience is the time limit for each step. It is a thousand times what a step needs.
const patience = time.Minute

// server is a server in a test. Its process is the test itself.
type server struct {
	*Port
	*net.TCPListener // the listener of the server's process
	w                *sim.World
	arrived          []sim.Time // times at which messages from other servers arrived; only the loop may use it
	ready            chan struct{}
}

var _ sim.Peer = (*server)(nil)

func (s *server) Start(h sim.Host) { s.started(h, s.ready) }
func (s *server) Receive(_ sim.ProcessID, body any) {
	s.arrived = append(s.arrived, s.w.Now())
	body.(*chunk).arrive()
}
func (s *server) Stop(how sim.Stop) {
	if how != sim.ShutDown {
		s.powerOff()
	}
}
func (s *server) Serve(*sim.Incoming)   {}
func (s *server) Wake(uint64)           {}
func (s *server) ClockChanged()         {}
func (s *server) Fault(sim.ServerFault) {}

// rig is a real-time world with the servers a, b and c.
type rig struct {
	*testing.T
	relay   *Relay
	loop    *realtime.Loop
	w       *sim.World
	a, b, c *server
	running sync.WaitGroup
	over    bool // only the loop may use it
	process func(sim.ProcessID) int
}

const travel = time.Millisecond

// newRig returns a rig that identifies servers by their addresses, because the test itself is the process of all of
// them.
func newRig(t *testing.T) *rig { return rigOf(t, nil) }

// rigOf returns a rig that identifies each server by its operating-system process. process returns a server's process
// ID.
func rigOf(t *testing.T, process func(sim.ProcessID) int) *rig {
	r := &rig{T: t, relay: newRelay(func(err error) { t.Error(err) }), process: process}
	if process == nil {
		r.relay.knows, r.process = r.callsFrom, func(sim.ProcessID) int { return os.Getpid() }
	}
	r.w = sim.New(1, sim.Options{Delay: sim.Delay{Lo: travel, Hi: travel}, Endless: true})
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	r.loop = realtime.NewLoop(r.w, clock)
	t.Cleanup(func() {
		r.relay.close()
		clock.Close()
	})
	r.a, r.b, r.c = r.server("a"), r.server("b"), r.server("c")
	return r
}

// callsFrom returns the port of the server whose calls come from the given address.
func (r *rig) callsFrom(from, _ netip.AddrPort) *Port {
	r.relay.mu.Lock()
	defer r.relay.mu.Unlock()
	for _, p := range r.relay.ports {
		if p.own == from.Addr() {
			return p
		}
	}
	return nil
}

func (r *rig) server(name sim.ProcessID) *server {
	r.Helper()
	p, err := r.relay.Listen(name, func() int { return r.process(name) })
	if err != nil {
		r.Fatal(err)
	}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(p.Own())})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { ln.Close() })
	p.Open(ln.Addr().String())
	s := &server{Port: p, TCPListener: ln, w: r.w, ready: make(chan struct{})}
	close(s.ready)
	return s
}

func (r *rig) begin() {
	for _, s := range []*server{r.a, r.b, r.c} {
		r.w.AddServer(s.name, s)
	}
	r.relay.begin(r.loop)
	r.running.Go(func() { r.loop.Run(sim.Time(time.Hour), func() bool { return r.over }) })
	r.Cleanup(func() {
		r.do(func() { r.over = true })
		r.running.Wait()
		if err := r.w.Err(); err != nil {
			r.Error(err)
		}
	})
}

// do runs f on the loop's goroutine, and waits until it has returned.
func (r *rig) do(f func()) {
	done := make(chan struct{})
	r.loop.Do(func() {
		f()
		close(done)
	})
	<-done
}

// until calls f repeatedly on the loop's goroutine, until f returns true.
func (r *rig) until(what string, f func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); ; {
		is := false
		r.do(func() { is = f() })
		if is {
			return
		}
		if time.Now().After(end) {
			r.Fatal("not so: " + what)
		}
	}
}

// side is a connection, as seen by the process at one of its ends.
type side struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (r *rig) side(c net.Conn, err error) *side {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	r.Cleanup(func() { c.Close() })
	return &side{r.T, c, bufio.NewReader(c)}
}

// call opens a connection from a server's process to the port of another server, or to its own port if that is a proxy.
func (r *rig) call(from, to *server) *side {
	r.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from.Own())}}
	return r.side(d.Dial("tcp", fmt.Sprint("127.0.0.1:", to.Number())))
}

// connect opens a connection between two processes, and returns its two ends.
func (r *rig) connect(from, to *server) (caller, called *side) {
	r.Helper()
	caller = r.call(from, to)
	to.SetDeadline(time.Now().Add(patience))
	return caller, r.side(to.Accept())
}

func (s *side) say(text string) {
	s.t.Helper()
	if _, err := s.Write([]byte(text + "\n")); err != nil {
		s.t.Fatal(err)
	}
}

func (s *side) hears(want string) {
	s.t.Helper()
	if got, err := s.in.ReadString('\n'); got != want+"\n" {
		s.t.Fatalf("%q has come and not %q: %v", got, want, err)
	}
}

// ends checks that the connection ends and that nothing more arrives.
func (s *side) ends() {
	s.t.Helper()
	if b, err := io.ReadAll(s.in); len(b) > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
		s.t.Fatalf("%q has come: %v", b, err)
	}
}

func TestBytesTravelBothWays(t *testing.T) {
	for _, early := range []bool{false, true} {
		r := newRig(t)
		if !early {
			r.begin()
		}
		a, b := r.connect(r.a, r.b)
		c, d := r.connect(r.c, r.b)
		a.say("a asks")
		c.say("c asks")
		b.hears("a asks")
		d.hears("c asks")
		b.say("b answers a")
		d.say("b answers c")
		c.hears("b answers c")
		a.hears("b answers a")
		if early {
			r.begin()
			a.say("a asks again")
			b.hears("a asks again")
		}
		a.Close()
		b.ends()
		d.say("the end")
		d.Close()
		c.hears("the end")
		c.ends()
		r.until("b knows of no connection", func() bool { return len(r.b.ends) == 0 })
	}
}

// TestTheWorldBeginsInTheMidst checks that bytes arrive in order if they are sent while the world is starting to run.
func TestTheWorldBeginsInTheMidst(t *testing.T) {
	r := newRig(t)
	a, b := r.connect(r.a, r.b)
	const lines = 20_000
	begun := make(chan bool)
	r.running.Go(func() {
		for i := range lines {
			if fmt.Fprintln(a, i); i == lines/4 {
				close(begun)
			}
		}
	})
	<-begun
	r.begin()
	for i := range lines {
		b.hears(fmt.Sprint(i))
	}
}

// arrivalsSince returns the arrival times of messages, beginning with the nth.
func (s *server) arrivalsSince(n int) []sim.Time { return slices.Clone(s.arrived[n:]) }

func TestCutsHoldOneDirection(t *testing.T) {
	r := newRig(t)
	r.begin()
	a, b := r.connect(r.a, r.b)
	a.say("before")
	b.hears("before")
	sent, arrived := 0, 0
	r.do(func() {
		r.w.Cut("a", "b")
		sent, arrived = r.w.Sent("a", "b"), len(r.b.arrived)
	})
	a.say("one")
	r.until("it has left", func() bool { return r.w.Sent("a", "b") > sent })
	b.say("back") // the other direction is not cut
	a.hears("back")
	a.say("two")
	r.until("it has left too", func() bool { return r.w.Sent("a", "b") > sent+1 })
	var healed sim.Time
	r.do(func() {
		r.w.Heal("a", "b")
		healed = r.w.Now()
	})
	b.hears("one")
	b.hears("two")
	r.do(func() {
		for _, at := range r.b.arrivalsSince(arrived) {
			if at < healed+sim.Time(travel) {
				t.Errorf("something has come at %v, and the cut healed at %v", at, healed)
			}
		}
	})
}

func TestDelaysHoldBytes(t *testing.T) {
	const by = 50 * time.Millisecond
	r := newRig(t)
	r.begin()
	a, b := r.connect(r.a, r.b)
	a.say("before")
	b.hears("before")
	for _, next := range []bool{false, true} {
		var begun sim.Time
		arrived, struck := 0, 0
		r.do(func() {
			if begun, arrived = r.w.Now(), len(r.b.arrived); next {
				r.w.DelayNext("a", "b", by, func() { struck++ })
			} else {
				r.w.Slow("a", "b", by)
			}
		})
		a.say("late")
		a.say("behind")
		b.hears("late")
		b.hears("behind")
		r.do(func() {
			for _, at := range r.b.arrivalsSince(arrived) {
				if at < begun+sim.Time(by+travel) {
					t.Errorf("something has come %v after the delay began", (at - begun).Duration())
				}
			}
			if next && struck != 1 {
				t.Errorf("it has struck %d times", struck)
			}
			if !next {
				r.w.Slow("a", "b", -by)
			}
		})
	}
}

// TestLossOfPowerIsSilent checks that messages sent before a power loss still arrive. The process at the other end must
// not learn that the connection has ended until the machine is back.
func TestLossOfPowerIsSilent(t *testing.T) {
	for _, caller := range []bool{true, false} {
		r := newRig(t)
		r.begin()
		a, b := r.connect(r.a, r.b)
		lost, stays, end := r.b, a, b
		if caller {
			lost, stays, end = r.a, b, a
		}
		stays.say("before")
		end.hears("before")
		end.say("last words")
		r.do(func() { r.w.Stop(lost.name, sim.PowerLoss) })
		end.Close()
		stays.hears("last words")
		stays.say("unheard")
		back := false
		heard := make(chan bool)
		r.running.Go(func() {
			stays.ends()
			r.do(func() { heard <- back })
		})
		r.do(func() {
			r.w.At(r.w.Now()+sim.Time(20*travel), func() {
				back = true
				r.w.Restart(lost.name)
			})
		})
		r.loop.Do(func() {}) // nothing but the restart wakes the loop
		if !<-heard {
			t.Error("the connection has ended before the machine was back")
		}
	}
}

// TestCallsToAMachineThatIsOff checks that pending attempts to connect to a machine without power end when the machine
// is back. Later attempts must wait for the server's process.
func TestCallsToAMachineThatIsOff(t *testing.T) {
	r := newRig(t)
	r.begin()
	r.do(func() { r.w.Stop("b", sim.PowerLoss) })
	early := r.call(r.a, r.b)
	early.say("hello")
	r.until("it has arrived", func() bool { return r.w.Sent("a", "b") == 2 })
	r.b.ready = make(chan struct{})
	r.do(func() { r.w.Restart("b") })
	early.ends()
	late := r.call(r.a, r.b)
	late.say("hello")
	r.until("it has arrived", func() bool { return len(r.b.arrived) >= 3 })
	close(r.b.ready)
	r.b.SetDeadline(time.Now().Add(patience))
	r.side(r.b.Accept()).hears("hello")
}

// TestCallsThatNobodyTakes checks that a connection ends if no process is listening at the other end.
func TestCallsThatNobodyTakes(t *testing.T) {
	r := newRig(t)
	r.begin()
	r.b.TCPListener.Close()
	a := r.call(r.a, r.b)
	a.ends()
	r.until("a knows of no connection", func() bool { return len(r.a.ends) == 0 })
}

// TestStreamsStayWhole checks that bytes arrive unchanged and in order, on each connection and in each direction,
// whatever happens to the links.
func TestStreamsStayWhole(t *testing.T) {
	r := newRig(t)
	r.begin()
	const lines = 2000
	var all sync.WaitGroup
	servers := []*server{r.a, r.b, r.c}
	for i, from := range servers {
		caller, called := r.connect(from, servers[(i+1)%3])
		for n, way := range [][2]*side{{caller, called}, {called, caller}} {
			text := fmt.Sprint(strings.Repeat("x", 500*n), from.name)
			all.Go(func() {
				for line := range lines {
					fmt.Fprintln(way[0], text, line)
				}
			})
			all.Go(func() {
				for line := range lines {
					want := fmt.Sprintln(text, line)
					if got, err := way[1].in.ReadString('\n'); got != want {
						t.Errorf("%q has come and not %q: %v", got, want, err)
						return
					}
				}
			})
		}
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	d := rand.New(rand.NewPCG(1, 1))
	for {
		from, to := servers[d.IntN(3)].name, servers[d.IntN(3)].name
		length := sim.Time(time.Duration(1+d.IntN(5)) * time.Millisecond)
		r.do(func() {
			switch d.IntN(3) {
			case 0:
				r.w.Cut(from, to)
				r.w.At(r.w.Now()+length, func() { r.w.Heal(from, to) })
			case 1:
				r.w.Slow(from, to, travel)
				r.w.At(r.w.Now()+length, func() { r.w.Slow(from, to, -travel) })
			default:
				r.w.DelayNext(from, to, travel, func() {})
			}
		})
		select {
		case <-over:
			return
		default:
		}
	}
}
