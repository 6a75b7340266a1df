package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// stage runs a scenario with processes on the host as its clients. It is a [scenarios.Cast], and it handles what the
// clients send to the front end.
type stage struct {
	Options
	seed    uint64
	clock   hostClock
	virtual *virtual // nil in real time
	loop    *realtime.Loop
	world   *sim.World
	front   *realtime.Front
	clients []*client
	zero    sim.Time // start of the scenario
	servers []sim.ProcessID
	over    bool              // whether the run has ended; from then on, processes end only because the run ends them
	masters []sim.Server      // the masters of Redis
	callers sim.Callers       // the user's clients, for servers with a protocol other than that of Redis; otherwise nil
	serial  bool              // whether such servers answer the requests on a connection in order
	groups  [][]sim.ProcessID // groups of servers that hold the same data

	locks     []history.Lock
	standing  map[place]owned // owner values of all existing keys
	ungranted int             // number of reported grants for which no server has set a key

	begun     bool      // whether the scenario has begun
	failed    error     // the first failure of the run, and the failure to end the fleet; set when the run has ended
	crashes   incidents // clients that ended by themselves
	incidents incidents // other incidents
}

// hostClock is the clock of the loop that drives a run.
type hostClock interface {
	realtime.Clock
	Begin() time.Time // the instant at which this clock showed zero
	Monotonic() int64 // what the monotonic clock of the clients' programs showed at that instant, in ns
	Close()
}

// startInterval is the delay between starting one of the user's clients and starting the next.
const startInterval = 30 * time.Millisecond

// Within calls run. In real time, there is nothing to prepare.
func (st *stage) Within(run func()) { run() }

// Prepare makes the world use the host's wall clock.
func (st *stage) Prepare(o *sim.Options) {
	o.Wall = st.clock.Begin().UnixNano()
	o.Endless, o.Keep = true, st.keep
	if st.virtual != nil {
		o.Endless, o.Stacks = false, &st.virtual.stacks
	}
}

// Client returns the main function of a client's task, which waits for the client's process to end.
func (st *stage) Client(c *scenarios.Client, start time.Duration) func(sim.Env) {
	k := newClient(st, c, start)
	st.clients = append(st.clients, k)
	return func(env sim.Env) { env.Sleep(sim.Forever, &k.done) }
}

// Server returns the server that the fleet uses in place of own, which is a simulated server.
func (st *stage) Server(id sim.ProcessID, own sim.Server) sim.Server {
	s := st.Fleet.Server(id, own)
	if o := st.Scenario; st.onRedis() && slices.Contains(o.Clients[0].Lock.Servers, id) {
		st.masters = append(st.masters, s)
	}
	return s
}

func (st *stage) onRedis() bool { return st.Scenario.Servers.RedisNodes() }

// Foreign reports whether the clients are the user's programs.
func (st *stage) Foreign() bool { return st.Command != "" }

// prime makes each Redis master write a key and delete it again, so that the first sync in the scenario comes as late
// as in virtual time. A real server that has been idle syncs to disk immediately on its first write
// (flushAppendOnlyFile in aof.c). In virtual time, servers start together with the scenario, so with appendfsync
// everysec, the first sync is at least a second later.
func (st *stage) prime() {
	// the key does not belong to any lock, but begins like a lock's key
	key := string(st.locks[0]) + ":fencepost:begin"
	for _, s := range st.masters {
		for _, args := range [][]string{{"SET", key, "1"}, {"DEL", key}} {
			s.Serve(sim.NewIncoming(history.Nemesis, 0, "", args, func([]byte) {}))
		}
	}
}

// Begin starts the processes, and waits until all of them are ready.
func (st *stage) Begin(w *sim.World, servers []sim.ProcessID) {
	st.world, st.servers = w, servers
	st.loop = realtime.NewLoop(w, st.clock)
	st.front = realtime.NewFront(st.loop, st)
	if st.Foreign() && !st.onRedis() {
		front := st.Fleet.Front(st.Scenario.Servers.Front())
		st.callers, st.serial = front.Begin(), front.Serial()
		st.follow()
	}
	err := st.Fleet.Begin(st.loop)
	for _, k := range st.clients {
		if err == nil {
			err = k.start()
		}
	}
	if err != nil {
		st.loop.Fail(err)
		return
	}
	defer st.interruptible()()
	if limited := st.loop.Run(history.Of(st.Patience), st.ready); limited {
		st.loop.Fail(st.late())
		return
	}
	if st.loop.Err() != nil {
		return
	}
	st.zero, st.begun = st.wholeSecond(), true
	for i, k := range st.clients {
		k.begin(i)
	}
	st.loop.Run(st.zero, nil)
	st.prime()
}

