package live

import (
	"fmt"
	"maps"
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

// client is a scenario client whose work is done by a process on the host. It is a [sim.Outside].
type client struct {
	stage   *stage
	id      sim.ProcessID
	config  *scenarios.Client
	locks   []history.Lock // the locks that the client acquires, in order
	latest  history.Lock   // the lock that the client requested last
	starts  time.Duration  // start of the client's work, measured from the start of the scenario
	ports   map[sim.ProcessID]redisserver.Address
	book    *redisserver.Book // server addresses, and the client's ports for them
	process *process.Process  // set in real time
	traced  *traced.Process   // set in virtual time
	wanted  []string          // in virtual time: what the client asked for and did not get
	started chan struct{}     // closed when the process has started or has failed to start
	caller  sim.Caller        // the client as seen by servers with a protocol other than Redis's; otherwise nil
	heard   sim.Time          // when the latest request answered by such a server was sent
	*realtime.Guest
	said tail
	done sim.Signal

	first    func() // starts the client's first section; nil until the client has asked to begin
	after    []func()
	begun    bool // whether its first section has begun
	served   bool // whether its first acquire has ended, granted or not
	holds    map[history.Lock]*hold
	attempts int
	alive    sim.Time // the latest time at which its process is known to have been alive
	control  *state   // for Fencepost's own clients: the connection that carries notifications about the clocks
}

// hold is a client's state for one lock: whether it has the lock, and what the servers have granted.
type hold struct {
	step    word
	attempt history.Attempt // the latest attempt
	word    string          // the client's own name for the attempt; empty until the lock is granted
	token   history.Token
	yes     []*keyGrant
	values  []string // owner values set by the attempt
	old     []owned  // earlier attempts' owner values, in order
	section int      // number of sections so far
	granted history.Attempt
	read    string // the latest value that the client read from the resource

	extending bool      // whether an extension is under way
	asked     sim.Time  // start of the latest extension
	ends      *sim.Time // end of the client's ZooKeeper session, while it holds the lock; otherwise nil
}

// owned is an owner value and the attempt that set it.
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

// wiring returns the settings of a client's ports, or nil if the ports speak Redis's protocol. wired is true if they
// speak another protocol. Only processes in the client's process group can use such ports.
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

// inherited returns this process's environment variables that its clients inherit.
func (st *stage) inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return st.Hidden != "" && strings.HasPrefix(v, st.Hidden+"=")
	})
}

// isReady reports whether the client is waiting to begin.
func (k *client) isReady() bool { return k.first != nil }

// begin lets the client start its first section. i is the client's index among all clients.
func (k *client) begin(i int) {
	if k.stage.Command == "" {
		k.control.reply(strconv.AppendInt(nil, int64(k.stage.zero+history.Of(k.starts)), 10))
		return
	}
	k.starts = time.Duration(i) * startInterval
	// The fault plan starts at the instant k.stage.zero. The first client begins just after that, so that faults can
	// strike even its first steps.
	k.stage.world.At(k.stage.zero+history.Of(k.starts)+1, func() { k.inTurn(k.first) })
}

// A client does not start until the servers have served the clients before it, so that the clients start in the same
// order as in virtual time. patient limits this delay for Redis, and morePatient for services in which an acquire takes
// several requests.
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

// inTurn calls f, which starts the client's first section, when it is the client's turn: all earlier clients have been
// served, or are paused or down. If this takes too long, inTurn does not wait any longer.
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
	k.afterPause(f)
}

// exited handles the end of the process, after everything that the process has sent.
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
			k.fails(strings.TrimSpace(how + " " + problem + k.advice()))
		default:
			k.stage.crashes.add(string(k.id), fmt.Sprintf("%s %s, so it counts as crashed", k.id,
				strings.TrimSpace(how+" "+problem)))
			w.Crash(k.id)
		}
	})
}

// unfinished says which report would still be missing if the client ended now. It returns "" if none would be.
func (k *client) unfinished() string {
	if k.first == nil {
		return "before its first report, which is FENCEPOST ACQUIRING lock"
	}
	for _, lock := range slices.Sorted(maps.Keys(k.holds)) {
		switch k.holds[lock].step {
		case acquiring:
			return fmt.Sprintf("before it reported FENCEPOST ACQUIRED %s or FENCEPOST FAILED %[1]s", lock)
		case acquired, releasing:
			return fmt.Sprintf("before it reported FENCEPOST RELEASED %s", lock)
		}
	}
	return ""
}

// advice tells the user what to do about a client that has ended, or that has not made its first report in time.
func (k *client) advice() string {
	if refused := k.strangers(); refused != "" || k.isReady() || k.stage.Command == "" {
		return refused
	}
	return ": a client must send this command to FENCEPOST_RESOURCE before it asks for the lock (see fencepost live -h)"
}

