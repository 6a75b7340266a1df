package scenarios

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// workKeys are the settings in the "work" mapping, except those with their own parsing code.
var workKeys = []format.Key[Work]{
	format.Number("cycles", func(w *Work) *int { return &w.Cycles }, 1, 1, maxCount,
		"how many times a client acquires, works and releases"),
	format.Number("tasks", func(w *Work) *int { return &w.Tasks }, 1, 1, maxTasks,
		"how many tasks (threads) of a client do this at the same time, sharing one lock object; "+
			"allowed only with locks on Redis"),
	format.Choice("take", func(w *Work) *Take { return &w.Take }, "with several `locks`: "+
		"acquire all of the locks in each cycle, or one at random",
		format.Option[Take]{Word: "all", Value: TakeAll}, format.Option[Take]{Word: "one", Value: TakeOne}),
	format.Spread("think", func(w *Work) *sim.Delay { return &w.Think }, sim.Delay{}, "the time between two cycles"),
	format.Number("writes", func(w *Work) *int { return &w.Writes }, 0, 0, maxCount,
		"how many times the client reads the resource, computes and writes in each critical section; "+
			"a client whose hold is shared does not write"),
	format.Time("compute", func(w *Work) *time.Duration { return &w.Compute }, 0,
		"the time between a read and its write"),
	{Path: "hold", Form: format.Form{Kind: format.Duration, Words: []string{"validity", "forever"}},
		Standard: format.Value{N: int64(100 * time.Millisecond)},
		Meaning: "how long the critical section lasts after the writes; " +
			"`validity`: as long as the client believes its lock is valid; `forever`: the work hangs",
		Example: "1s",
		Set: func(w *Work, v format.Value) {
			w.Hold, w.HoldKind = time.Duration(v.N), holdKinds[v.Word]
		},
		Get: func(w *Work) format.Value {
			for word, kind := range holdKinds {
				if kind == w.HoldKind {
					return format.Value{Word: word}
				}
			}
			return format.Value{N: int64(w.Hold)}
		}},
	format.Switch("check-validity", func(w *Work) *bool { return &w.CheckValidity }, false,
		"check the remaining validity before each read, write and step, and stop once it has run out; "+
			"not allowed with setnx"),
	format.Switch("stop-when-lost", func(w *Work) *bool { return &w.StopWhenLost }, true,
		"stop working when the library reports that the lock is lost, as a failed extension does; "+
			"not allowed with setnx"),
	format.Switch("release-before-write", func(w *Work) *bool { return &w.ReleaseFirst }, false,
		"release the lock before the last write and continue without it, "+
			"like code that commits its transaction after the release; not allowed with `nested`"),
	format.Switch("nested", func(w *Work) *bool { return &w.Nested }, false,
		"the code that writes to the resource acquires the lock again and then releases it, "+
			"like a function that acquires the lock itself although its caller already holds it"),
}

// maxTasks is the maximum number of tasks per client.
const maxTasks = 99

// holdKinds maps the words allowed as the value of hold to their meanings.
var holdKinds = map[string]HoldKind{"validity": HoldValidity, "forever": HoldForever}

// These settings determine when clients start. The first applies to all clients, the second to a single client.
var (
	staggerKeys = []format.Key[time.Duration]{format.Time("stagger",
		func(d *time.Duration) *time.Duration { return d },
		10*time.Millisecond, "client-2 starts this long after client-1, client-3 twice as long, and so on")}
	startKeys = []format.Key[Work]{format.Spread("start", func(w *Work) *sim.Delay { return &w.Start }, sim.Delay{},
		"when the client starts; allowed only under `overrides`").Depending(
		"the start time that `stagger` gives the client")}
)

// workFields returns the settings in the "work" mapping. The first one determines when clients start.
func (f *file) workFields(w *Work, s scope) []field {
	of := func(_ *Scenario, c *Client) *Work { return &c.Work }
	t := table[Work]{Reader: f.Reader, name: "work", keys: workKeys, to: w, of: of}
	all := table[time.Duration]{Reader: f.Reader, name: "work", keys: staggerKeys, to: &f.stagger, of: staggerOf}
	begin := all.fields("")
	other := field{name: "start", instead: "`start` applies to one client and belongs under `overrides`; " +
		"to delay all clients, use `stagger`"}
	if s == oneClient {
		one := table[Work]{Reader: f.Reader, name: "work", keys: startKeys, to: w, of: of}
		begin = one.fields("")
		other = field{name: "stagger",
			instead: "`stagger` applies to all clients and belongs under `work`; to delay one client, use `start`"}
	}
	return append(append(begin, t.fields("")...), other,
		field{name: "locks", read: func(n ast.Node) { f.readLocks(n, w) },
			doc: doc{values: "list of names", standard: "none",
				meaning: "several locks, acquired in this order and released in the reverse order; " +
					"if omitted, the lock's own name is used"}})
}

