package verify

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// placed lists the kinds of faults whose starts are enumerated unless something in a scenario prevents this.
var placed = slices.DeleteFunc(slices.Clone(nemesis.Kinds), func(k nemesis.Kind) bool {
	return k.Placement().At == nemesis.Nowhere
})

// tiny lists scenarios that are so small that faults can be started at every instant in a fine grid.
var tiny = []struct {
	text  string
	kinds []nemesis.Kind
	on    []sim.ProcessID // targets; faults of links strike both directions between client-2 and redis-1
}{
	{`name: fsync-always
servers: {redis: 1, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 60ms, retry: {delay: 9ms}, timeout: 5ms}
work: {hold: 4ms, stagger: 2500us, writes: 1}
limit: 3s
`, placed, []sim.ProcessID{"client-1", "redis-1", "resource"}},
	{`name: reconnecting
servers: {redis: 1, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 60ms, retry: {delay: 9ms}, timeout: 5ms}
work: {hold: 4ms, stagger: 2500us}
faults:
  - break client-2 | redis-1 before reply 1
limit: 3s
`, []nemesis.Kind{nemesis.Cut}, nil},
	{`name: fsync-everysec
servers: {redis: 1, persistence: {append-fsync: everysec}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 1500ms, retry: {delay: 400ms}, timeout: 5ms, release: get-then-del}
work: {hold: 1100ms, stagger: 2500us}
limit: 9s
`, placed, []sim.ProcessID{"client-2", "redis-1"}},
	{`name: counted-on-wall-clocks
servers: {redis: 2, persistence: none}
network: {delay: 1ms}
lock: {protocol: redlock, ttl: 40ms, retry: {delay: 7ms}, timeout: 5ms, clock: wall, quorum: 2}
work: {hold: 3ms, stagger: 2500us, check-validity: on}
limit: 3s
`, []nemesis.Kind{nemesis.Crash, nemesis.ShutDown, nemesis.Jump}, []sim.ProcessID{"client-1", "redis-2"}},
	{`name: stuck-for-some-strikes
servers: {redis: 1}
network: {delay: 1ms}
lock: {protocol: setnx, ttl: 100ms, retry: {delay: 9ms}, timeout: 5ms}
work: {hold: 300ms, stagger: 2500us}
limit: 1600ms
`, []nemesis.Kind{nemesis.Crash}, []sim.ProcessID{"client-1"}},
	{`name: replicated
servers: {redis: 1, replicas: 1, down-after: 200ms, reconfigure-after: 100ms}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 600ms, retry: {delay: 90ms}, timeout: 5ms, wait: {timeout: 20ms}}
work: {hold: 50ms, stagger: 2500us}
limit: 4s
`, []nemesis.Kind{nemesis.Pause, nemesis.Crash}, []sim.ProcessID{"redis-1"}},
	{`name: lease-of-a-service
servers: {etcd: 1}
network: {delay: 1ms}
lock: {protocol: etcd, ttl: 2s}
work: {hold: 4ms, stagger: 2500us}
limit: 10s
`, []nemesis.Kind{nemesis.Pause}, []sim.ProcessID{"client-1"}},
}

// shown returns, as text, everything that each process records in a run, with times. It omits the fault's name and
// exact start. It omits the probe (history.Probe), which begins some time after the last fault. It also omits the
// fault's direct effects: the record of a client's crash, and the times at which a clock jump makes keys expire or
// reappear, or at which a fault removes a key.
func shown(events []history.Event, kind nemesis.Kind) string {
	lines := map[history.Process]*strings.Builder{}
	for i := range events {
		e := events[i]
		if e.Process == history.Probe {
			break
		}
		if e.Process == history.Nemesis || e.F == history.Crashed {
			continue
		}
		if kind == nemesis.Jump &&
			(e.F == history.KeyGone && e.Why == history.Expired || e.F == history.KeySet && e.By == "") {
			e.Time = 0
		}
		switch e.Why {
		case history.Evicted, history.DeletedByOperator, history.FlushedByOperator:
			e.Time = 0
		}
		b := lines[e.Process]
		if b == nil {
			b = &strings.Builder{}
			lines[e.Process] = b
		}
		for _, word := range []string{strconv.FormatInt(int64(e.Time), 10), e.Type.String(), string(e.F),
			string(e.Attempt), string(e.Of), string(e.By), string(e.Why), e.Value} {
			b.WriteString(word + " ")
		}
		if e.Grant != nil && kind != nemesis.Jump {
			b.WriteString(e.Grant.Granted.String() + " " + e.Grant.Until.String())
		}
		b.WriteString("\n")
	}
	var all strings.Builder
	for _, p := range slices.Sorted(maps.Keys(lines)) {
		all.WriteString(string(p) + "\n" + lines[p].String())
	}
	return all.String()
}

