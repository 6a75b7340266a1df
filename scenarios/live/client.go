package live

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// client is a process that acts as a client of the scenario in the world. It is a [sim.Outside].
type client struct {
	stage   *stage
	id      sim.ProcessID
	config  *scenarios.Client
	locks   []history.Lock // the locks that it acquires, in order
	latest  history.Lock   // the lock that it requested last
	starts  time.Duration  // start of its work, counted from the start of the scenario
	ports   map[sim.ProcessID]redisserver.Address
	book    *redisserver.Book // addresses of servers, translated to the client's ports
	process *process.Process  // in real time
	traced  *traced.Process   // in virtual time
	wanted  []string          // what it did not get, in virtual time
	started chan struct{}     // closed when the process was started, or could not be
	caller  sim.Caller        // the client as seen by servers whose protocol is not Redis'; otherwise nil
	heard   sim.Time          // send time of the latest request that such a server has answered
	*realtime.Guest
	said tail
	done sim.Signal

	first    func() // starts its first section; nil until the client has asked to begin
	after    []func()
	begun    bool // its first section has begun
	served   bool // its first acquire has ended, granted or not
	holds    map[history.Lock]*hold
	attempts int
	alive    sim.Time // time until which its process is known to have lived
	control  *state   // for a client of our own: the connection on which it learns about its clocks
}

// hold is the state of one client with respect to one lock.
type hold struct {
	step    word
	attempt history.Attempt // the latest attempt
	word    string          // the client's own name for the attempt, once the lock is granted
	token   history.Token
	yes     []*yes
	values  []string // owner values of the attempt
	old     []owned  // owner values of earlier attempts, the latest last
	section int      // number of sections so far
	granted history.Attempt
	read    string // the latest value that it has read from the resource

	extending bool      // an extension is under way
	asked     sim.Time  // start of the latest extension
	ends      *sim.Time // end of its ZooKeeper session, while it has the lock; otherwise nil
}

// owned is an owner value together with its attempt.
type owned struct {
	value string
	of    history.Attempt
}

func newClient(st *stage, c *scenarios.Client, start time.Duration) *client {
	names := c.Work.Locks
	if len(names) == 0 {
		names = []history.Lock{c.Lock.Key}
	}
	return &client{stage: st, id: c.ID, config: c, locks: names, starts: start,
		started: make(chan struct{}), ports: map[sim.ProcessID]redisserver.Address{}, holds: map[history.Lock]*hold{}}
}

// start starts the process.
func (k *client) start() error {
	defer close(k.started)
	if of := k.stage.callers; of != nil {
		k.caller = of.Caller(k.id)
	}
	env, err := k.stage.listen(k)
	if err != nil {
		return err
	}
	if v := k.stage.virtual; v != nil {
		k.book = k.reached()
		return v.start(k, append(env, k.work()...))
	}
	command := k.stage.Own
	env = append(env, fmt.Sprintf("%s=%d", zeroVariable, k.stage.clock.Monotonic()))
	if k.stage.Command == "" {
		env = append(env, command.Env...)
	} else {
		command.Path, command.Args = "", []string{"/bin/sh", "-c", k.stage.Command}
		env = append(env, k.work()...)
		k.book = k.reached()
	}
	command.Env, command.Output = append(k.stage.inherited(), env...), &k.said
	if command.Dir, err = os.Getwd(); err != nil {
		return err
	}
	if k.process, err = k.stage.Keeper.Start(command); err != nil {
		return fmt.Errorf("%s could not be started: %w", k.id, err)
	}
	k.Guest = realtime.NewGuest(k.stage.front, k.id, k.process)
	k.stage.world.Attach(k.id, k)
	go func() {
		err := k.process.Wait()
		k.stage.loop.Do(func() { k.exited(err) })
	}()
	return nil
}

