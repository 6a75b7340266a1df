package search

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
	"github.com/fencepost-sim/fencepost/sim"
)

// planOf returns a plan with the given seed and faults, one fault per line.
func planOf(t testing.TB, seed uint64, lines ...string) nemesis.Plan {
	t.Helper()
	p := nemesis.Plan{Scenario: "test", Seed: seed}
	for _, line := range lines {
		f, err := nemesis.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		p.Faults = append(p.Faults, f)
	}
	return p
}

// violation is a plan, together with the law that it violates and the cause.
type violation struct {
	law   checker.Law
	cause checker.Cause
	plan  nemesis.Plan
}

// drawViolations draws a plan for each seed from 1 to seeds, runs it, and returns the violations. For each law and
// cause it returns at most limit violations.
func drawViolations(t testing.TB, s *scenarios.Scenario, seeds uint64, limit int) []violation {
	t.Helper()
	r := scenarios.NewRunner(s)
	calm, err := r.Run(nemesis.Plan{Scenario: s.Name})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := draw.NewGenerator(s.Mix, s.Targets(), min(calm.History.Header.End.Duration(), s.Limit))
	if err != nil {
		t.Fatal(err)
	}
	var list []violation
	count := map[string]int{}
	for seed := uint64(1); seed <= seeds; seed++ {
		plan := nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: faults.Draw(seed)}
		result, err := r.Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range checker.Check(result.History).Findings {
			if f.Outcome != checker.Violated {
				continue
			}
			if what := string(f.Law) + f.Cause.String(); count[what] < limit {
				count[what]++
				list = append(list, violation{f.Law, f.Cause, plan})
			}
		}
	}
	return list
}

func mustShrink(t testing.TB, s *scenarios.Scenario, v violation) *Shrunk {
	t.Helper()
	r, err := Shrink(context.Background(), s, v.plan, Violation{Law: v.law, Cause: v.cause}, 0)
	if err != nil {
		t.Fatalf("%s by %s: %v\n%s", v.law, v.cause, err, v.plan)
	}
	return r
}

// TestKleppmannsPauseIsToldInOneLine shrinks random and handwritten plans that contain Kleppmann's pause. Of each, only
// the pause must remain, in one line and with a round number.
func TestKleppmannsPauseIsToldInOneLine(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	pause := checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}
	found := []violation{
		{checker.MutualExclusion, pause, planOf(t, 321, "pause client-1 for 12.444s after before-write",
			"break client-2 | redis-4 before reply 2")},
		{checker.MutualExclusion, pause, planOf(t, 17, "crash redis-5 losing everything at 2.5s, restart after 1.111s",
			"pause client-1 for 27.777s at 13ms", "drift client-2 clock by +750ppm from 3.1s",
			"jump redis-1 clock by -3.456s at 8.8s")},
	}
	if testkit.Full() {
		found = append(found, drawViolations(t, s, 1500, 3)...)
	}
	told := 0
	for _, v := range found {
		if v.law != checker.MutualExclusion || v.cause != pause {
			continue
		}
		told++
		r := mustShrink(t, s, v)
		want := "scenario kleppmann-gc-pause-mutual-exclusion-pause\nseed 1\npause client-1 for 20s after acquired\n"
		if r.Plan.String() != want || r.Often != shrink.OtherSeeds || r.Ending != campaign.Complete ||
			len(r.First.Faults) < 2 {
			t.Errorf("%v, under %d seeds, from\n%s\ncame\n%s", r.Ending, r.Often, v.plan, r.Plan)
		}
	}
	if told < 4 && testkit.Full() {
		t.Errorf("the pause was found %d times", told)
	}
}

// Violations that random faults cause in the catalog's scenarios are reduced to minimal cases. The test performs its
// own runs to verify three things: no fault can be removed or simplified, the scenario cannot be made smaller, and the
// printed scenario and plan reproduce the violation.
func TestShrunkViolationsAreMinimalAndFailAgain(t *testing.T) {
	names := []string{"fenced-gc-pause", "restart-everysec", "failover-loses-lock", "token-per-client",
		"get-then-del-race", "etcd-lease-pause", "zookeeper-pause", "extension-by-reacquire"}
	seeds := uint64(160)
	if !testkit.Full() {
		names, seeds = names[:3], 30
	}
	shrunk, alone := 0, 0
	for _, name := range names {
		s := named(t, name)
		for _, v := range drawViolations(t, s, seeds, 1) {
			r := mustShrink(t, s, v)
			if shrunk++; len(r.Plan.Faults) <= 1 {
				alone++
			}
			checkMinimal(t, r)
			checkFailsAgain(t, r)
		}
	}
	if shrunk < testkit.Size(2, 2, 12) || alone < shrunk*3/4 {
		t.Errorf("%d violations were shrunk, %d of them to one fault", shrunk, alone)
	}
}

