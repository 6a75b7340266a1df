package scenarios

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// Plan returns a plan with the given seed and the scenario's own faults.
func (s *Scenario) Plan(seed uint64) nemesis.Plan {
	return nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: s.Faults}
}

// Result is the result of a run.
type Result struct {
	Plan    nemesis.Plan
	History *history.History // valid until the next run of the runner
	Digest  sim.Digest
	Events  int
	Limited bool // the limit ended the run before its work was done, or the probe did not get the locks in time
	// Missed lists the messages that faults refer to but that were never sent.
	Missed []nemesis.Missed
	// Sent lists the messages that the clients sent. It is empty unless the runner has been told to report them (see
	// ReportSent).
	Sent []nemesis.Sent
	// Stalled describes how the host may have delayed a process in a real-time run. It is empty if no process was
	// delayed. After a stall, it is unknown why a lock made no progress.
	Stalled string
	// EndedEarly names the clients that ended before their work was done. It is set only in virtual-time runs in which
	// the clients are programs. If it is not empty, a law may hold only because the clients did too little.
	EndedEarly string
}

// Runner runs one scenario's plans one after another. Each run reuses the memory of the previous one. A Runner is not
// safe for concurrent use.
type Runner struct {
	scenario *Scenario
	world    *sim.World
	cluster  Cluster
	header   history.Header
	targets  nemesis.Names
	tap      Tap            // if set, wraps every lock server
	onlooker func(sim.Sent) // if set, called for each message that a server sends unasked
	watch    func(sim.Moment)
	clients  []*client // the clients of the run, without the probe
	host     Host      // nil: all clients are simulated tasks
	// elsewhere, if set, performs the runs in another process.
	elsewhere func(*Scenario, nemesis.Plan, Wanted) (Result, error)
	sent      bool // whether results list the messages that the clients sent
	namer     redis.Namer
	cast      Cast // nil: the clients and servers are those of the scenario
	foreign   bool // whether the code of the clients' lock is unknown
}

// Host runs locks whose code is not a simulated task, such as libraries that use goroutines.
type Host interface {
	// Within provides the environment for a run: it calls run once, and returns when run has returned. The Host's other
	// methods are called by run.
	Within(run func())
	// Prepare completes the options of a run's world. No event happens between Prepare and Begin.
	Prepare(*sim.Options)
	// Begin starts a run in a world in which nothing has happened yet. servers lists the servers that clients can
	// connect to.
	Begin(w *sim.World, servers []sim.ProcessID)
	// Run is like World.Run, but keeps the code outside the simulation in step with it.
	Run(limit sim.Time, done func() bool) (limited bool)
	// End ends the run for the code outside the simulation, and returns the first error of that code.
	End() error
}

// keyNamer is a Host that may store a lock under a key that is not named after the lock. LockOf returns the lock to
// which a key on the servers belongs.
type keyNamer interface{ LockOf(key string) history.Lock }

// Cast is a Host that replaces a scenario's clients and servers. Virtual time may pass while its Begin method is
// running. The times in the plan are relative to the time at which Begin returns.
type Cast interface {
	Host
	// Client returns the main function of a client's task. start is the time at which the task is to begin.
	Client(c *Client, start time.Duration) func(sim.Env)
	// Server returns the server that takes the place of own in the run. own is a simulated lock server or the simulated
	// Sentinel.
	Server(id sim.ProcessID, own sim.Server) sim.Server
	// Foreign reports whether the clients are programs whose lock code is unknown to Fencepost.
	Foreign() bool
}

// NewRunnerWith returns a runner for s in which c replaces s's clients and servers.
func NewRunnerWith(s *Scenario, c Cast) *Runner {
	r := NewRunner(s)
	r.host, r.elsewhere, r.cast, r.foreign = c, nil, c, c.Foreign()
	return r
}

// Main returns the main function of a client's task, for a world without other clients.
func (s *Scenario) Main(id sim.ProcessID) func(sim.Env) {
	at := slices.IndexFunc(s.Clients, func(c Client) bool { return c.ID == id })
	return newClient(&s.Clients[at], s.Resource, s.library()).main
}

// NewRunner returns a runner for s.
func NewRunner(s *Scenario) *Runner {
	r := &Runner{scenario: s, world: sim.New(0, sim.Options{}), header: header(s), targets: s.Targets(),
		cluster: newCluster(&s.Servers)}
	if r.foreign = s.FromLibrary(); r.foreign || s.OfPrograms() {
		r.host, r.elsewhere = s.code.Host, s.code.Elsewhere
	}
	return r
}

// library returns the library state of a client that has not sent any requests yet.
func (s *Scenario) library() *locks.Library {
	if s.code == nil {
		return &locks.Library{}
	}
	return &locks.Library{Foreign: s.code.Lock}
}