// wiring returns the settings of a client's ports if their protocol is not Redis'. Only processes of the client's own
// process group can use such ports.
func (k *client) wiring(wired bool) *realtime.Wiring {
	if !wired {
		return nil
	}
	return &realtime.Wiring{Caller: k.caller, Serial: k.stage.serial,
		Admits: func(from, to netip.AddrPort) bool {
			<-k.started
			return k.process != nil && k.process.GroupHolds(process.SocketOf(from, to))
		}}
}

// inherited returns the variables of this process that its clients inherit.
func (st *stage) inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return st.Hidden != "" && strings.HasPrefix(v, st.Hidden+"=")
	})
}

// isReady reports whether the client is waiting to begin.
func (k *client) isReady() bool { return k.first != nil }

// begin starts the first section. i is the client's index among all clients.
func (k *client) begin(i int) {
	if k.stage.Command == "" {
		k.control.reply(strconv.AppendInt(nil, int64(k.stage.zero+history.Of(k.starts)), 10))
		return
	}
	k.starts = time.Duration(i) * apart
	// the start of the plan: the first client must also pass its points
	k.stage.world.At(k.stage.zero+history.Of(k.starts)+1, func() { k.inTurn(k.first) })
}

// These are the longest times by which a client may begin later than planned, so that the clients before it are served
// first, as in virtual time. patient is for Redis, and morePatient for services in which several requests are needed to
// acquire a lock.
const (
	patient     = 100 * time.Millisecond
	morePatient = 2 * time.Second
)

func (k *client) patience() time.Duration {
	if k.caller != nil {
		return morePatient
	}
	return patient
}

// inTurn calls f, the client's first section, once the clients before it are served or paused, or take too long.
func (k *client) inTurn(f func()) {
	w := k.stage.world
	waits := w.Now() < k.stage.zero+history.Of(k.starts+k.patience()) &&
		slices.ContainsFunc(k.stage.clients, func(o *client) bool {
			return o.starts < k.starts && !o.served && !w.Paused(o.id) && !w.Down(o.id)
		})
	if waits {
		w.At(w.Now()+history.Of(time.Millisecond), func() { k.inTurn(f) })
		return
	}
	k.then(f)
}

// exited handles the end of the process, after everything that the process had sent.
func (k *client) exited(err error) {
	w := k.stage.world
	if k.stage.over || w.Down(k.id) {
		return
	}
	k.stage.front.Drain(k.id)
	w.At(w.Now(), func() {
		how, problem := "ended", k.unfinished()
		if err != nil {
			how = err.Error()
		}
		switch {
		case err == nil && problem == "":
			k.done.Raise()
		case !k.stage.begun || k.stage.Command == "":
			k.fails(strings.TrimSpace(how + " " + problem + k.strangers()))
		default:
			k.stage.crashes.add(string(k.id), fmt.Sprintf("%s %s, so it counts as crashed", k.id,
				strings.TrimSpace(how+" "+problem)))
			w.Crash(k.id)
		}
	})
}

// unfinished describes what the client has left undone if it ends now, or returns "" if nothing is left.
func (k *client) unfinished() string {
	if k.first == nil {
		return "before its first report, which is FENCEPOST ACQUIRING lock"
	}
	for lock, h := range k.holds {
		switch h.step {
		case acquiring:
			return fmt.Sprintf("while it was acquiring %s: report FAILED first", lock)
		case acquired, releasing:
			return fmt.Sprintf("although it had not reported RELEASED for %s", lock)
		}
	}
	return ""
}

// strangers describes how many connections to the client's ports were refused because they did not give the password.
// The client itself may have opened them.
func (k *client) strangers() string {
	if k.traced != nil {
		return k.denied()
	}
	n := k.stage.front.Refused(k.id)
	if n == 0 {
		return ""
	}
	if k.caller != nil {
		return fmt.Sprintf(" (connections to its ports that were opened by a process outside of its process group, or "+
			"did not give the password of FENCEPOST_RESOURCE, and were refused: %d)", n)
	}
	return fmt.Sprintf(" (connections to its ports that did not give the password of the URLs in its environment, and "+
		"were refused: %d; it must give its library the whole URL)", n)
}