func checkMinimal(t *testing.T, r *Shrunk) {
	t.Helper()
	fails := failsIn(t, r, r.Scenario)
	if !fails(r.Plan) || r.Ending != campaign.Complete || shrink.Often(r.Plan, fails) != r.Often {
		t.Errorf("%v; not %d seeds fail under\n%s", r.Ending, r.Often, r.Plan)
	}
	for i, f := range r.Plan.Faults {
		less := r.Plan
		less.Faults = append(append([]nemesis.Fault{}, r.Plan.Faults[:i]...), r.Plan.Faults[i+1:]...)
		if q, ok := shrink.UnderSomeSeed(less, fails); ok {
			t.Errorf("%s by %s: left was\n%sbut this is less:\n%s", r.Law, r.Cause, r.Plan, q)
		}
		for _, simpler := range shrink.Simpler(f, r.Scenario.Targets()) {
			q := r.Plan
			q.Faults = append([]nemesis.Fault{}, q.Faults...)
			q.Faults[i] = simpler
			if q.Validate(r.Scenario.Targets()) == nil && fails(q) && shrink.Often(q, fails) >= r.Often {
				t.Errorf("%s by %s: left was\n%sbut this is simpler:\n%s", r.Law, r.Cause, r.Plan, q)
			}
		}
	}
	for _, change := range []struct{ from, to string }{{"clients: 3", "clients: 2"}, {"clients: 2", "clients: 1"},
		{"cycles: 2", "cycles: 1"}, {"writes: 1", "writes: 0"}} {
		text := string(r.Scenario.Text())
		if fewer := strings.Replace(text, change.from, change.to, 1); fewer != text {
			s, err := scenarios.Parse("fewer", []byte(fewer))
			if err != nil {
				continue // the edit removed a client that the plan needs
			}
			if q, ok := shrink.UnderSomeSeed(r.Plan, failsIn(t, r, s)); ok {
				t.Errorf("%s by %s: with %s it fails too:\n%s%s", r.Law, r.Cause, change.to, fewer, q)
			}
		}
	}
}

// failsIn returns a function that runs a plan in s, and reports whether the plan violates r's law for r's cause.
func failsIn(t *testing.T, r *Shrunk, s *scenarios.Scenario) func(nemesis.Plan) bool {
	runner := scenarios.NewRunner(s)
	return func(p nemesis.Plan) bool {
		result, err := runner.Run(p)
		if err != nil {
			t.Fatal(err)
		}
		f := checker.Check(result.History).Of(r.Law)
		return f.Outcome == checker.Violated && f.Cause == r.Cause
	}
}

// checkFailsAgain parses the plan file and the scenario file, and runs the plan, as a user would.
func checkFailsAgain(t *testing.T, r *Shrunk) {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range r.Files("locks_test", "") {
		files[f.Name] = f.Text
	}
	s := parsed(t, string(files[ScenarioFile]))
	plan, err := nemesis.ParsePlan(PlanFile, files[PlanFile])
	if err != nil {
		t.Fatal(err)
	}
	if plan.Scenario != "./scenario.yaml" || !reflect.DeepEqual(plan.Faults, s.Faults) || len(files) != 3 {
		t.Errorf("%d files; the plan is\n%sthe scenario\n%s", len(files), plan, s.Text())
	}
	for _, p := range []nemesis.Plan{plan, s.Plan(r.Plan.Seed)} {
		result, err := scenarios.NewRunner(s).Run(p)
		if err != nil {
			t.Fatal(err)
		}
		judged := s.Judge(result)
		if f := judged.Verdict.Of(r.Law); judged.Standing() != document.Failed || len(judged.Mismatches) != 1 ||
			judged.Mismatches[0].Name != string(r.Law) || !reflect.DeepEqual(f, r.Finding) ||
			result.Digest != r.Digest {
			t.Errorf("%s by %s: another outcome: %v, from\n%s", r.Law, r.Cause, judged.Mismatches, p)
		}
	}
	var not *scenarios.NotHeld
	if err := scenarios.CheckLaw(string(s.Text()), r.Plan.Seed, r.Law); !errors.As(err, &not) ||
		not.Finding.Cause != r.Cause {
		t.Errorf("%s by %s: the Go test would say %v", r.Law, r.Cause, err)
	}
}

