package advise

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// assembly builds a random scenario: a protocol, servers, work, and any settings that the format accepts with them.
// Each value is drawn from the values that its key accepts. The plan aims faults at events in a fault-free run, with
// durations that are fractions and multiples of the TTL. The plan also contains decoys, which strike anywhere. assembly
// does not use the catalog, the corpus, the searches' mixes, or the variations and walks in package claims.
type assembly struct {
	t        testing.TB
	seed     uint64
	dice     *rand.Rand
	doc      *format.Document
	scenario *scenarios.Scenario // the scenario parsed from doc
	ttl      time.Duration
}

// assemble returns a random scenario and plan. The same seed gives the same result.
func assemble(t testing.TB, seed uint64) (*scenarios.Scenario, nemesis.Plan) {
	t.Helper()
	a := &assembly{t: t, seed: seed, dice: rand.New(rand.NewPCG(seed, 0x617373656d626c65))}
	a.skeleton()
	a.settings()
	a.overrides()
	return a.scenario, a.plan()
}

// pick returns one of the given values at random.
func pick[T any](a *assembly, of ...T) T { return of[a.dice.IntN(len(of))] }

// chance returns true with the given probability, in percent.
func (a *assembly) chance(percent int) bool { return a.dice.IntN(100) < percent }

// skeleton draws the settings that every scenario has.
func (a *assembly) skeleton() {
	d := pick(a, locks.Definitions()...)
	servers := 1
	switch {
	case d.Backend != locks.OnRedis:
		servers = pick(a, 1, 3, 3, 5)
	case d.Several:
		servers = pick(a, 2, 3, 3, 5)
	}
	a.ttl = pick[time.Duration](a, 2, 3, 4, 6) * time.Second
	if ttl := d.Setting("ttl"); ttl != nil {
		a.ttl = time.Duration(ttl.Form.Nearest(int64(a.ttl)))
	}
	lines := []string{fmt.Sprintf("name: assembled-%d", a.seed),
		fmt.Sprintf("servers: {%s: %d}", d.Backend, servers),
		fmt.Sprintf("clients: %d", pick(a, 2, 2, 3, 4)),
		fmt.Sprintf("lock: {protocol: %s, ttl: %s}", d.Name, format.DurationText(int64(a.ttl))),
		"limit: 60s"}
	if d.Setting("renew-deadline") != nil {
		lines[3] = fmt.Sprintf("lock: {protocol: %s, ttl: %s, renew-deadline: %s, retry-period: %s}", d.Name,
			format.DurationText(int64(a.ttl)), a.share(60), a.share(10))
	}
	a.begin(lines)
	a.set("work.cycles", fmt.Sprint(1+a.dice.IntN(3)))
	a.set("work.writes", fmt.Sprint(a.dice.IntN(3)))
	a.set("work.hold", pick(a, a.share(5), a.share(50), a.share(110), a.share(200), "validity"))
	if a.chance(20) {
		a.edit(func(doc *format.Document) { doc.SetList("work.locks", []string{"alpha", "beta"}) })
	}
}

func (a *assembly) begin(lines []string) {
	text := strings.Join(lines, "\n") + "\n"
	var err error
	if a.doc, err = format.ParseDocument("assembled", []byte(text)); err == nil {
		a.scenario, err = scenarios.Parse("assembled", []byte(text))
	}
	if err != nil {
		a.t.Fatalf("%v\n%s", err, text)
	}
}

// share formats the given percentage of the TTL.
func (a *assembly) share(percent int) string {
	return format.DurationText(int64((a.ttl * time.Duration(percent) / 100).Truncate(time.Millisecond)))
}

// edit changes the document, unless the result would be an invalid scenario.
func (a *assembly) edit(change func(*format.Document)) {
	doc := a.doc.Clone()
	change(doc)
	if s, err := scenarios.Parse("assembled", []byte(doc.String())); err == nil {
		a.doc, a.scenario = doc, s
	}
}

// set sets a key to a value if the format accepts it.
func (a *assembly) set(path, value string) {
	a.edit(func(doc *format.Document) { doc.Set(path, value) })
}

// chosen lists the keys that assembly.settings does not change: the keys that the skeleton sets, and the keys that
// limit the length of a run.
var chosen = []string{"limit", "bound", "clients", "lock.ttl", "work.cycles", "work.hold", "work.writes"}

