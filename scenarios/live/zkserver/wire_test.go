//go:build linux

package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/front"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// untimed has such long session timeouts that no session expires while servers are compared.
var untimed = zookeeper.Config{Tick: 200 * time.Millisecond, MinTimeout: 30 * time.Second, MaxTimeout: time.Minute}

// socket is a connection to a server, real or simulated.
type socket interface {
	// write sends bytes to the server.
	write(b []byte)
	// read returns the next frame without its length. If raw is set, it returns all bytes until the server closes the
	// connection. ok is false if the server closes the connection first.
	read(raw bool) (b []byte, ok bool)
	close()
}

// realServer is a single ZooKeeper process without access control.
type realServer struct {
	t       testing.TB
	address string
}

// startReal starts a server that is stopped at the end of the test.
func startReal(t testing.TB, times zookeeper.Config) *realServer {
	needsZooKeeper(t)
	port, err := fleet.FreePort(loopback)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "zoo.cfg")
	lines := []string{fmt.Sprint("tickTime=", times.Tick.Milliseconds()), "dataDir=" + folder,
		fmt.Sprint("clientPort=", port),
		"clientPortAddress=" + loopback, "maxClientCnxns=0", "preAllocSize=64", "admin.enableServer=false",
		fmt.Sprint("minSessionTimeout=", times.MinTimeout.Milliseconds()),
		fmt.Sprint("maxSessionTimeout=", times.MaxTimeout.Milliseconds())}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(flags), "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.forceSync=no", "-Dznode.container.checkIntervalMs=100000000",
		"-cp", classpath(), "org.apache.zookeeper.server.ZooKeeperServerMain", config)
	c := exec.Command(java, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	s := &realServer{t, net.JoinHostPort(loopback, strconv.Itoa(port))}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if x, err := net.Dial("tcp", s.address); err == nil {
			_ = x.SetDeadline(time.Now().Add(roleLimit))
			_, _ = x.Write([]byte("srvr"))
			b, _ := io.ReadAll(x)
			x.Close()
			if bytes.Contains(b, []byte("Mode: standalone")) {
				return s
			}
		}
		if time.Now().After(end) {
			t.Fatal("the server does not serve")
		}
	}
}

func (s *realServer) open() socket {
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	return &realSocket{s.t, c}
}

type realSocket struct {
	t    testing.TB
	conn net.Conn
}

func (s *realSocket) write(b []byte) { _, _ = s.conn.Write(b) }

func (s *realSocket) read(raw bool) ([]byte, bool) {
	_ = s.conn.SetReadDeadline(time.Now().Add(patience))
	if raw {
		b, err := io.ReadAll(s.conn)
		return b, err == nil
	}
	f, err := jute.ReadFrame(s.conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatal("the real server neither answers nor closes the connection")
	}
	return f.Rest, err == nil
}

func (s *realSocket) close() { s.conn.Close() }

// simulated is a world with a single-member ensemble.
type simulated struct {
	t     testing.TB
	world *sim.World
	calls sim.Caller
}

const only sim.ProcessID = "zookeeper-1"

func newSimulated(t testing.TB, times zookeeper.Config) *simulated {
	s := &simulated{t: t, world: sim.New(1, sim.Options{Endless: true,
		Delay: sim.Delay{Lo: time.Microsecond, Hi: time.Microsecond}})}
	zookeeper.NewEnsemble(times, []sim.ProcessID{only}).AddTo(s.world.AddServer)
	s.world.AddClient("client-1", 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	s.calls = front.ZooKeeper{}.Begin().Caller("client-1")
	return s
}

// wait runs the world until done returns true, but for at most d.
func (s *simulated) wait(d time.Duration, done func() bool) bool {
	if done() {
		return true
	}
	s.world.Run(s.world.Now()+history.Of(d), done)
	if err := s.world.Err(); err != nil {
		s.t.Fatal(err)
	}
	return done()
}

func (s *simulated) open() socket {
	x := &simSocket{of: s, wire: s.calls.Wire(only)}
	x.pipe = s.world.Dial("client-1", only, x)
	x.pipe.Concurrent = true
	s.wait(time.Second, func() bool { return x.opened })
	return x
}

// simSocket is the client's end of a pipe to a simulated server.
type simSocket struct {
	of     *simulated
	wire   sim.Wire
	pipe   *sim.Pipe
	in     []byte
	opened bool
	over   bool
}

func (s *simSocket) Opened(sim.Status)                                   { s.opened = true }
func (s *simSocket) Received(b []byte, to *sim.Incoming)                 { s.wire.Arrived(s, b, to) }
func (s *simSocket) Ended(sim.Status)                                    { s.over = true }
func (s *simSocket) Now() sim.Time                                       { return s.of.world.Now() }
func (s *simSocket) Deliver(b []byte)                                    { s.in = append(s.in, b...) }
func (s *simSocket) HangUp()                                             { s.over = true }
func (s *simSocket) Ask(args []string, of history.Attempt, phase string) { s.pipe.Ask(args, of, phase) }

func (s *simSocket) write(b []byte) {
	if err := s.wire.Written(s, b); err != nil {
		s.of.t.Fatal(err)
	}
}

func (s *simSocket) read(raw bool) ([]byte, bool) {
	const soon = 3 * time.Second
	if raw {
		if !s.of.wait(soon, func() bool { return s.over }) {
			s.of.t.Fatal("the simulated server does not close the connection")
		}
		return s.in, true
	}
	whole := func() bool { _, _, whole, _ := jute.Cut(s.in); return whole }
	if !s.of.wait(soon, func() bool { return s.over || whole() }) {
		s.of.t.Fatal("the simulated server neither answers nor closes the connection")
	}
	if !whole() {
		return nil, false
	}
	record, rest, _, _ := jute.Cut(s.in)
	s.in = rest
	return record, true
}

func (s *simSocket) close() { s.pipe.Close() }