// noisy is a lock without fencing tokens. Each of its three clients acquires the lock several times. In the plan of
// noisyViolation, only the pause matters.
const noisy = `name: noisy
servers: {redis: 1}
network: {links: {client-3 -> redis-1: 1ms..3ms, client-2 | resource: 2ms}}
clients: 3
lock: {protocol: fenced, ttl: 3s}
work: {cycles: 3, writes: 2}
overrides:
  client-3: {work: {cycles: 4, hold: 50ms}}
  client-1: {work: {writes: 1, start: 200ms..300ms}}
mix: {faults: 5}
promise: [resource-safety]
expect: {mutual-exclusion: holds}
`

func noisyViolation(t testing.TB) violation {
	return violation{checker.ResourceSafety, checker.Cause{Kind: checker.StaleEffect}, planOf(t, 4711,
		"delay client-1 -> redis-1 by 17ms at 312ms for 1.277s",
		"pause client-2 for 6.789s after before-write",
		"jump client-3 clock by -4.4s after acquired by client-2",
		"pause redis-1 for 40ms at 6.021s")}
}

func TestShrinkMakesTheScenarioSmallerToo(t *testing.T) {
	r := mustShrink(t, parsed(t, noisy), noisyViolation(t))
	const want = `name: noisy-resource-safety-superseded-holder-took-effect
summary: >-
  With one fault, the resource accepts what a superseded holder sends: superseded holder took effect. The
  search found this in noisy with 4 faults and simplified the plan. Seed 1 shows it, and so do 16 of the seeds
  1 to 16.
servers: {redis: 1}
network: {links: {client-2 | resource: 2ms}}
clients: 2
lock: {protocol: fenced, ttl: 3s}
work: {writes: 1}
overrides:
  client-1: {work: {start: 200ms..300ms}}
faults:
  - pause client-2 for 5s after acquired
expect:
  lease-exclusion: any
  mutual-exclusion: any
  resource-safety: holds
  ownership: any
  token-order: any
  deadlock-freedom: any
  fault-tolerance: any
  fairness: any
`
	if got := string(r.Scenario.Text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checkMinimal(t, r)
	checkFailsAgain(t, r)
}

// Once the lock is fixed (here, because the resource compares fencing tokens), the scenario and its Go test pass.
func TestAMendedScenarioPasses(t *testing.T) {
	r := mustShrink(t, parsed(t, noisy), noisyViolation(t))
	mended := parsed(t, string(r.Scenario.Text())+"resource: {fencing: on}\n")
	result, err := scenarios.NewRunner(mended).Run(mended.Plan(r.Plan.Seed))
	if err != nil {
		t.Fatal(err)
	}
	if judged := mended.Judge(result); judged.Standing() != document.Passed {
		t.Errorf("%v", judged.Mismatches)
	}
	if err := scenarios.CheckLaw(string(mended.Text()), r.Plan.Seed, r.Law); err != nil {
		t.Error(err)
	}
}

// TestAShrinkKeepsWhatIsAccepted checks that Shrink does not keep a step whose run shows the violation if Accepts
// returns false.
func TestAShrinkKeepsWhatIsAccepted(t *testing.T) {
	s, v := parsed(t, noisy), noisyViolation(t)
	for least := 1; least <= 3; least++ {
		r, err := Shrink(t.Context(), s, v.plan, Violation{Law: v.law, Cause: v.cause,
			Accepts: func(h *history.History) bool { return faultsIn(h) >= least }}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Plan.Faults) != least || r.Ending != campaign.Complete {
			t.Errorf("%d faults were required, %d are left:\n%s", least, len(r.Plan.Faults), r.Plan)
		}
		checkFailsAgain(t, r)
	}
	_, err := Shrink(t.Context(), s, v.plan, Violation{Law: v.law, Cause: v.cause,
		Accepts: func(*history.History) bool { return false }}, 0)
	if differs := (*UnrepeatedError)(nil); !errors.As(err, &differs) {
		t.Errorf("a run that is not accepted: %v", err)
	}
}

// faultsIn returns the number of faults that began in a history.
func faultsIn(h *history.History) (n int) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Fault != nil && e.Type == history.Invoke {
			n++
		}
	}
	return n
}

