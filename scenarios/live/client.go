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
)

// client is a process in the place of a scenario's client, as the world has it: it is a [sim.Outside].
type client struct {
	stage   *stage
	id      sim.ProcessID
	config  *scenarios.Client
	locks   []history.Lock // in the order in which it is to take them
	latest  history.Lock   // the one that it has last asked for
	starts  time.Duration  // after the scenario's start
	ports   map[sim.ProcessID]redisserver.Address
	book    *redisserver.Book // the ports for the names of servers
	process *process.Process
	started chan struct{} // closed when there is a process, or will be none
	caller  sim.Caller    // as servers know it that do not speak Redis' protocol; else nil
	heard   sim.Time      // when the latest request left that such a server has answered
	*realtime.Guest
	said tail
	done sim.Signal

	first    func() // starts its first section; nil until it has asked for that
	after    []func()
	begun    bool // its first section
	served   bool // its first request for a lock was answered, granted or not
	holds    map[history.Lock]*hold
	attempts int
	alive    sim.Time // its process is known to have lived until then
	control  *state   // of one of our own: where it learns about its clocks
}

// hold is the state of a client and one lock.
type hold struct {
	step    word
	attempt history.Attempt // the latest
	word    string          // the client's name for it, once it is granted
	token   history.Token
	yes     []*yes
	values  []string // owner values of the attempt
	old     []owned  // of earlier ones, the latest last
	section int      // how many there were
	granted history.Attempt
	read    string // the latest value that it has read

	extending bool      // an extension is under way
	asked     sim.Time  // when the latest extension began
	ends      *sim.Time // when the session with ZooKeeper ends, as long as the client has the lock; else nil
}

// owned is an owner value of an attempt.
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

// wiring is what stands at a client's ports, if they are of another protocol than Redis': nobody but a process of its
// own can use them.
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

// inherited is the environment of this process, as its clients get it.
func (st *stage) inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return st.Hidden != "" && strings.HasPrefix(v, st.Hidden+"=")
	})
}

// isReady reports whether the client waits to begin.
func (k *client) isReady() bool { return k.first != nil }

// begin starts the first section, the i-th of all.
func (k *client) begin(i int) {
	if k.stage.Command == "" {
		k.control.reply(strconv.AppendInt(nil, int64(k.stage.zero+history.Of(k.starts)), 10))
		return
	}
	k.starts = time.Duration(i) * apart
	// when the plan starts: the first to begin passes points too
	k.stage.world.At(k.stage.zero+history.Of(k.starts)+1, func() { k.inTurn(k.first) })
}

// How much later than planned a client begins, at most, so that those before it are served first, as they are in
// virtual time: on Redis, and where being served takes several requests.
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

// inTurn starts the first section of the client when those before it are served, are paused, or take too long.
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

// exited handles the end of the process. What it had sent comes first.
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
			k.stage.crashes.add(string(k.id), fmt.Sprintf("%s %s: it counts as crashed", k.id,
				strings.TrimSpace(how+" "+problem)))
			w.Crash(k.id)
		}
	})
}

// unfinished says what a client that ends now has left undone.
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

// strangers reports that somebody has connected to the client's ports without the password: maybe the client itself.
func (k *client) strangers() string {
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

// fails ends the run because of the client's fault.
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

// Crashed kills the process. If it had ended before, it was noticed too late to say when.
func (k *client) Crashed() (alive sim.Time) {
	if k.Kill() {
		return 0
	}
	return max(k.alive, k.stage.zero+1)
}

// Resume continues the process, and then what was held back.
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

// Jumped notifies one of our own that its wall clock has jumped.
func (k *client) Jumped(d time.Duration) { k.clock("JUMP", int64(d)) }

// Drifted notifies one of our own that its clocks run at another rate.
func (k *client) Drifted(ppm int64) { k.clock("DRIFT", ppm) }

func (k *client) clock(what string, n int64) {
	if k.control == nil {
		k.stage.loop.Fail(errors.New(string(k.id) + " has clocks that no fault reaches"))
		return
	}
	k.control.conn.Send(realtime.AppendFrame(nil, realtime.FramePush, []byte(what+" "+strconv.FormatInt(n, 10))))
}

// then does something on behalf of the client as soon as it is not paused.
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

// pass lets the client pass a point, and then go on.
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

// tail keeps the end of what a process prints.
type tail struct {
	mu   sync.Mutex
	text []byte
	lost int // bytes before it
}

// How much of a client's output is kept, and how much of that an error shows, in bytes.
const (
	mostKept = 256 << 10
	mostSaid = 4 << 10
)

// Write takes all of p.
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

// all is what is kept, with a note of how much is not. Passwords of URLs are left out.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := WithoutPasswords(string(t.text))
	if t.lost > 0 {
		text = fmt.Sprintf("(the first %d bytes are not kept)\n%s", t.lost, text)
	}
	return text
}

// last is the last n bytes.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return WithoutPasswords(string(t.text[max(len(t.text)-n, 0):]))
}