// reached maps each run outcome to the laws that it violates, and each of these laws to a fault that causes the
// violation.
type reached map[string]map[checker.Law]nemesis.Fault

func (r reached) add(h *history.History, f nemesis.Fault) {
	way := shown(h.Events, f.Kind)
	if r[way] == nil {
		r[way] = map[checker.Law]nemesis.Fault{}
	}
	for _, finding := range checker.Check(h).Findings {
		if finding.Outcome == checker.Violated {
			r[way][finding.Law] = f
		}
	}
}

// TestOneStartStandsForItsInterval compares the enumerated starts with a much larger set: every instant in a grid, and
// the nanoseconds around every moment in the run. With the same end times, both sets must lead to the same outcomes and
// violate the same laws.
func TestOneStartStandsForItsInterval(t *testing.T) {
	tried := 0
	for _, x := range tiny {
		s, err := scenarios.Parse("tiny.yaml", []byte(x.text))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range x.kinds {
			faults := templates(s, subjectsOf(s), k)
			if k == nemesis.Cut {
				a, b := []sim.ProcessID{"client-2"}, []sim.ProcessID{"redis-1"}
				faults = []nemesis.Fault{{Kind: k, Left: a, Right: b, OneWay: true},
					{Kind: k, Left: b, Right: a, OneWay: true}}
			}
			for _, f := range faults {
				if k != nemesis.Cut && !slices.Contains(x.on, f.Target) {
					continue
				}
				if tried++; testkit.Full() || tried%testkit.Size(27, 9, 1) == 1 {
					t.Run(fmt.Sprintf("%s/%s %s %d", s.Name, k, f.On()[0], f.Loss),
						func(t *testing.T) { compareStarts(t, s, f) })
				}
			}
		}
	}
}

