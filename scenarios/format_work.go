package scenarios

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// workFields are the keys under work. When the clients begin is said once: for all by stagger, for one by start.
func (f *file) workFields(w *Work, s scope) []field {
	begin := field{name: "stagger", read: into(&f.stagger, f.duration)}
	other := field{name: "start", instead: "start is for one client, under overrides; for all there is stagger"}
	if s == oneClient {
		begin = field{name: "start", read: into(&w.Start, f.delay)}
		other = field{name: "stagger", instead: "stagger is for all clients, under work; for one there is start"}
	}
	return []field{
		{name: "cycles", read: into(&w.Cycles, f.whole(1, maxCount))},
		{name: "locks", read: func(n ast.Node) { f.readLocks(n, w) }},
		{name: "take", read: into(&w.Take, choose(f.reader, []choice[Take]{{"all", TakeAll}, {"one", TakeOne}}))},
		begin, other,
		{name: "think", read: into(&w.Think, f.delay)},
		{name: "writes", read: into(&w.Writes, f.whole(0, maxCount))},
		{name: "compute", read: into(&w.Compute, f.duration)},
		{name: "hold", read: func(n ast.Node) { f.readHold(n, w) }},
		{name: "check-validity", read: into(&w.CheckValidity, f.onOff)},
		{name: "stop-when-lost", read: into(&w.StopWhenLost, f.onOff)},
		{name: "nested", read: into(&w.Nested, f.onOff)},
	}
}

// readLocks reads the names of several locks, in the order in which they are taken.
func (f *file) readLocks(n ast.Node, w *Work) {
	w.Locks = nil
	f.list(n, "work.locks", func(n ast.Node) {
		name, ok := f.key(n)
		switch {
		case ok && slices.Contains(w.Locks, history.Lock(name)):
			f.problem(startOf(n), "", "%s is taken twice", found(name))
		case ok:
			w.Locks = append(w.Locks, history.Lock(name))
		}
	})
}

func (f *file) readHold(n ast.Node, w *Work) {
	text, ok := f.scalar(n, "a duration, validity or forever")
	if !ok {
		return
	}
	switch text {
	case "validity":
		w.HoldKind, w.Hold = HoldValidity, 0
	case "forever":
		w.HoldKind, w.Hold = HoldForever, 0
	default:
		d, problem, nearest := parseDuration(text)
		if problem == "" {
			w.HoldKind, w.Hold = HoldFor, d
			return
		}
		if word := nemesis.Nearest(text, []string{"validity", "forever"}); word != "" {
			problem, nearest = "expected a duration, validity or forever", word
		}
		f.problem(startOf(n), nearest, "%s, found %s", problem, found(text))
	}
}

// readClients makes the clients: all alike, but for what overrides say.
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
	if f.overrides == nil {
		return
	}
	f.entries(f.overrides, "overrides", func(key string, place at, value ast.Node) {
		i := slices.Index(ids, sim.ProcessID(key))
		if i < 0 && names != nil {
			f.problem(place, nearestProcess(sim.ProcessID(key), ids), "no client of this run is called %s", found(key))
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
	shared := slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Lock.Shared })
	for i := range s.Clients {
		s.Clients[i].Lock.ReadWrite = shared
	}
}

// readOverride reads what one client does differently.
func (f *file) readOverride(n ast.Node, name string, lock *lockSettings, work *Work) {
	f.mapping(n, name, []field{
		{name: "lock", read: func(n ast.Node) { f.readLock(n, name+".lock", lock, oneClient) }},
		{name: "work", read: func(n ast.Node) { f.mapping(n, name+".work", f.workFields(work, oneClient)) }},
	})
	f.checkLock(lock)
}

// client is a client whose settings are complete.
func (f *file) client(i int, id sim.ProcessID, lock lockSettings, work Work) Client {
	servers := &f.scenario.Servers
	n := len(servers.asked())
	c := withDefaults(lock.config, n)
	c.Servers = servers.asked()
	c.First = i * n / f.clients
	if servers.Replicas > 0 && c.Protocol != locks.Redlock {
		c.Sentinel = sentinel
	}
	c.CountsFromRequest = work.CheckValidity || c.Extension != nil
	return Client{ID: id, Lock: c, Work: work}
}
