//go:build linux

package realtime

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// plain is a handler that forwards everything.
type plain struct{}

func (plain) Asked(c *Conn, args []string)                { c.Forward(args, "", strings.ToLower(args[0])) }
func (plain) Forwarded(*Conn, []string)                   {}
func (plain) Declined(*Conn, error)                       {}
func (plain) Malformed(*Conn, []byte)                     {}
func (plain) Received(c *Conn, b []byte, _ *sim.Incoming) { c.Send(b) }
func (plain) Ended(c *Conn, s sim.Status) {
	if s == sim.NoReply {
		c.Close()
		return
	}
	c.Reset()
}

// rig is a world with one Redis server and one client process. The test acts as the client process.
type rig struct {
	*testing.T
	loop  *Loop
	world *sim.World
	front *Front
	addr  string
	ended chan struct{}
}

// stepLimit is the time limit for each step. Only a step that hangs takes that long.
const stepLimit = time.Minute

// newRig returns a rig whose world has the given link delay. The world runs in the background until the test ends.
func newRig(t *testing.T, h Handler, delay time.Duration) *rig {
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: delay, Hi: delay}, Endless: true})
	w.AddServer("redis-1", redis.New(redis.Config{}))
	w.AddClient("client-1", 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	r := &rig{T: t, world: w, loop: NewLoop(w, hostClock(t)), ended: make(chan struct{})}
	r.front = NewFront(r.loop, h)
	addr, err := r.front.Listen("127.0.0.1", "client-1", "redis-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = addr.String()
	over := false
	go func() {
		defer close(r.ended)
		r.loop.Run(sim.Time(stepLimit), func() bool { return over })
	}()
	t.Cleanup(func() {
		r.loop.Do(func() { over = true })
		<-r.ended
		r.front.Close()
	})
	return r
}

func hostClock(t *testing.T) *HostClock {
	c, err := NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do runs f on the loop's goroutine, and waits until it has returned.
func (r *rig) do(f func()) {
	r.Helper()
	done := make(chan struct{})
	r.loop.Do(func() { f(); close(done) })
	select {
	case <-done:
	case <-r.ended:
		r.Fatal("the loop has ended: ", r.loop.Err(), r.world.Err())
	}
}

// until waits until f, called on the loop's goroutine, returns true.
func (r *rig) until(what string, f func() bool) {
	r.Helper()
	for end := time.Now().Add(stepLimit); ; {
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

type peer struct {
	net.Conn
	r *bufio.Reader
}

// dial connects and gives the password, as a client does.
func (r *rig) dial() *peer {
	r.Helper()
	s := r.call()
	s.say("AUTH", r.front.Secret("client-1"))
	if got := s.line(r.T); got != "+OK" {
		r.Fatalf("got %q", got)
	}
	return s
}

// call connects without a password, as any process can.
func (r *rig) call() *peer {
	r.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(stepLimit))
	r.Cleanup(func() { c.Close() })
	return &peer{c, bufio.NewReader(c)}
}

func (s *peer) say(args ...string) {
	s.Write(appendRequest(nil, args))
}

func (s *peer) line(t *testing.T) string {
	t.Helper()
	line, err := s.r.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(line, "\r\n")
}

func TestAServerAnswersOverTCP(t *testing.T) {
	r := newRig(t, plain{}, 0)
	s := r.dial()
	s.say("SET", "a", "1")
	s.say("INCR", "a")
	if got := s.line(t) + s.line(t); got != "+OK:2" {
		t.Errorf("got %q", got)
	}
	for _, b := range appendRequest(nil, []string{"INCR", "a"}) { // a request in several pieces
		s.Write([]byte{b})
	}
	if got := s.line(t); got != ":3" {
		t.Errorf("got %q", got)
	}
}

// TestFaultsReachSockets checks that a fault has the same effect on a client's socket as on the connection in the
// world.
func TestFaultsReachSockets(t *testing.T) {
	t.Run("a cut holds back", func(t *testing.T) {
		r := newRig(t, plain{}, 0)
		s := r.dial()
		s.say("INCR", "a")
		s.line(t)
		r.do(func() { r.world.Cut("client-1", "redis-1") })
		s.say("INCR", "a")
		r.until("it is sent", func() bool { return r.world.Sent("client-1", "redis-1") == 2 })
		if n := r.world.Sent("redis-1", "client-1"); n != 1 {
			t.Errorf("%d answers", n)
		}
		r.do(func() { r.world.Heal("client-1", "redis-1") })
		if got := s.line(t); got != ":2" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a break resets", func(t *testing.T) {
		r := newRig(t, plain{}, 0)
		s := r.dial()
		r.do(func() { r.world.BreakBefore("client-1", "redis-1", 2, func() {}) })
		s.say("INCR", "a")
		s.say("INCR", "a")
		s.line(t)
		if _, err := s.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v", err)
		}
		again := r.dial()
		again.say("GET", "a")
		if got := again.line(t) + again.line(t); got != "$12" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a server that is shut down closes, and then refuses", func(t *testing.T) {
		r := newRig(t, plain{}, 0)
		s := r.dial()
		s.say("PING")
		s.line(t)
		r.do(func() { r.world.Stop("redis-1", sim.ShutDown) })
		if _, err := s.r.ReadByte(); err != io.EOF {
			t.Errorf("got %v", err)
		}
		again := r.call()
		again.say("AUTH", r.front.Secret("client-1"))
		if _, err := io.ReadAll(again.r); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a server without power says nothing, and back again resets", func(t *testing.T) {
		r := newRig(t, plain{}, 0)
		s := r.dial()
		s.say("PING")
		s.line(t)
		r.do(func() { r.world.Stop("redis-1", sim.PowerLoss) })
		s.say("PING")
		r.until("it is sent", func() bool { return r.world.Sent("client-1", "redis-1") == 2 })
		r.do(func() { r.world.Restart("redis-1") })
		s.say("PING")
		if _, err := s.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v", err)
		}
	})
}

// TestConnectionsThatAreOverAreForgotten checks that a run, however long, holds only open connections in memory.
func TestConnectionsThatAreOverAreForgotten(t *testing.T) {
	r := newRig(t, plain{}, 0)
	for range 50 {
		s := r.dial()
		s.say("SUBSCRIBE", "news")
		s.line(t)
		s.Close()
	}
	r.until("all are forgotten", func() bool { return len(r.front.conns["client-1"]) == 0 })
	s := r.dial()
	s.say("PUBLISH", "news", "x")
	if got := s.line(t); got != ":0" {
		t.Errorf("%s hear of it", got)
	}
}

// TestWhatIsNoCommandIsRefused checks that a Front refuses bytes that are not a command. It must not refuse incomplete
// commands, or health checks that Redis accepts. No bytes may end the run.
func TestWhatIsNoCommandIsRefused(t *testing.T) {
	for says, want := range map[string]string{
		"\x00\xff\x16\x03":         "-ERR Protocol error: fencepost: this is not a command",
		"GET \"a\"\r\n":            "-ERR Protocol error: fencepost: this is not a command",
		"*00\r\n":                  "-ERR Protocol error: fencepost: this is not a command",
		strings.Repeat("x", 70000): "-ERR Protocol error: fencepost: this is not a command",
		"*1\r\n$4\r\nPI":           "EOF",
		"PING\r\n":                 "+PONG",
		"\r\n\nping\n":             "+PONG",
		"*0\r\n*-1\r\nPING\r\n":    "+PONG",
		"SYNC\r\n":                 "-ERR fencepost: SYNC is not simulated: it administers a real server",
	} {
		r := newRig(t, plain{}, 0)
		s := r.dial()
		io.WriteString(s, says)
		if want == "EOF" {
			s.Conn.(*net.TCPConn).CloseWrite()
		}
		if got := s.line(t); got != want {
			t.Errorf("%.20q: got %q, want %q", says, got, want)
		}
		again := r.dial()
		again.say("PING")
		if got := again.line(t); got != "+PONG" {
			t.Errorf("after %.20q: %q", says, got)
		}
	}
}

func TestAFloodEndsTheRun(t *testing.T) {
	r := newRig(t, plain{}, time.Hour)
	s := r.dial()
	many := []byte(strings.Repeat(string(appendRequest(nil, []string{"PING"})), 1000))
	go func() {
		for range MostUnanswered/1000 + 1 {
			s.Write(many)
		}
	}()
	<-r.ended
	var flood *FloodError
	if err := r.loop.Err(); !errors.As(err, &flood) {
		t.Errorf("it ended with %v", err)
	}
}

// TestWhatAPausedClientHadSentCounts checks that bytes that are in the socket when the client is paused count as sent
// before the pause.
func TestWhatAPausedClientHadSentCounts(t *testing.T) {
	r := newRig(t, plain{}, 0)
	s := r.dial()
	s.say("INCR", "a")
	s.line(t)
	r.do(func() {
		s.say("INCR", "a") // this runs on the loop, so the bytes cannot have been read when the pause begins
		r.world.Pause("client-1")
		r.front.Drain("client-1")
	})
	r.do(func() {
		if n := r.world.Sent("client-1", "redis-1"); n != 2 {
			t.Errorf("%d requests were sent", n)
		}
	})
	r.do(func() { r.world.Resume("client-1") })
	if got := s.line(t); got != ":2" {
		t.Errorf("got %q", got)
	}
}

// TestWhatACrashedClientHadSentArrives checks that everything that a client sent before it crashed arrives, and nothing
// that it sent later.
func TestWhatACrashedClientHadSentArrives(t *testing.T) {
	r := newRig(t, plain{}, 0)
	s := r.dial()
	s.say("INCR", "a")
	s.line(t)
	r.do(func() {
		s.say("INCR", "a")
		r.front.drop("client-1")
		r.world.Crash("client-1")
	})
	if _, err := s.r.ReadByte(); err == nil {
		t.Error("a crashed client was answered")
	}
	r.until("it is sent", func() bool { return r.world.Sent("client-1", "redis-1") == 2 })
}

// TestARemoteServerIsTheServer checks that a server in one world can serve a client in another world.
func TestARemoteServerIsTheServer(t *testing.T) {
	there := newRig(t, framing{}, 0)
	clock := hostClock(t)
	w := sim.New(2, sim.Options{Endless: true})
	l := NewLoop(w, clock)
	door := Door{there.addr, there.front.Secret("client-1")}
	remote, err := NewRemote(l, door, 1, func(r *sim.Incoming) []string { return r.Args })
	if err != nil {
		t.Fatal(err)
	}
	w.AddServer("redis-1", remote)
	var said []string
	over := false
	w.AddClient("client-1", 0, func(env sim.Env) {
		ask := func(n int, args ...string) {
			c := sim.Conn{Server: "redis-1", N: n}
			reply := env.Call(stepLimit, nil, sim.Request{Conn: c, Args: args})[0]
			said = append(said, fmt.Sprintf("%d %q", reply.Status, reply.Raw()))
			if reply.Status == sim.Reset {
				env.Close(c)
			}
		}
		ask(0, "INCR", "a")
		ask(1, "INCR", "a")
		ask(2, "SUBSCRIBE", "news")
		ask(0, "PUBLISH", "news", "x")
		data, status := env.Receive(sim.Conn{Server: "redis-1", N: 2}, stepLimit)
		said = append(said, fmt.Sprintf("%d %q", status, data))
		there.do(func() { there.world.BreakBefore("client-1", "redis-1", 5, func() {}) })
		ask(0, "INCR", "a")
		ask(0, "GET", "a")
		over = true
	})
	l.Run(sim.Time(stepLimit), func() bool { return over })
	want := []string{`1 ":1\r\n"`, `1 ":2\r\n"`, `1 "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"`, `1 ":1\r\n"`,
		`1 "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n"`, `2 ""`, `1 "$1\r\n3\r\n"`}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("%q\nwant %q", said, want)
	}
}

// framing is like plain, except that it sends replies in frames.
type framing struct{ plain }

func (framing) Received(c *Conn, b []byte, to *sim.Incoming) {
	kind := FramePush
	if to != nil {
		kind = FrameReply
	}
	c.Send(AppendFrame(nil, kind, b))
}
