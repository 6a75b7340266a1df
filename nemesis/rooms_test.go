package nemesis_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// The tests in this file check that no package depends on a kind's name or has its own list of kinds. They register
// each kind of fault a second time, under its twin's name, and run every package with the kind and with its twin. The
// results must not differ.

var names = nemesistest.Names

// TestAllTestsHaveTheSameNames checks that the tests inside package nemesis use the same names as all others.
func TestAllTestsHaveTheSameNames(t *testing.T) {
	if !reflect.DeepEqual(nemesis.TestNames, nemesistest.Names) {
		t.Errorf("inside: %+v\noutside: %+v", nemesis.TestNames, nemesistest.Names)
	}
}

// alike fails the test unless own and twin, when printed, differ only in case.
func alike(t *testing.T, what string, own, twin any) {
	t.Helper()
	a, b := strings.ToLower(fmt.Sprint(own)), strings.ToLower(fmt.Sprint(twin))
	if a == b {
		return
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-200)
	t.Errorf("%s\n own %.400s\ntwin %.400s", what, a[from:], b[from:])
}

func twinOf(twins map[nemesis.Kind]nemesis.Kind, faults []nemesis.Fault) []nemesis.Fault {
	list := slices.Clone(faults)
	for i := range list {
		if twin, has := twins[list[i].Kind]; has {
			list[i].Kind = twin
		}
	}
	return list
}