func compareStarts(t *testing.T, s *scenarios.Scenario, f nemesis.Fault) {
	v := &Verification{Scenario: s, Assignments: []Assignment{{"", s}}, Options: Options{Seed: 1}}
	g := newGrower(context.Background(), v)
	if err := g.climb(&branch{stands: 1}, false); err != nil {
		t.Fatal(err)
	}
	openings := slices.DeleteFunc(g.openings(&f), func(o opening) bool { return !o.isInterval() })
	if f.Kind == nemesis.Cut {
		openings = slices.DeleteFunc(openings,
			func(o opening) bool { return o.target != f.Left[0] || o.peer != f.Right[0] })
	}
	few, all := reached{}, reached{}
	each := func(in reached, f nemesis.Fault, at, end sim.Time) {
		f = g.fault(f, &opening{}, at, end)
		result, _, err := g.run(&f, false)
		if err != nil {
			t.Fatal(err)
		}
		in.add(result.History, f)
	}
	base, _, err := g.run(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	few.add(base.History, f)
	grid := slices.DeleteFunc(gridOf(&g.parent), func(at sim.Time) bool { return hurried(g, f, at) })
	for _, f := range sized(g, f, openings) {
		for _, end := range someEnds(t, g, f, openings) {
			for _, o := range openings {
				if at, ok := g.latest(f, &o, end); ok {
					each(few, f, at, end)
				}
			}
			ways := len(few)
			for _, o := range openings {
				if end == never && o.since+1 < o.at && !hurried(g, f, o.since+1) {
					each(few, f, o.since+1, end)
				}
			}
			if len(few) > ways {
				t.Error("the first instants of some intervals go other ways than the last")
			}
			for _, at := range grid {
				if end > at {
					each(all, f, at, end)
				}
			}
		}
	}
	if len(all) == 0 {
		t.Error("no start was tried")
	}
	compareReached(t, few, all)
	t.Logf("%d openings for %d starts; %d ways", len(openings), len(grid), len(few))
}

// hurried reports whether a server clock jump or the removal of a key at an instant may start an fsync that is still
// running when the server's next request arrives. The enumerated start times do not cover every instant at which such
// an fsync can end.
func hurried(g *grower, f nemesis.Fault, at sim.Time) bool {
	syncs := []nemesis.Kind{nemesis.Jump, nemesis.EvictKey, nemesis.DeleteKey, nemesis.Flush}
	return slices.Contains(syncs, f.Kind) && slices.ContainsFunc(g.parent.acts(f.Target, 0),
		func(act sim.Time) bool { return at < act && at >= act-g.fsync })
}

func compareReached(t *testing.T, few, all reached) {
	for way, laws := range all {
		if few[way] == nil {
			t.Errorf("not reached by the reduced starts:\n%s", way)
			return
		}
		for law, f := range laws {
			if _, broken := few[way][law]; !broken {
				t.Errorf("%s is violated by %q, but by none of the starts that stand for it", law, f)
				return
			}
		}
	}
	for way, laws := range few {
		for law := range laws {
			if _, broken := all[way][law]; !broken && len(all[way]) > 0 {
				t.Errorf("%s is violated by the reduced starts only: the grid is too coarse", law)
			}
		}
	}
}

// gridOf returns instants spread over a run and a short time after it.
func gridOf(c *course) []sim.Time {
	var grid []sim.Time
	last := sim.Time(0)
	for _, m := range c.moments {
		if m.Kind != sim.Passes {
			grid = append(grid, m.At-1, m.At, m.At+1)
		}
		last = max(last, m.At)
	}
	for at := sim.Time(0); at < last+
		history.Of(40*time.Millisecond); at += max(history.Of(900*time.Microsecond), last/50) {
		grid = append(grid, at+7)
	}
	slices.Sort(grid)
	return slices.DeleteFunc(slices.Compact(grid), func(at sim.Time) bool { return at < 0 })
}

// sized returns copies of the clock jump f, with the sizes that the grower tries at the first four openings (places
// where the jump can start). It returns any other fault unchanged, because only clock jumps have sizes.
func sized(g *grower, f nemesis.Fault, openings []opening) []nemesis.Fault {
	if f.Kind != nemesis.Jump {
		return []nemesis.Fault{f}
	}
	var list []nemesis.Fault
	for _, o := range openings[:min(len(openings), 4)] {
		for _, f.By = range g.jumps(&o) {
			list = append(list, f)
		}
	}
	return list
}

// someEnds returns some of a fault's possible end times, for all the given openings (places where it can start).
func someEnds(t *testing.T, g *grower, f nemesis.Fault, openings []opening) []sim.Time {
	if f.Kind == nemesis.Jump || f.Kind == nemesis.Crash && f.Loss == nemesis.LosesMemory {
		return []sim.Time{never}
	}
	var list []sim.Time
	if f.Kind == nemesis.Crash || f.Kind == nemesis.ShutDown {
		list = append(list, never)
	}
	for _, o := range openings {
		last := o.at + g.beyond
		whole := g.fault(f, &o, o.at, last)
		_, c, err := g.run(&whole, true)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, g.ends(&c, &f, &o, last)...)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	step := 1 + len(list)/6
	return slices.DeleteFunc(list, func(end sim.Time) bool { return slices.Index(list, end)%step != 0 })
}

// TestStartsOfTwoFaultsStandForTheirIntervals draws two faults that start at arbitrary times, and runs them. The run
// must be equivalent to a run in which each fault starts at the time that represents its interval.
func TestStartsOfTwoFaultsStandForTheirIntervals(t *testing.T) {
	for _, i := range []int{0, 2, 3} {
		s, err := scenarios.Parse("tiny.yaml", []byte(tiny[i].text))
		if err != nil {
			t.Fatal(err)
		}
		p := &pairs{t: t, rand: rand.New(rand.NewPCG(uint64(i), 5)),
			grower: newGrower(context.Background(),
				&Verification{Scenario: s, Assignments: []Assignment{{"", s}}, Options: Options{Seed: 1}})}
		for range testkit.Size(60, 200, 200) {
			p.draw()
		}
		t.Logf("%s: %d pairs compared, %d law broken", s.Name, p.compared, p.broken)
		if p.compared < testkit.Size(30, 100, 100) || p.broken == 0 {
			t.Errorf("%s: %d pairs compared, %d broke a law: that shows little", s.Name, p.compared, p.broken)
		}
	}
}

type pairs struct {
	*grower
	t                *testing.T
	rand             *rand.Rand
	compared, broken int
}

// drawn contains a fault with an arbitrary start (any), and the same fault starting at the time that represents its
// interval (stands).
type drawn struct{ any, stands nemesis.Fault }

func (p *pairs) draw() {
	root := &branch{stands: 1}
	if err := p.climb(root, false); err != nil {
		p.t.Fatal(err)
	}
	first, from, ok := p.next()
	if !ok {
		return
	}
	if err := p.climb(&branch{faults: []nemesis.Fault{first.stands}, from: from, stands: 1}, false); err != nil {
		p.t.Fatal(err)
	}
	second, _, ok := p.next()
	if !ok {
		return
	}
	if first.any.Kind == nemesis.Jump && p.v.Scenario.Servers.Persistent() && !nemesis.IsClient(first.any.Target) {
		return // the fault makes the server fsync, and the enumerated starts do not cover every end of the fsync
	}
	stands, lawsStanding := p.outcome(first.stands, second.stands)
	got, laws := p.outcome(first.any, second.any)
	if got != stands {
		p.t.Errorf("%q and %q go\n%s\nthose that stand for them, %q and %q, go\n%s", first.any, second.any, got,
			first.stands, second.stands, stands)
	}
	for _, law := range laws {
		if !slices.Contains(lawsStanding, law) && second.stands.Restart == 0 {
			continue // the first instant of the interval is also tried
		}
		if !slices.Contains(lawsStanding, law) {
			p.t.Errorf("%q and %q violate %s, those that stand for them, %q and %q, do not", first.any, second.any, law,
				first.stands, second.stands)
		}
	}
	p.compared++
	p.broken += len(laws)
}

// next draws a fault that the grower could add to the plan.
func (p *pairs) next() (d drawn, from begin, ok bool) {
	var all []nemesis.Fault
	for _, k := range []nemesis.Kind{nemesis.Pause, nemesis.Crash, nemesis.ShutDown, nemesis.Jump} {
		all = append(all, templates(p.v.Scenario, p.subjects, k)...)
	}
	f := all[p.rand.IntN(len(all))]
	openings := slices.DeleteFunc(p.openings(&f), func(o opening) bool { return !o.isInterval() })
	if len(openings) == 0 {
		return drawn{}, begin{}, false
	}
	o := openings[p.rand.IntN(len(openings))]
	end := never
	switch {
	case f.Kind == nemesis.Jump:
		sizes := p.jumps(&o)
		f.By = sizes[p.rand.IntN(len(sizes))]
	case f.Kind != nemesis.Crash || f.Loss != nemesis.LosesMemory:
		last := o.at + p.beyond
		whole := p.grower.fault(f, &o, o.at, last)
		_, c, err := p.run(&whole, true)
		if err != nil {
			p.t.Fatal(err)
		}
		ends := p.ends(&c, &f, &o, last)
		end = ends[p.rand.IntN(len(ends))]
	}
	at, ok := p.latest(f, &o, end)
	if !ok {
		return drawn{}, begin{}, false
	}
	any := o.since + 1 + sim.Time(p.rand.Int64N(int64(at-o.since)))
	return drawn{p.grower.fault(f, &o, any, end), p.grower.fault(f, &o, at, end)}, p.parent.earliestNext(&o, at),
		!hurried(p.grower, f, any)
}

func (p *pairs) outcome(a, b nemesis.Fault) (way string, violated []checker.Law) {
	p.branch = &branch{faults: []nemesis.Fault{a}, stands: 1}
	r, _, err := p.run(&b, false)
	if err != nil {
		p.t.Fatal(err)
	}
	kind := a.Kind
	if b.Kind == nemesis.Jump {
		kind = b.Kind
	}
	for _, f := range checker.Check(r.History).Findings {
		if f.Outcome == checker.Violated {
			violated = append(violated, f.Law)
		}
	}
	return shown(r.History.Events, kind), violated
}