// settings sets random values for the keys that are not listed in chosen. It sets lock keys more often than others.
func (a *assembly) settings() {
	all, _ := scenarios.Variables()
	d := locks.Define(a.scenario.Clients[0].Lock.Protocol)
	for _, v := range all {
		name, ofLock := strings.CutPrefix(v.Path, "lock.")
		often := 12
		if ofLock {
			s := d.Setting(name)
			if s == nil {
				continue
			}
			v.Form, often = s.Form, 25
		}
		if v.Path == "resource.fencing" {
			often = 40
		}
		if !slices.Contains(chosen, v.Path) && !strings.HasPrefix(v.Path, "mix.") && a.chance(often) {
			a.set(v.Path, a.value(&v.Form))
		}
	}
}

// value returns a random value that a form allows, with times in proportion to the TTL.
func (a *assembly) value(f *format.Form) string {
	if n := a.dice.IntN(len(f.Words) + 1); n < len(f.Words) {
		return f.Words[n]
	}
	length := func() int64 { return int64(a.ttl) * pick(a, int64(1), 5, 20, 50, 120) / 100 }
	switch f.Kind {
	case format.Count:
		return fmt.Sprint(f.Least + a.dice.Int64N(min(f.Most-f.Least, 4)+1))
	case format.Duration:
		return format.DurationText(f.Nearest(length()))
	case format.Delay:
		from := length()
		return format.DurationText(from) + ".." + format.DurationText(from+pick(a, 0, length()))
	case format.Allowance:
		return fmt.Sprintf("%d%% + 2ms", a.dice.IntN(6))
	case format.Share:
		return fmt.Sprintf("%d%% %s", 1+a.dice.IntN(10), format.DurationText(length()))
	}
	return "" // not accepted, or a mapping with its defaults
}

// overrides gives a client its own settings, or a different order of locks.
func (a *assembly) overrides() {
	client := fmt.Sprintf("overrides.client-%d.", 1+a.dice.IntN(len(a.scenario.Clients)))
	if len(a.scenario.Clients[0].Work.Locks) > 0 && a.chance(50) {
		a.edit(func(doc *format.Document) { doc.SetList(client+"work.locks", []string{"beta", "alpha"}) })
	}
	if !a.chance(25) {
		return
	}
	all, only := scenarios.Variables()
	keys := slices.DeleteFunc(append(all, only...), func(v scenarios.Variable) bool { return !v.Own })
	for range 4 {
		v := pick(a, keys...)
		a.set(client+v.Path, a.value(&v.Form))
	}
}

// plan returns the plan: one to three faults aimed at events in a fault-free run, and up to two decoys, which strike
// anywhere.
func (a *assembly) plan() nemesis.Plan {
	r := scenarios.NewRunner(a.scenario)
	r.ReportSent(true)
	calm, err := r.Run(nemesis.Plan{Scenario: a.scenario.Name, Seed: a.seed})
	if err != nil {
		a.t.Fatalf("%v\n%s", err, a.doc)
	}
	aims := slices.DeleteFunc(slices.Clone(calm.History.Events), func(e history.Event) bool {
		return e.Process == history.Probe || e.F == history.Acquire && e.Type == history.Invoke
	})
	names := a.scenario.Targets()
	for {
		p := nemesis.Plan{Scenario: a.scenario.Name, Seed: a.seed}
		for range 1 + a.dice.IntN(3) {
			if len(aims) > 0 {
				p.Faults = append(p.Faults, a.fault(names, aims, calm.Sent, true)...)
			}
		}
		for range a.dice.IntN(3) {
			p.Faults = append(p.Faults, a.fault(names, calm.History.Events, calm.Sent, false)...)
		}
		if p.Validate(names) == nil {
			return p
		}
	}
}