// drawn returns random faults of one kind, drawn from the given number of seeds.
func drawn(t *testing.T, k nemesis.Kind, seeds uint64, change func(*draw.Mix)) (faults []nemesis.Fault) {
	t.Helper()
	m := draw.Default()
	m.Weights = draw.Weights{}
	m.Weights[k] = 1
	if change != nil {
		change(&m)
	}
	g, err := draw.NewGenerator(m, names, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range seeds {
		faults = append(faults, g.Draw(seed)...)
	}
	return faults
}

func TestEveryKindIsDrawnWrittenAndShrunkLikeItsTwin(t *testing.T) {
	twins := nemesis.Twins(t)
	usage, many := nemesis.Usage(), uint64(testkit.Size(3, 12, 40))
	for _, k := range slices.Sorted(maps.Keys(twins)) {
		twin := twins[k]
		alike(t, "usage", usage[k-1], usage[twin-1])
		own := drawn(t, k, many, nil)
		others := drawn(t, twin, many, nil)
		alike(t, "drawn", own, others)
		alike(t, "drawn without some", drawn(t, k, many, excluding(t, k, " of clients")),
			drawn(t, twin, many, excluding(t, twin, " of clients")))
		for n, f := range own {
			o := others[n]
			back, err := nemesis.ParseFor(o.String(), names)
			if err != nil || !reflect.DeepEqual(back, o) || o.Kind != twin {
				t.Errorf("%v: %v, read as %v", o, err, back)
			}
			alike(t, "simpler than "+f.String(), shrink.Simpler(f, names), shrink.Simpler(o, names))
		}
		if uint64(len(own)) < many {
			t.Errorf("%d faults of %s", len(own), k)
		}
	}
}

// excluding returns a function that excludes faults of a kind from a mix.
func excluding(t *testing.T, k nemesis.Kind, which string) func(*draw.Mix) {
	return func(m *draw.Mix) {
		x, err := nemesis.ParseExclusion(k.String() + which)
		if err != nil {
			t.Fatal(err)
		}
		m.Without = append(m.Without, x)
	}
}

// TestEveryKindIsJudgedReportedAndDrawnLikeItsTwin runs scenarios from the catalog twice: with a stall added for each
// of their pauses, and with each fault's kind replaced by its twin as well (see Twins). Only a full run tries them all.
func TestEveryKindIsJudgedReportedAndDrawnLikeItsTwin(t *testing.T) {
	twins := nemesis.Twins(t)
	files, err := filepath.Glob("../scenarios/catalogue/*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	seen := map[nemesis.Kind]bool{}
	for i, file := range files {
		if i%testkit.Size(16, 4, 1) != 0 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		own, twin := parsed(t, file, text), parsed(t, file, text)
		if len(own.Faults) == 0 {
			continue
		}
		own.Faults = append(own.Faults, stalls(own)...)
		twin.Faults = twinOf(twins, own.Faults)
		for _, f := range own.Faults {
			seen[f.Kind] = true
		}
		alike(t, file, reportOf(t, own), reportOf(t, twin))
	}
	for _, k := range []nemesis.Kind{nemesis.Pause, nemesis.Stall, nemesis.Jump, nemesis.Drift, nemesis.Crash,
		nemesis.Cut} {
		if !seen[k] && testkit.Full() {
			t.Errorf("no %s among the faults", k)
		}
	}
	if len(seen) < 2 {
		t.Errorf("only %v among the faults", seen)
	}
}

// stalls returns a scenario's pauses, with their kind changed to Stall.
func stalls(s *scenarios.Scenario) (list []nemesis.Fault) {
	for _, f := range s.Faults {
		if f.Kind == nemesis.Pause {
			f.Kind = nemesis.Stall
			list = append(list, f)
		}
	}
	return list
}

// TestDrawnFaultsAreJudgedLikeTheirTwins runs locks with random faults of one kind at a time. It then runs them again
// with that kind replaced by its twin (see Twins).
func TestDrawnFaultsAreJudgedLikeTheirTwins(t *testing.T) {
	twins := nemesis.Twins(t)
	seeds := uint64(testkit.Size(1, 2, 12))
	struck := map[nemesis.Kind]int{}
	for _, text := range replicatedAndConsensus {
		for _, k := range slices.Sorted(maps.Keys(twins)) {
			own, twin := parsed(t, "drawn.yaml", []byte(text)), parsed(t, "drawn.yaml", []byte(text))
			known := own.Targets()
			if targets := nemesis.TargetsOf(&known); !targets.Has(k) {
				continue
			}
			for seed := range seeds {
				own.Mix.Weights = draw.Weights{}
				own.Mix.Weights[k] = 1
				own.Mix.Swarm = false
				g, err := draw.NewGenerator(own.Mix, known, 20*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				own.Faults = g.Draw(seed)
				twin.Faults = twinOf(twins, own.Faults)
				alike(t, fmt.Sprintf("%s, %v", own.Name, own.Faults), reportOf(t, own), reportOf(t, twin))
				struck[k] += strikes(t, own, k)
			}
		}
	}
	for k := range twins {
		if struck[k] == 0 {
			t.Errorf("no %s has struck", k)
		}
	}
}

var replicatedAndConsensus = []string{
	"name: replicated\nservers: {redis: 1, replicas: 2, persistence: {append-fsync: everysec}}\n" +
		"lock: {protocol: set-nx-px, ttl: 4s}\n" +
		"work: {writes: 1, cycles: 2, stagger: 3s}\nlimit: 3m\n",
	"name: sessions\nservers: {etcd: 3}\nlock: {protocol: etcd, ttl: 4s}\n" +
		"work: {writes: 1, cycles: 2, stagger: 3s}\nlimit: 3m\n",
}

// strikes counts the faults of a kind in a run's history. It also checks that each of these faults ends the moment it
// begins, except for kinds that, according to history.FaultKinds, go on for some time or end a process.
func strikes(t *testing.T, s *scenarios.Scenario, k nemesis.Kind) int {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	under := map[string]history.Time{}
	for _, e := range r.History.Events {
		switch {
		case e.Process != history.Nemesis || e.F != history.F(k.String()):
		case e.Type == history.Invoke:
			n++
			under[e.Value] = e.Time
		case e.Type == history.OK:
			if at, struck := under[e.Value]; !struck || !e.F.Lasts() && !e.F.IsDown() && at != e.Time {
				t.Errorf("%s: ended at %v, struck %v", e.Value, e.Time, under)
			}
			delete(under, e.Value)
		}
	}
	if e := history.F(k.String()).Does(); e == history.Unknown {
		t.Errorf("a history does not know what %s does", k)
	}
	return n
}

func parsed(t *testing.T, name string, text []byte) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reportOf runs a scenario and returns everything that is reported about the run: the history, the verdict with its
// trials, the headline, each fault's outcome, the text and the page.
func reportOf(t *testing.T, s *scenarios.Scenario) string {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	verdict := checker.Check(r.History)
	if err := single.NewTrials(s).Try(r.Plan, r.History, &verdict); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := history.Encode(&out, r.History); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%+v\n%s\n", verdict, headline.Of(r.History, verdict))
	planned := campaign.PlannedIn(r.Plan.Faults, r.History)
	faults := campaign.NewFaults()
	var counting campaign.Strikes
	counting.Count(faults, r.Plan.Faults, r.History)
	slices.SortFunc(faults, func(a, b campaign.Fault) int {
		return strings.Compare(strings.ToLower(fmt.Sprint(a)), strings.ToLower(fmt.Sprint(b)))
	})
	fmt.Fprintln(&out, planned, slices.DeleteFunc(faults, func(f campaign.Fault) bool { return f.Drawn == 0 }))
	run := &single.Run{Scenario: s.Name, Verdict: verdict, History: r.History,
		Simulated: r.History.Header.End.Duration()}
	for _, f := range planned {
		run.Plan, run.Idle = append(run.Plan, f.Line), append(run.Idle, single.Active)
	}
	if err := run.Document().Text(&out, document.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := run.Document().HTML(&out, "page.html"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestEveryKindIsPlacedLikeItsTwin checks that a verification places faults of a kind in the same way as faults of its
// twin (see Twins).
func TestEveryKindIsPlacedLikeItsTwin(t *testing.T) {
	twins := nemesis.Twins(t)
	for _, text := range []string{
		"name: x\nservers: {redis: 1, persistence: {append-fsync: everysec}}\nnetwork: {delay: 1ms}\n" +
			"lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}, clock: wall}\npromise: [ownership]\n",
		"name: x\nservers: {redis: 1, replicas: 1}\nnetwork: {delay: 1ms}\nlock: {protocol: set-nx-px, ttl: 2s}\n",
		"name: x\nservers: {etcd: 3}\nnetwork: {delay: 1ms}\nlock: {protocol: etcd, ttl: 2s}\n",
	}[:testkit.Size(1, 3, 3)] {
		s := parsed(t, "verified.yaml", []byte(text))
		scope := verify.ScopeOf(s)
		placed := map[nemesis.Kind]string{}
		for _, k := range scope.Every {
			placed[k] = "tried"
		}
		if len(placed) < 10 {
			t.Errorf("%s\nonly %v are tried", text, placed)
		}
		for _, r := range slices.Concat(scope.Random, scope.None) {
			placed[r.Kind] += r.Why
		}
		for k, twin := range twins {
			alike(t, k.String(), placed[k], placed[twin])
			// with etcd there are too many placements to compare
			if strings.HasPrefix(placed[k], "tried") && s.Servers.Backend != locks.OnEtcd {
				alike(t, k.String(), placements(t, s, k), placements(t, s, twin))
			}
		}
	}
}

func placements(t *testing.T, s *scenarios.Scenario, k nemesis.Kind) string {
	t.Helper()
	options := verify.Options{Faults: 1, Delays: 1, Kinds: []nemesis.Kind{k}, Crew: campaign.Crew{Workers: 1}}
	v, err := verify.Scenario(context.Background(), s, options)
	if err != nil {
		t.Fatal(err)
	}
	if runs := v.Lengths[len(v.Lengths)-1].Runs; runs < 5 {
		t.Errorf("%d runs with %s", runs, k)
	}
	return fmt.Sprintf("%+v %+v", v.Lengths, v.Found)
}

// TestEveryKindIsReadAndSweptLikeItsTwin writes faults and each kind's weight into a scenario file, and sweeps over the
// values in the faults.
func TestEveryKindIsReadAndSweptLikeItsTwin(t *testing.T) {
	twins := nemesis.Twins(t)
	for _, text := range replicatedAndConsensus {
		for k, twin := range twins {
			s := parsed(t, "swept.yaml", []byte(text))
			known := s.Targets()
			if targets := nemesis.TargetsOf(&known); !targets.Has(k) {
				continue
			}
			m := s.Mix
			m.Weights = draw.Weights{}
			m.Weights[k] = 1
			g, err := draw.NewGenerator(m, known, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			faults := g.Draw(3)
			if len(faults) == 0 {
				t.Errorf("no %s was drawn", k)
			}
			alike(t, k.String(), axes(t, text, faults, k), axes(t, text, twinOf(twins, faults), twin))
		}
	}
}

// axes returns the values that a sweep can vary in a scenario with these faults.
func axes(t *testing.T, text string, faults []nemesis.Fault, k nemesis.Kind) (listed []string) {
	t.Helper()
	text += "faults:\n"
	for _, f := range faults {
		text += fmt.Sprintf("  - %q\n", f)
	}
	s := parsed(t, "swept.yaml", []byte(text+fmt.Sprintf("mix: {weights: {%s: 7}}\n", k)))
	if !reflect.DeepEqual(s.Faults, faults) || s.Mix.Weights[k] != 7 {
		t.Errorf("%v was read as %v, %v", faults, s.Faults, s.Mix.Weights)
	}
	subject, err := sweep.NewSubject(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range faults {
		for _, value := range []string{"restart=1s,2s", "for=1s,2s", "by=1s,2s", "ppm=1ppm,2ppm", "at=1s,2s",
			"pass=1,2", "number=1,2"} {
			a, err := subject.Axis(fmt.Sprintf("faults.%d.%s", i+1, value))
			if err != nil {
				listed = append(listed, err.Error())
				continue
			}
			listed = append(listed, a.Title(subject))
		}
	}
	return listed
}

// TestAKindIsCompleteOrRefused checks that if a kind is incomplete, register panics when the program starts, and says
// what is missing.
func TestAKindIsCompleteOrRefused(t *testing.T) {
	want := []string{
		`nemesis: the definition of the fault "nothing that a history knows" has no row in history.FaultKinds`,
		`nemesis: the definition of the fault "pause" is registered twice`,
		`nemesis: the definition of the fault "half" does not say what happens`,
		`nemesis: the definition of the fault "half" does not say how the fault begins`,
		`nemesis: the definition of the fault "half" does not say how the fault ends`,
		`nemesis: the definition of the fault "half" does not say how the fault is drawn at random`,
		`nemesis: the definition of the fault "half" does not say how the fault is drawn at random`,
		`nemesis: the definition of the fault "half" does not say how the fault is drawn at random`,
		`nemesis: the definition of the fault "half" does not say which processes the fault can affect`,
		`nemesis: the definition of the fault "half" does not say at which times fencepost verify tries the fault`,
		`nemesis: the definition of the fault "half" does not say at which times fencepost verify tries the fault`,
		`nemesis: the definition of the fault "half" lacks a field that fencepost verify sets`,
	}
	got := nemesis.Incomplete(t)
	if len(got) != len(want) {
		t.Fatalf("%d incomplete kinds, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %s\nwant %s", i, got[i], want[i])
		}
	}
}