func TestAShrinkThatEndsEarlySaysSo(t *testing.T) {
	s, v := parsed(t, noisy), noisyViolation(t)
	full := mustShrink(t, s, v)
	faults := len(v.plan.Faults)
	for runs := 1; runs < full.Runs+40; runs += 1 + runs/testkit.Size(1, 3, 3) {
		r, err := Shrink(context.Background(), s, v.plan, Violation{Law: v.law, Cause: v.cause}, runs)
		if err != nil {
			t.Fatal(err)
		}
		checkFailsAgain(t, r)
		if n := shrink.Often(r.Plan, failsIn(t, r, r.Scenario)); n != r.Often {
			t.Errorf("after %d runs %d seeds are said to fail, not %d", runs, r.Often, n)
		}
		switch n := len(r.Plan.Faults); {
		case r.Ending == campaign.Complete && (runs < full.Runs-3 || !reflect.DeepEqual(r.Plan, full.Plan)):
			t.Errorf("of %d runs %d were enough: %v", full.Runs, runs, r.Ending)
		case r.Ending == campaign.OutOfRuns && (runs >= full.Runs || r.Runs > runs+shrink.OtherSeeds+3):
			t.Errorf("of %d runs %d were allowed, and %d made: %v", full.Runs, runs, r.Runs, r.Ending)
		case r.Ending != campaign.Complete && r.Ending != campaign.OutOfRuns || n > faults:
			t.Errorf("after %d runs %v, with %d faults", runs, r.Ending, n)
		default:
			faults = n
		}
	}
	if faults != 1 {
		t.Errorf("%d faults were left in the end", faults)
	}
}

func TestAnInterruptedShrinkGivesWhatItHas(t *testing.T) {
	s, v := parsed(t, noisy), noisyViolation(t)
	for _, checks := range []int{0, 1, 30, 90} {
		r, err := Shrink(campaigntest.DoneAfter(checks), s, v.plan, Violation{Law: v.law, Cause: v.cause}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Ending != campaign.Interrupted {
			t.Errorf("after %d runs: %v", checks, r.Ending)
		}
		if checks == 0 && !reflect.DeepEqual(r.Plan.Faults, v.plan.Faults) {
			t.Errorf("interrupted before the first run, it cut the plan down to %s", r.Plan)
		}
		checkFailsAgain(t, r)
	}
}

func TestWhatCannotBeShrunk(t *testing.T) {
	s, v := parsed(t, noisy), noisyViolation(t)
	for _, c := range []struct {
		plan  nemesis.Plan
		law   checker.Law
		cause checker.Cause
		want  string
	}{
		{planOf(t, 1), v.law, v.cause,
			"resource-safety: superseded holder took effect: the run did not show the violation when it was repeated"},
		{v.plan, checker.Ownership, v.cause,
			"ownership: superseded holder took effect: the run did not show the violation when it was repeated"},
		{v.plan, v.law, checker.Cause{Kind: checker.LostUpdate},
			"resource-safety: update lost: the run did not show the violation when it was repeated"},
		{planOf(t, 1, "pause redis-2 for 1s at 1s"), v.law, v.cause,
			`fault 1, "pause redis-2 for 1s at 1s": column 7: no process of this run is called redis-2 (did you mean "redis-1"?)`},
	} {
		if r, err := Shrink(context.Background(), s, c.plan, Violation{Law: c.law,
			Cause: c.cause}, 0); err == nil || err.Error() != c.want ||
			r != nil {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// TestShrinkingProgramsHasALimit shrinks a violation of a modeled lock, and the same violation of programs. Because a
// run of programs takes much longer, far fewer runs are allowed, and the result must say that it may not be minimal.
func TestShrinkingProgramsHasALimit(t *testing.T) {
	s, v := parsed(t, noisy), noisyViolation(t)
	wide := Violation{Law: v.law, Cause: v.cause, // all faults must stay, so many changes to them are tried
		Accepts: func(h *history.History) bool { return faultsIn(h) >= len(v.plan.Faults) }}
	for _, c := range []struct {
		s      *scenarios.Scenario
		ending campaign.Ending
	}{{s, campaign.Complete}, {asPrograms(s), campaign.OutOfRuns}} {
		r, err := Shrink(t.Context(), c.s, v.plan, wide, 0)
		if err != nil {
			t.Fatal(err)
		}
		most := mostRuns(c.s)
		if few := r.Runs < mostRuns(asPrograms(s)); r.Ending != c.ending || few || r.Runs > most+shrink.OtherSeeds+3 {
			t.Errorf("of %d runs %d were made: %v", most, r.Runs, r.Ending)
		}
	}
}

// asPrograms returns a scenario that is like s, but whose clients count as programs.
func asPrograms(s *scenarios.Scenario) *scenarios.Scenario {
	return s.With(&scenarios.Code{Programs: sim.Points,
		Elsewhere: func(s *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
			modeled, err := scenarios.Parse("modeled", s.Text())
			if err != nil {
				return scenarios.Result{}, err
			}
			runner := scenarios.NewRunner(modeled)
			runner.ReportSent(w.Sent)
			return runner.Run(p)
		}})
}