// drive runs the simulation until done returns true or the limit is reached.
func (r *Runner) drive(limit sim.Time, done func() bool) (limited bool) {
	if r.host != nil {
		return r.host.Run(limit, done)
	}
	return r.world.Run(limit, done)
}

// header returns what the checker needs to know about a run of s.
func header(s *Scenario) history.Header {
	h := history.Header{Scenario: s.Name, Servers: s.Servers.names(), Groups: s.Servers.copies(), Locks: s.Locks(),
		Bound: history.Of(s.Bound), Quorum: 1, Service: s.Service(), Measures: s.measures(),
		Lapses: s.lapses()}
	for i := range s.Clients {
		c := &s.Clients[i]
		h.Clients = append(h.Clients, c.ID)
		if c.Lock.Permits > 1 {
			h.Permits = c.Lock.Permits
		}
		h.TTL = max(h.TTL, c.ttl(&s.Servers))
		h.Hold = max(h.Hold, history.Of(c.declaredHold(s.Resource.Timeout)))
		h.Slack = max(h.Slack, history.Of(c.slack()))
		if d := locks.Define(c.Lock.Protocol); d != nil {
			h.Quorum = max(h.Quorum, d.Quorum(&c.Lock))
			if d.Order != nil && d.Order(&c.Lock) > 0 {
				h.Order = c.order(d.Order(&c.Lock), &s.Servers)
			}
		}
		// A session, unlike a lease, can last as long as its client does.
		if x := c.Lock.Extension; x != nil && x.Limit == 0 || s.Servers.consensus() {
			h.Uncapped = true
		}
	}
	for i := range s.Clients {
		if c := &s.Clients[i]; c.ttl(&s.Servers) < h.TTL {
			if h.TTLs == nil {
				h.TTLs = map[history.Process]history.Time{}
			}
			h.TTLs[c.ID] = c.ttl(&s.Servers)
		}
	}
	h.Clients = append(h.Clients, history.Probe)
	return h
}

// ttl returns the longest TTL that the client uses with these servers.
func (c *Client) ttl(on *Servers) (longest history.Time) {
	if x := c.Lock.Extension; x != nil {
		longest = history.Of(x.TTL)
	}
	return max(longest, history.Of(on.lasts(&c.Lock)))
}

// declaredHold returns the maximum time that the client declares for its critical section. It allows for each read and
// write to take as long as the resource's timeout. A client that hangs while working (HoldForever) does not declare a
// hold.
func (c *Client) declaredHold(timeout time.Duration) time.Duration {
	hold := c.Work.Hold
	switch c.Work.HoldKind {
	case HoldValidity:
		hold = c.Lock.TTL
	case HoldForever:
		hold = 0
	}
	return hold + time.Duration(c.Work.Writes)*(c.Work.Compute+2*timeout)
}

// order describes how strictly a fair lock promises to serve a client in order. Requests that are sent within the
// client's timeout may reach the servers in either order, so the lock may serve them in either order (Slack). place is
// how long the client's place in the queue would last if the client crashed.
func (c *Client) order(place time.Duration, on *Servers) history.Order {
	return history.Order{Slack: history.Of(c.Lock.Timeout), Turn: c.ttl(on) + history.Of(place+c.slack())}
}

// slack returns how long an acquire may take, apart from the wait for the holder. It is one second, plus twice the sum
// of the longest wait before a retry and two timeouts for each server.
func (c *Client) slack() time.Duration {
	return time.Second + 2*(c.Lock.Retry.Hi+2*time.Duration(len(c.Lock.Servers))*c.Lock.Timeout)
}

// ReportSent sets whether the results of future runs list the messages sent by the clients. The runs themselves do not
// change.
func (r *Runner) ReportSent(on bool) { r.sent = on }

// Watch sets a function that future runs call whenever a fault could make a difference, until the probe starts. If f is
// nil, no function is called. The runs themselves do not change.
func (r *Runner) Watch(f func(sim.Moment)) { r.watch = f }

// beginWatch makes the world call r.watch whenever a fault could make a difference, until the probe at the end of the
// run starts.
func (r *Runner) beginWatch() {
	if r.watch == nil {
		return
	}
	r.world.Watch(func(m sim.Moment) {
		if m.Process == history.Probe {
			r.world.Watch(nil)
			return
		}
		r.watch(m)
	})
}

// Run performs the run for a plan. It returns an error if Fencepost's code or the lock's code failed. A violated law is
// not an error.
func (r *Runner) Run(p nemesis.Plan) (result Result, err error) {
	switch {
	case r.elsewhere != nil:
		return r.elsewhere(r.scenario, p, Wanted{r.sent, r.watch})
	case r.host != nil:
		r.host.Within(func() { result, err = r.run(p) })
		return result, err
	}
	return r.run(p)
}