// strangers says how many connections to the client's ports were refused because they could not be authenticated. The
// client itself may have opened them. It returns "" if there were none.
func (k *client) strangers() string {
	if k.traced != nil {
		return k.denied()
	}
	n := k.stage.front.Refused(k.id)
	if n == 0 {
		return ""
	}
	if k.caller != nil {
		return fmt.Sprintf(" (connections to its ports were refused: %d; "+
			"each was opened by a process outside of its process group, "+
			"or did not give the password of FENCEPOST_RESOURCE)", n)
	}
	return fmt.Sprintf(" (connections to its ports were refused: %d; "+
		"they did not give the password of the URLs in its environment: give the client's library the whole URL)", n)
}

// fails ends the run with a client error.
func (k *client) fails(problem string) {
	k.stage.loop.Fail(&ClientError{Client: k.id, Problem: problem, Said: k.said.last(mostSaid)})
}

func (k *client) end() {
	if k.process != nil {
		if err := k.process.Kill(); err == nil {
			k.process.Wait()
		}
	}
}

// Crashed kills the process. If the process had already ended on its own, no one knows when, so Crashed returns the
// last time at which it was known to be alive. Otherwise it returns 0.
func (k *client) Crashed() (alive sim.Time) {
	if k.Kill() {
		return 0
	}
	return max(k.alive, k.stage.zero+1)
}

// Resume resumes the process, and then performs the actions postponed by the pause.
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

// Jumped makes the client's wall clock jump by d. In virtual time, it changes the clock of the client's process. In
// real time, it notifies the process if that is one of Fencepost's own clients. Otherwise the run fails, because the
// clocks of a user's process cannot be changed in real time.
func (k *client) Jumped(d time.Duration) {
	if k.traced != nil {
		k.traced.Jump(d)
		return
	}
	k.clock("JUMP", int64(d))
}

// Drifted makes the client's clocks run at a different rate. In virtual time, it changes the clock rate of the client's
// process. In real time, it notifies the process if that is one of Fencepost's own clients. Otherwise the run fails,
// because the clocks of a user's process cannot be changed in real time.
func (k *client) Drifted(ppm int64) {
	if k.traced != nil {
		k.traced.Drift(ppm)
		return
	}
	k.clock("DRIFT", ppm)
}

func (k *client) clock(what string, n int64) {
	if k.control == nil {
		k.stage.loop.Fail(fmt.Errorf("%s has clocks that no fault can change", k.id))
		return
	}
	k.control.conn.Send(realtime.AppendFrame(nil, realtime.FramePush, []byte(what+" "+strconv.FormatInt(n, 10))))
}

// afterPause calls f, one of the client's actions. If the client is paused, f is called when the pause ends. If the
// client has crashed, f is not called.
func (k *client) afterPause(f func()) {
	w := k.stage.world
	switch {
	case w.Down(k.id):
	case w.Paused(k.id):
		k.after = append(k.after, f)
	default:
		f()
	}
}

// pass records that the client has reached a point at which a fault may strike, and then calls f.
func (k *client) pass(p sim.Point, f func()) {
	k.stage.world.Pass(k.id, p)
	k.afterPause(f)
}

func (k *client) record(e history.Event) {
	k.served = k.served || e.F == history.Acquire && e.Type != history.Invoke
	k.stage.world.Record(k.id, e)
}

func (k *client) recordGrant(e history.Event, g sim.Grant) {
	k.served = true
	k.stage.world.RecordGrant(k.id, e, g)
}

// tail stores the end of a process's output.
type tail struct {
	mu   sync.Mutex
	text []byte
	lost int // number of bytes that were dropped before text
}

// mostKept is the maximum number of bytes of a client's output to store. mostSaid is the maximum to show in an error.
const (
	mostKept = 256 << 10
	mostSaid = 4 << 10
)

// Write implements io.Writer. It accepts all of p.
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

func (t *tail) replace(p []byte) {
	t.mu.Lock()
	t.text, t.lost = nil, 0
	t.mu.Unlock()
	t.Write(p)
}

// all returns the stored output, hiding the passwords in URLs. If part of the output was dropped, it says how much.
func (t *tail) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := WithoutPasswords(string(t.text))
	if t.lost > 0 {
		text = fmt.Sprintf("(the first %d bytes are omitted)\n%s", t.lost, text)
	}
	return text
}

// last returns the last n bytes of the output, hiding the passwords in URLs.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return WithoutPasswords(string(t.text[max(len(t.text)-n, 0):]))
}
