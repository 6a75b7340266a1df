package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// stage puts processes of the host in the places of a scenario's clients. It is a [scenarios.Cast] and the handler of
// the front.
type stage struct {
	Options
	seed    uint64
	clock   *realtime.HostClock
	loop    *realtime.Loop
	world   *sim.World
	front   *realtime.Front
	clients []*client
	zero    sim.Time // when the scenario began
	servers []sim.ProcessID
	over    bool              // from now on processes end because we end them
	masters []sim.Server      // of Redis
	callers sim.Callers       // the user's clients, as servers know them that do not speak Redis' protocol; else nil
	serial  bool              // those servers answer the requests of a connection in turn
	groups  [][]sim.ProcessID // that hold the same data

	locks     []history.Lock
	standing  map[place]string // owner values
	refusal   history.Why      // of the resource
	ungranted int              // sections that no server has granted

	begun     bool      // the scenario has begun
	failed    error     // the first failure, and a bad end of the fleet, once the run has ended
	crashes   incidents // clients that ended by themselves
	incidents incidents // of other kinds
}

// apart is the time between the starts of the user's clients.
const apart = 30 * time.Millisecond

// Within carries out a run. It lasts as long in real time as in the world's.
func (st *stage) Within(run func()) { run() }

// Prepare gives the world the host's wall clock.
func (st *stage) Prepare(o *sim.Options) {
	o.Wall = st.clock.Begin().UnixNano()
	o.Endless, o.Keep = true, st.keep
}

// Client returns the task of a client: it waits until the process is done.
func (st *stage) Client(c *scenarios.Client, start time.Duration) func(sim.Env) {
	k := newClient(st, c, start)
	st.clients = append(st.clients, k)
	return func(env sim.Env) { env.Sleep(sim.Forever, &k.done) }
}

// Server returns the fleet's.
func (st *stage) Server(id sim.ProcessID, own sim.Server) sim.Server {
	s := st.Fleet.Server(id, own)
	if o := st.Scenario; st.onRedis() && slices.Contains(o.Clients[0].Lock.Servers, id) {
		st.masters = append(st.masters, s)
	}
	return s
}

func (st *stage) onRedis() bool { return st.Scenario.Servers.Backend == locks.OnRedis }

// Foreign reports whether the clients are the user's.
func (st *stage) Foreign() bool { return st.Command != "" }

// prime makes each master of Redis write something that leaves nothing behind. In virtual time the servers start as the
// scenario begins, and with appendfsync everysec write to disk no earlier than a second later; those that have been
// idle would do so at once, with the first write (flushAppendOnlyFile of aof.c).
func (st *stage) prime() {
	key := string(st.locks[0]) + ":fencepost:begin" // which no lock has, and which starts like the keys of the run
	for _, s := range st.masters {
		for _, args := range [][]string{{"SET", key, "1"}, {"DEL", key}} {
			s.Serve(sim.NewIncoming(history.Nemesis, 0, "", args, func([]byte) {}))
		}
	}
}

// Begin starts the processes and lets time pass until all are ready to begin.
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

// interruptible makes the end of the context end the run.
func (st *stage) interruptible() (stop func() bool) {
	return context.AfterFunc(st.Context, func() { st.loop.Fail(ErrInterrupted) })
}

// UndecidedError reports a run that decides nothing: a server ended by itself, or the host delayed every start.
type UndecidedError struct {
	Err     error
	Delayed bool // every start, after several
}

// Error says what happened.
func (e *UndecidedError) Error() string { return e.Err.Error() + ": the run is not judged" }

// ErrInterrupted reports a run whose context has ended.
var ErrInterrupted = errors.New("interrupted: the run is not judged")

// wholeSecond is the next time at which the wall clocks show a whole second, as they do at the start of a run in
// virtual time: an fsync each second depends on that, and a TTL is counted in ms.
func (st *stage) wholeSecond() sim.Time {
	at := st.clock.Begin().Add(st.world.Now().Duration() + notice)
	return st.world.Now() + history.Of(notice+at.Truncate(time.Second).Add(time.Second).Sub(at))
}