// run performs the run for a plan in this process.
func (r *Runner) run(p nemesis.Plan) (Result, error) {
	s, w := r.scenario, r.world
	options := sim.Options{Delay: s.Network.Delay, Tail: s.Network.Tail, Links: s.Network.Links, Onlooker: r.onlooker}
	if r.host != nil {
		r.host.Prepare(&options)
	}
	if r.sent || nemesis.NameMessages(p.Faults) {
		options.Command = s.Servers.backend().naming(&r.namer)
	}
	seen := r.readRequests(&options)
	w.Reset(p.Seed, options)
	r.cluster.Add(w, p, r.wrap)
	w.AddServer(history.Resource, newResource(s.Resource.rules()))
	r.clients = r.clients[:0]
	for i := range s.Clients {
		r.clients = append(r.clients, r.addClient(&s.Clients[i]))
	}
	if r.host != nil {
		r.host.Begin(w, s.Servers.dialed())
	}
	r.beginWatch()
	var sent *[]nemesis.Sent
	if r.sent {
		sent = nemesis.Record(w)
	}
	names := r.targets
	if !r.foreign {
		names.Former = s.Servers.backend().Former
	}
	plan := nemesis.Install(w, names, p.Faults)
	over := func() bool { return plan.Over() && !w.Busy() }
	limited := r.drive(w.Now()+history.Of(s.Limit), over)
	if !limited {
		limited = r.runProbe(over)
	}
	if r.host != nil {
		if err := r.host.End(); err != nil {
			return Result{}, err
		}
	}
	messages := r.messages()
	attempts, taken := r.attempts()
	h := w.Finish()
	seed, end := h.Header.Seed, h.Header.End
	h.Header = r.header
	h.Header.Seed, h.Header.End, h.Header.Messages = seed, end, messages
	h.Header.Attempts, h.Header.Taken = attempts, taken
	if seen != nil {
		h.Header.Measures, h.Header.Unknown = s.foreignMeasures(seen, h.Events)
		h.Header.Lapses, h.Header.Asked, h.Header.Quiet = seen.lapses, seen.asked, seen.quiet(h.Events)
	}
	missed, err := plan.Missed()
	result := Result{Plan: p, History: h, Digest: w.Digest(), Events: w.Events(), Limited: limited, Missed: missed}
	if sent != nil {
		result.Sent = *sent
	}
	return result, cmp.Or(w.Err(), err)
}

// readRequests returns a reader for the run's requests if the lock's code is unknown. If it is known, readRequests
// returns nil.
func (r *Runner) readRequests(o *sim.Options) *requestReader {
	if !r.foreign {
		return nil
	}
	lockOf := func(key string) history.Lock { return history.Lock(key) }
	if k, is := r.host.(keyNamer); is {
		lockOf = k.LockOf
	}
	seen := newRequestReader(func(key string) bool { return slices.Contains(r.header.Locks, lockOf(key)) })
	for _, p := range r.header.Clients {
		seen.asked[p] = 0
	}
	upkeep := r.scenario.Servers.backend().isUpkeep
	o.Asked = func(server sim.ProcessID, q *sim.Incoming) {
		if !slices.Contains(r.header.Servers, server) || len(q.Args) == 0 {
			return
		}
		if !upkeep(q.Args) {
			seen.reached(q.Client, r.world.Now())
		}
		seen.read(request{Conn: q.ConnID, Attempt: q.Attempt, Args: q.Args})
	}
	return seen
}

// messages returns the number of requests that clients have sent to lock servers.
func (r *Runner) messages() int {
	n := 0
	for i := range r.scenario.Clients {
		for _, server := range r.header.Servers {
			n += r.world.Sent(r.scenario.Clients[i].ID, server)
		}
	}
	return n
}

// attempts returns the number of attempts to acquire a lock, and how many of them were made while another client was
// holding the lock. Both numbers are 0 if the run has a Host, because attempts by code outside the simulation are not
// counted.
func (r *Runner) attempts() (made, taken int) {
	if r.host != nil {
		return 0, 0
	}
	for _, c := range r.clients {
		m, t := c.library.Attempts()
		made, taken = made+m, taken+t
	}
	return made, taken
}

func (r *Runner) wrap(id sim.ProcessID, s sim.Server) sim.Server {
	if r.tap != nil {
		return r.tap(id, s)
	}
	if r.cast != nil {
		return r.cast.Server(id, s)
	}
	return s
}

func (r *Runner) addClient(c *Client) *client {
	start := c.Work.Start
	jitter := r.world.Stream("start/" + string(c.ID))
	at := start.Lo
	if start.Hi > start.Lo {
		at += time.Duration(jitter.Uint64() % uint64(start.Hi-start.Lo+1))
	}
	k := newClient(c, r.scenario.Resource, r.scenario.library())
	if r.cast != nil {
		r.world.AddClient(c.ID, 0, r.cast.Client(c, at))
	} else {
		r.world.AddClient(c.ID, history.Of(at), k.main)
	}
	return k
}
