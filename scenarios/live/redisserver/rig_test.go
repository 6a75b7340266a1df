//go:build linux

package redisserver

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

// loop is a world that runs in real time.
type loop struct {
	*realtime.Loop
	w     *sim.World
	clock *realtime.HostClock
}

func newLoop(t testing.TB) *loop {
	t.Helper()
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clock.Close)
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 50 * time.Microsecond, Hi: 50 * time.Microsecond},
		Wall: clock.Begin().UnixNano(), Endless: true})
	return &loop{realtime.NewLoop(w, clock), w, clock}
}

// run runs the world until done returns true.
func (l *loop) run(t testing.TB, done func() bool) {
	t.Helper()
	if l.Run(sim.Time(2*time.Minute), done) {
		t.Fatal("the run is not over after two minutes")
	}
	if err := l.w.Err(); err != nil {
		t.Fatal(err)
	}
}

// rig is a real-time world with real servers.
type rig struct {
	t     testing.TB
	l     *loop
	fleet *servers

	mu     sync.Mutex
	failed error
}

func start(t testing.TB, c Config, plan ...nemesis.Fault) *rig {
	t.Helper()
	testkit.Needs(t, "redis-server")
	return startWith(t, fleettest.Keeper(t), c, plan...)
}

func startWith(t testing.TB, k *process.Keeper, c Config, plan ...nemesis.Fault) *rig {
	t.Helper()
	r := &rig{t: t}
	c.Keeper, c.Failed = k, r.fail
	if c.Groups == nil {
		c.Groups = [][]sim.ProcessID{{"redis-1"}}
	}
	f, err := Launch(c, plan)
	if err != nil {
		t.Fatal(err)
	}
	r.fleet = f.Server(c.Groups[0][0]).(*Server).cfg
	l := newLoop(t)
	r.mu.Lock()
	r.l = l
	r.mu.Unlock()
	for _, g := range c.Groups {
		for _, name := range g {
			r.l.w.AddServer(name, r.fleet.Server(name))
		}
	}
	if c.Sentinel != "" {
		r.l.w.AddServer(c.Sentinel, r.fleet.Server(c.Sentinel))
	}
	r.fleet.Begin(r.l)
	t.Cleanup(r.fleet.End)
	return r
}

func (r *rig) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = err
	if r.l != nil {
		r.l.Do(func() {}) // wakes the loop, so that it sees the change
	}
}

func (r *rig) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// play runs a client with the given main function, and returns what was recorded.
func (r *rig) play(main func(c *client)) []history.Event {
	r.t.Helper()
	over := false
	r.l.w.AddClient("client-1", 0, func(e sim.Env) {
		main(&client{t: r.t, Env: e, w: r.l.w, server: "redis-1"})
		over = true
	})
	r.l.run(r.t, func() bool { return over || r.failure() != nil || r.l.w.Err() != nil })
	if err := r.failure(); err != nil {
		r.t.Fatal(err)
	}
	return recorded(r.l.w)
}

func recorded(w *sim.World) (list []history.Event) {
	for _, e := range w.SoFar() {
		if e.F == history.KeySet || e.F == history.KeyProlonged || e.F == history.KeyGone {
			list = append(list, e)
		}
	}
	return list
}

// client is a client in the simulated world. It names the attempt that each of its requests belongs to.
type client struct {
	t testing.TB
	sim.Env
	w      *sim.World
	server sim.ProcessID
	asked  int
	conn   int
}

// patient is how long a client waits for a reply.
const patient = time.Minute

// sendAs sends a request that belongs to an attempt.
func (c *client) sendAs(of history.Attempt, args ...string) *sim.Reply {
	c.asked++
	list := c.Call(patient, nil, sim.Request{Conn: sim.Conn{Server: c.server, N: c.conn}, Attempt: of,
		Phase: fmt.Sprint("ask ", c.asked), Args: args})
	return &list[0]
}

// askFor sends a request that belongs to an attempt, and waits at most d for the reply. It returns "" if there is no
// reply by then.
func (c *client) askFor(d time.Duration, of history.Attempt, args ...string) string {
	c.asked++
	return string(c.Call(d, nil, sim.Request{Conn: sim.Conn{Server: c.server, N: c.conn}, Attempt: of,
		Phase: fmt.Sprint("ask ", c.asked), Args: args})[0].Raw())
}

// stateOf returns a process's state, as shown in /proc.
func stateOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// until repeats a request until the reply equals want.
func (c *client) until(want string, args ...string) {
	for string(c.sendAs("", args...).Raw()) != want {
		c.Sleep(2 * time.Millisecond)
	}
}
