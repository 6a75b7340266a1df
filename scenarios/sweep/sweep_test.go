package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// sweeping is a sweep of a scenario from the catalog or from a file.
type sweeping struct {
	scenario       string
	set, vary      []string
	asserts        []string
	seeds, workers int
	sure           int
}

func (c sweeping) subject(t testing.TB) *Subject {
	t.Helper()
	load := scenarios.Named
	if strings.HasSuffix(c.scenario, ".yaml") {
		load = scenarios.Load
	}
	s, err := load(c.scenario)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSubject(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range c.set {
		if err := b.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (c sweeping) options(t testing.TB, b *Subject) Options {
	t.Helper()
	o := Options{From: 1, Seeds: max(c.seeds, 1), Sure: c.sure, Crew: campaign.Crew{Workers: c.workers}}
	for _, text := range c.vary {
		o.Axes = append(o.Axes, axisOf(t, b, text))
	}
	for _, text := range c.asserts {
		a, err := b.Assertion(o.Axes, text)
		if err != nil {
			t.Fatal(err)
		}
		o.Assertions = append(o.Assertions, a)
	}
	var err error
	if o.Laws, err = b.Judged(nil, o.Assertions); err != nil {
		t.Fatal(err)
	}
	return o
}

func (c sweeping) run(t testing.TB) *Sweep {
	t.Helper()
	b := c.subject(t)
	s, err := b.Sweep(context.Background(), c.options(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcomes returns the state of a law at each point of the grid.
func outcomes(s *Sweep, law checker.Law) (states []State) {
	for _, p := range s.Points {
		states = append(states, p.State(law))
	}
	return states
}

const worstCase = "../testdata/delayed-restart-worst-case.yaml"

// TestAForgetfulServerMustStayAwayAsLongAsTheValidity finds out how long a server that has lost its data must stay
// down. The Redlock document says that this must be longer than the longest TTL. In fact, the validity that the holder
// was told is enough: TTL - 1% - 2 ms, measured from the first request. This explains the edge at 9.9 s for a TTL of 10
// s.
func TestAForgetfulServerMustStayAwayAsLongAsTheValidity(t *testing.T) {
	s := sweeping{scenario: worstCase, vary: []string{"restart=100ms..1.1s/500ms", "lock.ttl=250ms,500ms,1s"},
		seeds: testkit.Size(3, 10, 10),
		asserts: []string{"lease-exclusion holds when restart >= ttl * 1.01 + 2ms",
			"lease-exclusion holds when restart >= ttl"}}.run(t)
	for i, line := range s.lines(checker.LeaseExclusion) {
		validity := s.Axes[1].Levels[i].N/100*99 - int64(2*time.Millisecond)
		always, safe := line.Stretches[0], line.Stretches[len(line.Stretches)-1]
		if always.State != Broken || safe.State != Safe || !line.monotone() {
			t.Fatalf("%+v", line)
		}
		// The server crashes about 2 ms after the first request, and the next client needs a few round trips.
		if safe.From.N > validity || always.To.N > safe.From.N || always.To.N < validity-int64(20*time.Millisecond) {
			t.Errorf("TTL %s: %s; the validity is %s", line.Other.Text, line.Words(""), time.Duration(validity))
		}
	}
	for _, a := range s.Asserted {
		if a.Standing != document.Passed || a.Points < 6 {
			t.Errorf("%s: %v at %d points", a.Text, a.Standing, a.Points)
		}
	}
}

// TestTheDelayedRestartStandsAndFallsWithTheDriftAllowance makes the holder's clock slow, so that the lease lasts
// longer. The shortest restart delay that is safe then becomes (TTL - 1% - 2 ms) / (1 + drift). As long as the drift is
// within the allowance, this is less than the TTL, and the Redlock document's rule holds. If the drift exceeds the
// allowance, keys expire before the holder stops, and no restart delay helps.
func TestTheDelayedRestartStandsAndFallsWithTheDriftAllowance(t *testing.T) {
	s := sweeping{scenario: worstCase, set: []string{"lock.ttl=1s", "faults.3=drift client-1 clock by -1ppm from 0s"},
		seeds: testkit.Size(2, 4, 10),
		vary: []string{fmt.Sprintf("restart=900ms..1.1s/%dms", testkit.Size(200, 50, 50)),
			"ppm=-40000ppm,-10000ppm,0ppm,10000ppm"},
		asserts: []string{"lease-exclusion holds when restart >= ttl * 1.01 + 2ms",
			"lease-exclusion holds when restart >= ttl * 1.01 + 2ms && ppm >= -1%",
			"lease-exclusion holds when restart >= (ttl * 0.99 - 2ms) / (1 + ppm) && ppm >= -1%"}}.run(t)
	want := []document.Result{document.Failed, document.Passed, document.Passed}
	for i, a := range s.Asserted {
		if a.Standing != want[i] {
			t.Errorf("%s: %v at %d points", a.Text, a.Standing, a.Points)
		}
	}
	lines := s.lines(checker.LeaseExclusion)
	if len(lines[0].Stretches) != 1 || lines[0].Stretches[0].State != Broken {
		t.Errorf("beyond the allowance: %+v", lines[0])
	}
	for i, ppm := range []int64{-10_000, 0, 10_000} {
		stretches := lines[i+1].Stretches
		always, safe := stretches[0].To.N, stretches[len(stretches)-1].From.N
		if theory := int64(988e6) * 1_000_000 / (1_000_000 + ppm); safe > theory || always < theory-20e6 {
			t.Errorf("%d ppm: %s; the lease lasts %s", ppm, lines[i+1].Words(""), time.Duration(theory))
		}
	}
}

// TestEveryKindOfKeyIsSwept varies settings of every type, in situations whose outcome follows from the protocol. Where
// the outcome changes between two numbers, the edge must be bisected.
func TestEveryKindOfKeyIsSwept(t *testing.T) {
	for name, c := range map[string]struct {
		sweeping
		want []State // expected states of lease-exclusion
	}{
		"fsync policy": {sweeping{scenario: "restart-everysec",
			vary: []string{"append-fsync=always,everysec,no"}}, []State{Safe, Broken, Broken}},
		"number of servers, all but two voted": {sweeping{scenario: "restart-forgets",
			vary: []string{"servers.redis=4..7/1"}}, []State{Invalid, Broken, Safe, Safe}},
		"quorum": {sweeping{scenario: "restart-forgets",
			vary: []string{"quorum=1..6/1"}}, []State{Broken, Broken, Broken, Safe, Safe, Invalid}},
		"TTL, beyond the delay of the restart": {sweeping{scenario: "delayed-restart",
			set: []string{"hold=validity"}, vary: []string{"ttl=10s,20s"}}, []State{Safe, Broken}},
		"jump of a server's clock": {sweeping{scenario: "kleppmann-clock-jump",
			vary: []string{"by=-5s..25s/15s"}}, []State{Safe, Broken, Broken}},
		"pause": {sweeping{scenario: "no-elapsed-check",
			vary: []string{"for=0s,1s,12s"}}, []State{Safe, Safe, Broken}},
		"one client alone": {sweeping{scenario: "delayed-restart",
			set: []string{"restart=8s"}, vary: []string{"overrides.client-1.work.hold=7s,9s"}}, []State{Safe, Broken}},
		"drift of a majority of servers, in and out of bounds": {sweeping{scenario: "drift-allowance",
			vary: []string{"faults.1.ppm,faults.2.ppm,faults.3.ppm=0ppm,5000ppm,30000ppm"}},
			[]State{Safe, Safe, Broken}},
		"several restarts at a time": {sweeping{scenario: "majority-crash",
			vary: []string{"faults.1.restart,faults.2.restart,faults.3.restart=0s,11s"}}, []State{Broken, Safe}},
		"replica lag": {sweeping{scenario: "failover-loses-lock", vary: []string{"by=0s,400ms,1600ms"},
			set: []string{"faults.1=delay redis-1 -> redis-1-replica-1 by 1s at 0s for 10s"}},
			[]State{Safe, Safe, Broken}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			c.seeds = 3
			s := c.run(t)
			got := outcomes(s, checker.LeaseExclusion)
			if !slices.Equal(got, c.want) {
				t.Errorf("came to %v, want %v", got, c.want)
			}
			here := slices.Clone(got) // for each point, the state after the last edge between it and the next point
			for _, e := range s.Edges {
				if gap := e.First.Levels[0].N - e.Last.Levels[0].N; !e.Exact || gap < 1 || gap > s.resolution(0) {
					t.Errorf("the edge is between %s and %s", e.Last.Levels[0].Text, e.First.Levels[0].Text)
				}
				if e.Law != checker.LeaseExclusion {
					continue
				}
				if e.Before != here[e.Point] || e.After == e.Before {
					t.Errorf("the edge at %s leads from %v to %v, not from %v", e.First.Levels[0].Text, e.Before,
						e.After, here[e.Point])
				}
				here[e.Point] = e.After
			}
			for i := 1; i < len(got); i++ {
				if s.Axes[0].ordered() && got[i] != Invalid && got[i-1] != Invalid && here[i-1] != got[i] {
					t.Errorf("edges lead from %v to %v, which is %v", got[i-1], here[i-1], got[i])
				}
			}
		})
	}
}

// printed returns everything that a sweep has found, as text.
func printed(s *Sweep) string {
	var b strings.Builder
	point := func(p *Point) {
		fmt.Fprintf(&b, "%s %q %+v %+v %v %d\n", s.words(p.Levels), p.Problem, p.Laws, p.Findings, p.Struck, p.Runs)
	}
	for _, points := range [][]*Point{s.Points, s.Between} {
		for _, p := range points {
			point(p)
		}
	}
	for _, e := range s.Edges {
		fmt.Fprintf(&b, "%s %d %d %s %s %v\n", e.Law, e.Axis, e.Point, s.words(e.Last.Levels), s.words(e.First.Levels),
			e.Exact)
	}
	for _, a := range s.Asserted {
		fmt.Fprintf(&b, "%s %v %d %d %v %+v\n", a.Text, a.Standing, a.Points, a.Seed, a.True, a.Turns)
	}
	return b.String()
}

func TestWorkersChangeNothing(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := sweeping{scenario: worstCase, vary: []string{"restart=50ms..350ms/100ms", "ttl=100ms..300ms/100ms"}, seeds: 3,
		workers: 1, asserts: []string{"lease-exclusion holds when restart >= ttl * 0.7"}}
	want := printed(c.run(t))
	if !strings.Contains(want, "lost in crash") {
		t.Errorf("nothing was found:\n%s", want)
	}
	for _, c.workers = range []int{2, 5} {
		if got := printed(c.run(t)); got != want {
			t.Errorf("%d workers found\n%s\none found\n%s", c.workers, got, want)
		}
	}
}

// TestAssertionsAreTriedAtTheirBounds checks that a condition is also tried at the value where it becomes true.
// Otherwise, a claim could pass just because the grid is coarse. If an assertion fails, a run of the report's scenario
// file must fail too.
func TestAssertionsAreTriedAtTheirBounds(t *testing.T) {
	c := sweeping{scenario: worstCase, set: []string{"lock.ttl=1s"}, vary: []string{"restart=0s..2s/1s"}, seeds: 5,
		asserts: []string{
			"lease-exclusion holds when restart >= 900ms", "lease-exclusion holds when restart > 2s",
			"lease-exclusion is violated when restart <= 900ms"}}
	b := c.subject(t)
	s, err := b.Sweep(context.Background(), c.options(t, b))
	if err != nil {
		t.Fatal(err)
	}
	failed := s.Asserted[0]
	if failed.Standing != document.Failed || s.Standing() != document.Failed ||
		s.words(failed.Counter.Levels) != "restart 900ms" || failed.Counter.State(checker.LeaseExclusion) != Broken {
		t.Fatalf("%+v", failed)
	}
	text := s.Claimed(failed.Counter, failed.Law, failed.Want)
	again, err := scenarios.Parse("again.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	result, err := scenarios.NewRunner(again).Run(again.Plan(failed.Seed))
	if err != nil {
		t.Fatal(err)
	}
	if j := again.Judge(result); j.Standing() != document.Failed ||
		j.Verdict.Of(checker.LeaseExclusion).Outcome != checker.Violated {
		t.Errorf("seed %d came out as %v", failed.Seed, j.Verdict.Of(checker.LeaseExclusion))
	}
	seen, err := s.Seen(failed.Counter, failed.Seed)
	if err != nil {
		t.Fatal(err)
	}
	if again, err = scenarios.Parse("seen.yaml", []byte(seen)); err != nil {
		t.Fatalf("%v\n%s", err, seen)
	}
	if j := again.Judge(result); j.Standing() != document.Passed || len(again.Expect.Laws) < 3 {
		t.Errorf("what was seen is not expected: %v\n%s", j.Mismatches, seen)
	}
	if s.Asserted[1].Standing != document.NotJudged || s.Asserted[1].Points != 0 {
		t.Errorf("true nowhere, but %+v", s.Asserted[1])
	}
	if s.Asserted[2].Standing != document.Passed {
		t.Errorf("%+v", s.Asserted[2])
	}
}

// TestWhatIsNotExercisedIsNotSafe checks that a point at which a law is not judged does not count as safe, and that a
// fault that never strikes is reported.
func TestWhatIsNotExercisedIsNotSafe(t *testing.T) {
	s := sweeping{scenario: "fenced-gc-pause", vary: []string{"work.writes=0..1/1"},
		set: []string{"faults.2=pause client-1 for 1s after before-extend"}}.run(t)
	if got := outcomes(s, checker.ResourceSafety); !slices.Equal(got, []State{Unjudged, Safe}) {
		t.Errorf("resource-safety comes to %v: without writes nothing is judged", got)
	}
	if got := s.idle(); !slices.Equal(got, []int{2}) {
		t.Errorf("faults %v never struck; the lock is never extended", got)
	}
}

// durations lists n different durations.
func durations(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%dms", i+1))
	}
	return strings.Join(list, ",")
}

func TestNonsenseIsNotSwept(t *testing.T) {
	for want, c := range map[string]sweeping{
		"a sweep has one axis or two, not 3": {vary: []string{"ttl=1s,2s",
			"restart=1s,2s", "hold=1s,2s"}},
		"a sweep has one axis or two, not 0": {},
		"the grid has 10201 points, but a sweep has at most 10000": {vary: []string{"ttl=1s..101s/1s",
			"restart=1s..101s/1s"}},
		"the grid has 10001 points, but a sweep has at most 10000": {vary: []string{"ttl=" + durations(10_001)}},
		"lock.ttl is varied twice": {vary: []string{"ttl=1s,2s",
			"limit,lock.ttl=1s,2s"}},
		"there are fewer than 0 seeds from seed 1 on": {vary: []string{"ttl=1s,2s"}, seeds: -1},
		"the number of workers cannot be negative: -1": {vary: []string{"ttl=1s,2s"},
			workers: -1},
		"no combination of the values gives a valid scenario; at quorum 6: the quorum is 6, but there are " +
			"only": {vary: []string{"quorum=6..7/1"}},
		"division by zero": {vary: []string{"restart=0s..2s/1s"},
			asserts: []string{"ownership holds when ttl / restart > 2"}},
		"fault 2 cannot take this " +
			"value": {vary: []string{"restart=-2s..-1s/1s"}},
	} {
		c.scenario = "delayed-restart"
		b := c.subject(t)
		o := c.options(t, b)
		o.Seeds = max(c.seeds, 1)
		if c.seeds < 0 {
			o.Seeds = 0
		}
		if _, err := b.Sweep(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAnInterruptedSweepTellsWhatItHas interrupts a sweep after different numbers of runs. No point may have a
// different outcome than in the complete sweep, and points that were not run must not be judged. Each range in which
// the interrupted sweep locates an edge may be wider than in the complete sweep, but must contain one of the complete
// sweep's edges.
func TestAnInterruptedSweepTellsWhatItHas(t *testing.T) {
	c := sweeping{scenario: "delayed-restart", vary: []string{"restart=1s..13s/4s"},
		asserts: []string{"lease-exclusion holds when restart >= 20s"}}
	b := c.subject(t)
	o := c.options(t, b)
	o.Seeds, o.Workers = 2, 1
	whole, err := b.Sweep(context.Background(), o)
	if err != nil || whole.Interrupted || len(whole.Edges) == 0 {
		t.Fatalf("%v, %d edges", err, len(whole.Edges))
	}
	cutEdges := 0
	step := 7
	if testkit.Full() {
		step = 1
	}
	for checks := 0; checks < 60; checks += step {
		s, err := b.Sweep(campaigntest.DoneAfter(checks), o)
		if err != nil || len(s.Points) != len(whole.Points) {
			t.Fatalf("after %d checks: %v", checks, err)
		}
		if !s.Interrupted {
			continue
		}
		if s.Standing() != document.Undecided {
			t.Errorf("after %d checks it stands %v", checks, s.Standing())
		}
		for _, law := range s.Laws {
			for i, p := range s.Points {
				if state := p.State(law); state != Unjudged && state != whole.Points[i].State(law) {
					t.Errorf("after %d checks %s is %v at %s, in the whole sweep %v", checks, law, state,
						s.words(p.Levels), whole.Points[i].State(law))
				}
			}
		}
		for _, e := range s.Edges {
			inside := slices.ContainsFunc(whole.Edges, func(w Edge) bool {
				return w.Law == e.Law && e.Last.Levels[0].N <= w.Last.Levels[0].N &&
					w.First.Levels[0].N <= e.First.Levels[0].N
			})
			if !inside || e.Exact == e.Stopped {
				t.Errorf("after %d checks there is an edge of %s from %v to %v, exact %t", checks, e.Law, e.Last.Levels,
					e.First.Levels, e.Exact)
			}
			if e.Stopped {
				cutEdges++
			}
		}
	}
	if cutEdges == 0 {
		t.Error("no search for an edge was interrupted")
	}
}