// fault returns one fault: either one that is aimed at one of the events, or a decoy that strikes any process at any
// time. The list is empty if the scenario does not accept any of the faults that were tried.
func (a *assembly) fault(names nemesis.Names, events []history.Event, sent []nemesis.Sent, aimed bool) []nemesis.Fault {
	everybody := slices.Concat(names.Clients, names.Servers(), []sim.ProcessID{names.Resource})
	for range 200 {
		e := pick(a, events...)
		f := nemesis.Fault{Kind: pick(a, nemesis.Kinds...)}
		anybody := func() sim.ProcessID { return pick(a, everybody...) }
		about := anybody
		if aimed {
			client := e.Process
			if e.Of != "" {
				client = history.Process(strings.Split(string(e.Of), "/")[0])
			}
			about = func() sim.ProcessID { return pick(a, e.Process, client, client, pick(a, names.Servers()...)) }
		}
		lasts := func() time.Duration {
			return (a.ttl * time.Duration(pick(a, 1, 10, 30, 70, 110, 160, 250)) / 100).Truncate(time.Millisecond)
		}
		if f.Kind.Has(nemesis.FieldTarget) {
			f.Target = about()
		}
		if f.Kind.Has(nemesis.FieldPeer) {
			f.Peer = about()
		}
		if f.Kind.Has(nemesis.FieldSides) {
			f.Left, f.Right = []sim.ProcessID{about()}, []sim.ProcessID{about()}
			if a.chance(40) {
				f.Right = names.Servers()
			}
			f.OneWay = a.chance(30)
		}
		if f.Kind.Has(nemesis.FieldBy) {
			f.By = lasts()
			if f.Kind == nemesis.Jump && a.chance(50) {
				f.By = -f.By
			}
		}
		if f.Kind.Has(nemesis.FieldPPM) {
			f.PPM = pick(a, -1, 1) * pick(a, 1000, 20_000, 100_000, 400_000)
		}
		if f.Kind.Has(nemesis.FieldFor) && !(f.Kind.Endless() && a.chance(10)) {
			f.For = lasts()
		}
		if f.Kind.Has(nemesis.FieldLoss) {
			f.Loss = pick(a, nemesis.LosesMemory, nemesis.LosesUnsynced, nemesis.LosesEverything)
		}
		if f.Kind.Has(nemesis.FieldRestart) && a.chance(90) {
			f.Restart = lasts()
		}
		if f.Kind.Has(nemesis.FieldNumber) {
			f.Number = 1 + a.dice.IntN(20)
			if named, ok := nemesis.Named(f, sent); ok && a.chance(50) {
				f = named
			}
		}
		if f.Kind.Has(nemesis.FieldTrigger) && f.Trigger == (nemesis.Trigger{}) {
			f.Trigger.Time = e.Time.Duration()
			switch {
			case !aimed:
				f.Trigger.Time += time.Duration(a.dice.Int64N(int64(3 * time.Second)))
			case a.chance(40):
				f.Trigger = nemesis.Trigger{Point: pick(a, sim.Points...), Pass: 1 + a.dice.IntN(3),
					By: pick(a, names.Clients...), SaidAt: a.chance(50)}
				if f.Trigger.By == f.Target {
					f.Trigger.By = ""
				}
			default:
				f.Trigger.Time += time.Duration(a.dice.Int64N(int64(a.ttl))) * pick[time.Duration](a, 0, 0, 1, -1) / 2
				f.Trigger.Time = max(0, f.Trigger.Time)
			}
			f.Trigger.Time = f.Trigger.Time.Truncate(time.Millisecond)
		}
		if nemesis.Validate(f, names) == nil {
			return []nemesis.Fault{f}
		}
	}
	return nil
}

// assembledStories calls visit for violations in assembled scenarios, until visit returns false. The scenarios have
// consecutive seeds, starting with from. For each pair of law and cause, visit gets at most perCause violations, so
// that rare pairs count as much as frequent ones.
func assembledStories(t testing.TB, from uint64, perCause int, visit func(*claims.Story) bool) {
	t.Helper()
	seen := map[string]int{}
	for seed := from; ; seed++ {
		s, p := assemble(t, seed)
		result, err := scenarios.NewRunner(s).Run(p)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, s.Text(), p)
		}
		r := &claims.Run{Scenario: s, Result: result, Verdict: checker.Check(result.History)}
		for b := range r.Verdict.Breaches() {
			key := fmt.Sprint(b.Law, b.Cause)
			if seen[key] == perCause {
				continue
			}
			seen[key]++
			story := &claims.Story{Run: r, Finding: *b}
			story.Further = nil
			if !visit(story) {
				return
			}
		}
	}
}