// interruptible ends the run when its context is done.
func (st *stage) interruptible() (stop func() bool) {
	return context.AfterFunc(st.Context, func() { st.loop.Fail(ErrInterrupted) })
}

// UndecidedError reports that a run cannot be judged: a server ended on its own, or the host delayed every attempt to
// start the run.
type UndecidedError struct {
	Err     error
	Delayed bool // whether the host delayed every one of several attempts to start
}

// Error says what happened, and that the run was not judged.
func (e *UndecidedError) Error() string { return e.Err.Error() + ": the run was not judged" }

// ErrInterrupted reports that a run's context was canceled.
var ErrInterrupted = errors.New("interrupted: the run was not judged")

// wholeSecond returns the next time at which the wall clocks show a whole second. In virtual time, a run starts at a
// whole second. The fraction of a second affects TTLs, which are in ms, and the time of an fsync that happens once a
// second.
func (st *stage) wholeSecond() sim.Time {
	at := st.clock.Begin().Add(st.world.Now().Duration() + notice)
	return st.world.Now() + history.Of(notice+at.Truncate(time.Second).Add(time.Second).Sub(at))
}

// notice is the minimum time between notifying Fencepost's own clients and starting the scenario.
const notice = 50 * time.Millisecond

// ready reports whether the scenario can begin: all clients are ready, and all their connections are set up.
func (st *stage) ready() bool {
	return st.front.Settled() && !slices.ContainsFunc(st.clients, func(k *client) bool { return !k.isReady() })
}

// late returns the error for a run whose clients were not ready in time.
func (st *stage) late() error {
	for _, k := range st.clients {
		if !k.isReady() {
			problem := fmt.Sprintf("has not reported FENCEPOST ACQUIRING lock within %v of its start", st.Patience)
			if k.traced != nil {
				problem += k.waits()
			}
			err := &ClientError{Client: k.id, Said: k.said.last(mostSaid), Problem: problem + k.advice()}
			if st.Foreign() { // Most likely the program never reports. The host is hardly this slow.
				return err
			}
			return &process.LateError{Err: err}
		}
	}
	return &process.LateError{Err: fmt.Errorf("some connections were not open within %v of the start of the clients",
		st.Patience)}
}

// Run runs the world in real time.
func (st *stage) Run(limit sim.Time, done func() bool) (limited bool) {
	if st.loop.Err() != nil {
		return false
	}
	defer st.interruptible()()
	return st.loop.Run(limit, done)
}

// End ends the processes. It saves the first failure for [Run], which also needs the history. It may be called more
// than once.
func (st *stage) End() error {
	if st.over || st.loop == nil {
		return nil
	}
	st.over = true
	for _, k := range st.clients {
		k.end()
	}
	if st.virtual != nil {
		st.virtual.end()
	}
	st.front.Close()
	st.clock.Close()
	st.failed = errors.Join(st.loop.Err(), st.Fleet.End())
	return nil
}

func (st *stage) client(id sim.ProcessID) *client {
	at := slices.IndexFunc(st.clients, func(k *client) bool { return k.id == id })
	if at < 0 {
		return nil
	}
	return st.clients[at]
}

// listen opens a client's ports, and returns environment variables that contain their addresses.
func (st *stage) listen(k *client) ([]string, error) {
	env := []string{"FENCEPOST_CLIENT=" + string(k.id)}
	if st.virtual != nil {
		st.front.Share(k.id, virtualSecret)
	}
	secret := st.front.Secret(k.id)
	masters := 0
	var endpoints []string
	for _, server := range append(slices.Clone(st.servers), history.Resource) {
		wired := st.wires(server)
		if st.virtual != nil {
			at := st.virtual.address(server)
			if wired {
				endpoints = append(endpoints, at.String())
				continue
			}
			k.ports[server] = redisserver.Address{Host: at.Addr().String(), Port: strconv.Itoa(int(at.Port()))}
			env = append(env, variableOf(server, &masters)+"=redis://:"+secret+"@"+at.String())
			continue
		}
		at, err := st.front.Listen(st.Host, k.id, server, k.wiring(wired))
		if err != nil {
			return nil, err
		}
		if wired {
			endpoints = append(endpoints, at.String())
			continue
		}
		k.ports[server] = redisserver.Address{Host: at.IP.String(), Port: strconv.Itoa(at.Port)}
		env = append(env, variableOf(server, &masters)+"=redis://:"+secret+"@"+at.String())
	}
	if st.callers != nil {
		env = append(env, st.Scenario.Servers.Variable(endpoints))
	}
	return env, nil
}