// staggerOf returns the interval between two clients' starts. A scenario stores only when each client starts.
func staggerOf(s *Scenario, _ *Client) *time.Duration {
	d := time.Duration(0)
	if len(s.Clients) > 1 {
		d = s.Clients[1].Work.Start.Lo - s.Clients[0].Work.Start.Lo
	}
	return &d
}

// readLocks parses the names of several locks, in acquisition order.
func (f *file) readLocks(n ast.Node, w *Work) {
	w.Locks = nil
	f.List(n, "work.locks", func(n ast.Node) {
		name, ok := f.lockName(n)
		switch {
		case ok && slices.Contains(w.Locks, name):
			f.Problem(format.StartOf(n), "", "%s is taken twice", format.Found(string(name)))
		case ok:
			w.Locks = append(w.Locks, name)
		}
	})
}

// readClients creates the clients. Apart from when they start and which server they ask first, their settings differ
// only where the "overrides" mapping says so.
func (f *file) readClients(names *nemesis.Names) {
	s := f.scenario
	var ids []sim.ProcessID
	if names != nil {
		ids = names.Clients
	}
	for i, id := range ids {
		s.Clients = append(s.Clients, f.client(i, id, f.lock, f.work))
		s.Clients[i].Work.Start = f.defaultStart(i)
	}
	if f.overrides != nil {
		f.override(names, ids)
	}
	place, given := f.lock.given["permits"]
	tasks := 0
	for i := range s.Clients {
		tasks += max(s.Clients[i].Work.Tasks, 1)
	}
	who := map[bool]string{true: "clients", false: "tasks"}[tasks == len(ids)]
	if n := f.lock.config.Permits; given && names != nil && n > 1 && n >= tasks {
		f.Problem(place, "", "with %d permits and %d %s, nobody ever has to wait, so no law would be checked: "+
			"set `permits` to less than the number of %[3]s", n, tasks, who)
	}
	shared := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Lock.Shared })
	for i := range s.Clients {
		s.Clients[i].Lock.Readers = shared
	}
}

// override parses the "overrides" mapping: individual clients' settings, which replace the settings shared by all
// clients.
func (f *file) override(names *nemesis.Names, ids []sim.ProcessID) {
	s := f.scenario
	clients := make([]string, len(ids))
	for i, id := range ids {
		clients[i] = string(id)
	}
	const example = "{client-1: {work: {hold: 1s}}}"
	f.Entries(f.overrides, "overrides", example, func(key string, place format.Place, value ast.Node) {
		i := slices.Index(ids, sim.ProcessID(key))
		if i < 0 && names != nil {
			f.Problem(place, nearest.Word(key, format.Missing(clients, f.overrides)),
				"no client of this run is called %s", format.Found(key))
		}
		lock, work := f.lock.copied(), f.work
		if i >= 0 {
			work = s.Clients[i].Work
		}
		f.readOverride(value, "overrides."+key, &lock, &work)
		if i >= 0 {
			s.Clients[i] = f.client(i, ids[i], lock, work)
		}
	})
}

// readOverride parses one client's settings, which replace the settings shared by all clients.
func (f *file) readOverride(n ast.Node, name string, lock *lockSettings, work *Work) {
	inWork := format.Given{}
	mapping(f.Reader, n, name, []field{
		{name: "lock", read: func(n ast.Node) { f.readLock(n, name+".lock", lock, oneClient) }},
		{name: "work", sample: "{hold: 1s}", read: func(n ast.Node) {
			inWork = mapping(f.Reader, n, name+".work", f.workFields(work, oneClient))
		}},
	})
	f.checkLock(lock)
	f.checkWork(lock, work, inWork)
}

// client returns the client with index i, with values filled in for settings that the file does not specify.
func (f *file) client(i int, id sim.ProcessID, lock lockSettings, work Work) Client {
	servers := &f.scenario.Servers
	c, n := lock.config, len(servers.asked())
	c.Servers = servers.asked()
	c.First = i * n / f.clients
	c.Cluster = servers.Cluster
	if servers.watched() {
		c.Sentinel = Observer
	}
	if d := locks.Define(c.Protocol); d != nil {
		careful := work.CheckValidity || c.Extension != nil
		d.Complete(&c, n, careful, func(path string) bool { _, ok := lock.stated[path]; return ok })
	}
	return Client{ID: id, Lock: c, Work: work}
}
