//go:build linux

package zkserver

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

// needsZooKeeper skips the test if no ZooKeeper is installed.
func needsZooKeeper(t testing.TB) {
	t.Helper()
	if err := installed(); err != nil {
		if !errors.Is(err, ErrNoServer) {
			t.Fatal(err)
		}
		testkit.Lacks(t, err)
	}
}

// rig is a real-time world with a real ensemble, for tests.
type rig struct {
	t        testing.TB
	w        *sim.World
	l        *realtime.Loop
	ensemble *ensemble
	members  []sim.ProcessID
}

func start(t testing.TB, n int, plan ...nemesis.Fault) *rig {
	t.Helper()
	needsZooKeeper(t)
	k := fleettest.Keeper(t)
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, members: fleettest.Names("zookeeper", n)}
	r.w = sim.New(1, sim.Options{Delay: sim.Delay{Lo: 50 * time.Microsecond, Hi: 50 * time.Microsecond},
		Wall: clock.Begin().UnixNano(), Endless: true})
	r.l = realtime.NewLoop(r.w, clock)
	f, err := Launch(Config{Keeper: k, Members: r.members, Failed: r.l.Fail}, plan)
	if err != nil {
		t.Fatal(err)
	}
	r.ensemble = f.Server(r.members[0]).(*member).ensemble
	for _, name := range r.members {
		r.w.AddServer(name, r.ensemble.Server(name))
	}
	r.ensemble.Begin(r.l)
	t.Cleanup(func() {
		r.ensemble.End()
		clock.Close()
	})
	return r
}

// play runs each function with its own client, and returns the records.
func (r *rig) play(mains ...func(c *client)) []history.Event {
	r.t.Helper()
	over := 0
	for i, main := range mains {
		r.w.AddClient(sim.ProcessID(fmt.Sprint("client-", i+1)), 0, func(e sim.Env) {
			main(&client{t: r.t, Env: e, w: r.w, server: r.members[0]})
			over++
		})
	}
	if r.l.Run(history.Of(5*time.Minute), func() bool { return over == len(mains) }) {
		r.t.Fatal("the run is not over after five minutes")
	}
	if err := errors.Join(r.l.Err(), r.w.Err()); err != nil {
		r.t.Fatal(err)
	}
	return recorded(r.w)
}

// recorded returns the records of keys that were set or removed.
func recorded(w *sim.World) (list []history.Event) {
	for _, e := range w.SoFar() {
		if e.F == history.KeySet || e.F == history.KeyGone {
			list = append(list, e)
		}
	}
	return list
}

// client is a client in a simulated world, with methods that send single requests.
type client struct {
	t testing.TB
	sim.Env
	w      *sim.World
	server sim.ProcessID
	n      int // number of the client's connection
	asked  int
	// password is the password for the client's latest session.
	password string
}

// ask sends a request that belongs to an attempt, and returns the answer. It waits for up to a minute.
func (c *client) ask(of history.Attempt, op jute.Op, fields jute.Record) (zookeeper.Answer, bool) {
	return c.askFor(time.Minute, of, op, fields)
}

// askFor is like ask, but waits for the given time.
func (c *client) askFor(d time.Duration, of history.Attempt, op jute.Op, fields jute.Record) (zookeeper.Answer, bool) {
	xid := int32(c.asked)
	if op == jute.Ping {
		xid = jute.XidPing
	}
	return zookeeper.ReadAnswer(c.send(d, of, []string{op.String(), string(append(jute.Head(xid, op), fields...))}))
}

func (c *client) send(d time.Duration, of history.Attempt, args []string) *sim.Reply {
	c.asked++
	return &c.Call(d, nil, sim.Request{Conn: sim.Conn{Server: c.server, N: c.n}, Attempt: of,
		Phase: fmt.Sprint("ask ", c.asked), Args: args})[0]
}

// mustAsk sends a request and returns the answer. If there is none, it reports a test error.
func (c *client) mustAsk(of history.Attempt, op jute.Op, fields jute.Record) zookeeper.Answer {
	c.t.Helper()
	a, ok := c.ask(of, op, fields)
	if !ok {
		c.t.Errorf("%s %q was not answered", op, fields)
	}
	return a
}

// create returns the fields of a request that creates a znode.
func create(path, data string, flags int32) jute.Record {
	return denyAll(jute.Record(nil).Text(path).Text(data)).Int(flags)
}

// request returns the fields of a create request that asks for lock a.
func request() jute.Record { return create("/locks/a/lock-", "", jute.EphemeralSequential) }

func (c *client) children(path string) []string {
	c.t.Helper()
	a := c.mustAsk("", jute.GetChildren2, jute.Record(nil).Text(path).Flag(false))
	return a.Texts()
}

// session returns a request for the session with the given ID and a timeout in ms. ID 0 means a new session.
func (c *client) session(id int64, timeout int32) []string {
	r := jute.ConnectRequest{Timeout: timeout, Session: id, Password: noPassword}
	if id != 0 {
		r.Password = c.password
	}
	return []string{zookeeper.ReqEnter, string(r.Record())}
}

// enter requests a session once, and waits for the given time. It returns the session's ID, which is 0 if the session
// has ended. ok is false if there is no answer.
func (c *client) enter(d time.Duration, id int64, timeout int32) (now int64, ok bool) {
	record, _, whole, _ := jute.Cut(c.send(d, "", c.session(id, timeout)).Raw())
	f := jute.Fields{Rest: record, Torn: !whole}
	now, s := readSession(&f)
	c.password = s.password
	return now, !f.Torn
}

// connect keeps requesting new sessions until it gets one.
func (c *client) connect(timeout int32) int64 {
	for {
		if id, ok := c.enter(5*time.Second, 0, timeout); ok && id != 0 {
			return id
		}
		c.Close(sim.Conn{Server: c.server, N: c.n})
		c.n++
		c.Sleep(50 * time.Millisecond)
	}
}

// folder creates a lock's folder. If the connection ends in the meantime, it opens a new session.
func (c *client) folder(lock string) {
	for _, path := range []string{"/locks", "/locks/" + lock} {
		folder := create(path, "", jute.Persistent)
		a, ok := c.ask("", jute.Create2, folder)
		for ; !ok; a, ok = c.ask("", jute.Create2, folder) {
			c.n++
			c.connect(20_000)
		}
		if a.Code != "" && a.Code != zookeeper.NodeExists {
			c.t.Errorf("create2 %s: %s", path, string(a.Code))
		}
	}
}

// linesOf formats records without their times.
func linesOf(list []history.Event) (lines []string) {
	for _, e := range list {
		lines = append(lines, fmt.Sprintf("%s %s/%s of %s", e.F, e.Lock, e.Member, e.Of))
	}
	return lines
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