// notice is how long before their start clients of our own are notified of it, at least.
const notice = 50 * time.Millisecond

// ready reports whether the scenario can begin: all clients are there, with the connections that they have opened.
func (st *stage) ready() bool {
	return st.front.Settled() && !slices.ContainsFunc(st.clients, func(k *client) bool { return !k.isReady() })
}

func (st *stage) late() error {
	for _, k := range st.clients {
		if !k.isReady() {
			problem := fmt.Sprintf("has not reported FENCEPOST ACQUIRING lock within %v of its start", st.Patience)
			err := &ClientError{Client: k.id, Said: k.said.last(mostSaid), Problem: problem + k.strangers()}
			if st.Foreign() { // a program that never reports is more likely than a host this slow
				return err
			}
			return &process.LateError{Err: err}
		}
	}
	return nil
}

// Run lets events happen in real time.
func (st *stage) Run(limit sim.Time, done func() bool) (limited bool) {
	if st.loop.Err() != nil {
		return false
	}
	defer st.interruptible()()
	return st.loop.Run(limit, done)
}

// End ends the processes, and keeps the first failure for [Run], which must still get the history. It may be called
// again.
func (st *stage) End() error {
	if st.over || st.loop == nil {
		return nil
	}
	st.over = true
	for _, k := range st.clients {
		k.end()
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

// listen opens the ports of a client. It returns the client's environment.
func (st *stage) listen(k *client) ([]string, error) {
	env := []string{"FENCEPOST_CLIENT=" + string(k.id)}
	secret := st.front.Secret(k.id)
	masters := 0
	var endpoints []string
	for _, server := range append(slices.Clone(st.servers), history.Resource) {
		wired := st.callers != nil && server != history.Resource
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
	switch {
	case st.callers == nil:
	case st.Scenario.Servers.Backend == locks.OnEtcd:
		env = append(env, "FENCEPOST_ETCD=http://"+strings.Join(endpoints, ",http://"))
	default:
		env = append(env, "FENCEPOST_ZOOKEEPER="+strings.Join(endpoints, ","))
	}
	return env, nil
}

// variableOf is the variable that has the address of a server. The lock servers are numbered in their order.
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

// ClientError reports a client that violates the protocol of reports.
type ClientError struct {
	Client  sim.ProcessID
	Problem string
	Said    string // the end of what it printed
}

// Error says what it did, with the end of its output.
func (e *ClientError) Error() string {
	text := string(e.Client) + " " + e.Problem
	if e.Said != "" {
		text += "\nit printed:\n" + e.Said
	}
	return text
}

// The methods below are the handler of the front.

// Asked decides what to do with a request.
func (st *stage) Asked(c *realtime.Conn, args []string) {
	k := st.client(c.Client)
	if c.State == nil {
		c.State = &state{conn: c, client: k, said: redisserver.Stream{Book: k.book}}
	}
	c.State.(*state).asked(args)
}

// Malformed records bytes that are no command.
func (st *stage) Malformed(c *realtime.Conn, b []byte) {
	st.incidents.add(string(c.Client)+" malformed", fmt.Sprintf("%s sent %s bytes that are no command: %q; that "+
		"connection was closed", c.Client, c.Server, b))
}

// Forwarded names what simulated etcd does not offer.
func (st *stage) Forwarded(c *realtime.Conn, args []string) {
	if etcd.NotSimulated(args[0]) {
		st.incidents.add(string(c.Client)+args[0], fmt.Sprintf("%s asked for %s, which is not simulated, and was "+
			"refused", c.Client, args[0]))
	}
}

// Declined records why a connection was closed.
func (st *stage) Declined(c *realtime.Conn, why error) {
	st.incidents.add(string(c.Client)+why.Error(), fmt.Sprintf("%s asked %s for what was refused: %v; that connection "+
		"was closed", c.Client, c.Server, why))
}

// Received passes bytes to the client.
func (st *stage) Received(c *realtime.Conn, b []byte, to *sim.Incoming) {
	s, ok := c.State.(*state)
	if !ok {
		c.Send(b)
		return
	}
	s.received(b, to)
}

// Ended breaks or closes the connection.
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