// fails ends the run because of an error of the client.
func (k *client) fails(problem string) {
	k.stage.loop.Fail(&ClientError{Client: k.id, Problem: problem, Said: k.said.last(mostSaid)})
}

// end ends the process.
func (k *client) end() {
	if k.process != nil {
		if err := k.process.Kill(); err == nil {
			k.process.Wait()
		}
	}
}

// Crashed kills the process. If the process had already ended by itself, the time of its end is unknown; alive is then
// the last time at which it is known to have lived.
func (k *client) Crashed() (alive sim.Time) {
	if k.Kill() {
		return 0
	}
	return max(k.alive, k.stage.zero+1)
}

// Resume continues the process, and then the actions that were postponed during its pause.
func (k *client) Resume() {
	k.Guest.Resume()
	w := k.stage.world
	w.At(w.Now(), func() {
		for len(k.after) > 0 && !w.Paused(k.id) {
			f := k.after[0]
			k.after = k.after[1:]
			f()
		}
	})
}

// Jumped notifies a client of our own that its wall clock has jumped.
func (k *client) Jumped(d time.Duration) {
	if k.traced != nil {
		k.traced.Jump(d)
		return
	}
	k.clock("JUMP", int64(d))
}

// Drifted notifies a client of our own that its clocks run at another rate.
func (k *client) Drifted(ppm int64) {
	if k.traced != nil {
		k.traced.Drift(ppm)
		return
	}
	k.clock("DRIFT", ppm)
}

func (k *client) clock(what string, n int64) {
	if k.control == nil {
		k.stage.loop.Fail(errors.New(string(k.id) + " has clocks that no fault can change"))
		return
	}
	k.control.conn.Send(realtime.AppendFrame(nil, realtime.FramePush, []byte(what+" "+strconv.FormatInt(n, 10))))
}

// then calls f on behalf of the client, as soon as the client is not paused. It does nothing if the client has
// crashed.
func (k *client) then(f func()) {
	w := k.stage.world
	switch {
	case w.Down(k.id):
	case w.Paused(k.id):
		k.after = append(k.after, f)
	default:
		f()
	}
}

// pass makes the client pass a point, and then calls f.
func (k *client) pass(p sim.Point, f func()) {
	k.stage.world.Pass(k.id, p)
	k.then(f)
}

func (k *client) record(e history.Event) {
	k.served = k.served || e.F == history.Acquire && e.Type != history.Invoke
	k.stage.world.Record(k.id, e)
}

// recordGrant records an event with its grant.
func (k *client) recordGrant(e history.Event, g sim.Grant) {
	k.served = true
	k.stage.world.RecordGrant(k.id, e, g)
}

// tail keeps the end of a process's output.
type tail struct {
	mu   sync.Mutex
	text []byte
	lost int // number of bytes dropped before text
}

// These are the number of bytes of a client's output that are kept, and the number that an error shows.
const (
	mostKept = 256 << 10
	mostSaid = 4 << 10
)

// Write accepts all of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - mostKept; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
		t.lost += over
	}
	return len(p), nil
}

// replace replaces the text that was kept.
func (t *tail) replace(p []byte) {
	t.mu.Lock()
	t.text, t.lost = nil, 0
	t.mu.Unlock()
	t.Write(p)
}

// all returns the output that was kept, without the passwords of URLs, and says how much is missing.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := WithoutPasswords(string(t.text))
	if t.lost > 0 {
		text = fmt.Sprintf("(the first %d bytes are omitted)\n%s", t.lost, text)
	}
	return text
}

// last returns the last n bytes, without the passwords of URLs.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return WithoutPasswords(string(t.text[max(len(t.text)-n, 0):]))
}