// wires reports whether a server speaks a protocol other than Redis's.
func (st *stage) wires(server sim.ProcessID) bool {
	return st.callers != nil && server != history.Resource
}

// variableOf returns the name of the environment variable for a server's address. Lock servers are numbered in order,
// and *numbered counts them.
func variableOf(server sim.ProcessID, numbered *int) string {
	switch server {
	case history.Resource:
		return "FENCEPOST_RESOURCE"
	case scenarios.Observer:
		return "FENCEPOST_SENTINEL"
	}
	*numbered++
	return fmt.Sprintf("FENCEPOST_REDIS_%d", *numbered)
}

// ClientError reports that a client violated the report protocol.
type ClientError struct {
	Client  sim.ProcessID
	Problem string
	Said    string // the end of the client's output
}

// Error describes what the client did, followed by the end of its output.
func (e *ClientError) Error() string {
	text := string(e.Client) + " " + e.Problem
	if e.Said != "" {
		text += "\nit printed:\n" + e.Said
	}
	return text
}

// The methods below handle what the clients send to the front end.

// Asked handles a client's request.
func (st *stage) Asked(c *realtime.Conn, args []string) {
	k := st.client(c.Client)
	if c.State == nil {
		c.State = &state{conn: c, client: k, said: redisserver.Stream{Book: k.book}}
	}
	c.State.(*state).asked(args)
}

// Malformed records that a client sent bytes that are not a command.
func (st *stage) Malformed(c *realtime.Conn, b []byte) {
	if beginsTLS(b) {
		st.client(c.Client).wanted = append(st.client(c.Client).wanted, "to speak TLS to "+string(c.Server))
		st.incidents.add(string(c.Client)+" TLS", fmt.Sprintf("%s started TLS with %s, but the servers of a run do "+
			"not support TLS: give the client's library the redis:// URL unchanged", c.Client, c.Server))
		return
	}
	st.incidents.add(string(c.Client)+" malformed", fmt.Sprintf("%s sent %s bytes that are not a command: "+
		"%q; the connection was closed", c.Client, c.Server, b))
}

// beginsTLS reports whether b is the beginning of a TLS handshake.
func beginsTLS(b []byte) bool { return len(b) > 1 && b[0] == 22 && b[1] == 3 }

// Forwarded records that a client sent a request that simulated etcd does not support.
func (st *stage) Forwarded(c *realtime.Conn, args []string) {
	if etcd.NotSimulated(args[0]) {
		st.incidents.add(string(c.Client)+args[0], fmt.Sprintf("%s sent %s, "+
			"which is not simulated, so it was refused", c.Client, args[0]))
	}
}

// Declined records why the front end closed a connection.
func (st *stage) Declined(c *realtime.Conn, why error) {
	st.incidents.add(string(c.Client)+why.Error(), fmt.Sprintf("a request from %s to %s was refused: %v; "+
		"the connection was closed", c.Client, c.Server, why))
}

// Received passes a server's bytes on to the client.
func (st *stage) Received(c *realtime.Conn, b []byte, to *sim.Incoming) {
	s, ok := c.State.(*state)
	if !ok {
		c.Send(b)
		return
	}
	s.received(b, to)
}

// Ended resets or closes the client's connection, depending on how the server ended it.
func (st *stage) Ended(c *realtime.Conn, how sim.Status) {
	s, ok := c.State.(*state)
	if ok {
		s.broke()
	}
	switch {
	case ok && s.framed && how == sim.Refused:
		c.Send(realtime.AppendFrame(nil, realtime.FrameRefused, nil))
		c.Close()
	case how == sim.NoReply:
		c.Close()
	default:
		c.Reset()
	}
}

var _ interface {
	scenarios.Cast
	realtime.Handler
} = (*stage)(nil)
