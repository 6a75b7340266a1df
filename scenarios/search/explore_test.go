package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
)

func named(t testing.TB, name string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parsed(t testing.TB, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// explored performs a whole exploration and returns its result, without the plans that the exploration holds.
func explored(t testing.TB, s *scenarios.Scenario, from uint64, seeds int, shard Shard, workers int) *Result {
	t.Helper()
	e, err := NewExploration(s, from, seeds, shard)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Run(context.Background(), s, workers, nil); err != nil {
		t.Fatal(err)
	}
	e.plans = nil
	return e
}

func TestTheGCPauseIsFoundFromTheDefaultMix(t *testing.T) {
	e := explored(t, named(t, "kleppmann-gc-pause"), 1, 300, Whole, 0)
	for _, f := range e.Findings {
		if f.Law == checker.MutualExclusion &&
			f.Cause == (checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}) {
			return
		}
	}
	t.Errorf("300 seeds found %+v", e.Findings)
}

// An exploration has the same counts as separate runs of each plan.
func TestAnExplorationCountsWhatItsRunsShow(t *testing.T) {
	s := named(t, "fenced-gc-pause")
	e := explored(t, s, 7, 150, Whole, 2)
	plans, err := e.Plans(s)
	if err != nil {
		t.Fatal(err)
	}
	laws, findings, first := map[string]int{}, map[string]int{}, map[string]uint64{}
	drawn := 0
	for seed := uint64(7); seed < 157; seed++ {
		plan := plans.Plan(seed)
		drawn += len(plan.Faults)
		r, err := scenarios.NewRunner(s).Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range checker.Check(r.History).Findings {
			laws[fmt.Sprint(f.Law, f.Outcome)]++
			for b := range f.Breaches() {
				key := fmt.Sprint(b.Law, b.Cause)
				if findings[key]++; findings[key] == 1 {
					first[key] = seed
				}
			}
		}
	}
	for _, l := range e.Laws {
		for outcome, n := range map[checker.Outcome]int{checker.Holds: l.Holds, checker.Violated: l.Violated,
			checker.Undecided: l.Undecided, checker.Unchecked: l.Unchecked} {
			if want := laws[fmt.Sprint(l.Law, outcome)]; n != want {
				t.Errorf("%s %s in %d runs, counted %d", l.Law, outcome, want, n)
			}
		}
	}
	if len(e.Findings) != len(findings) || len(findings) < 2 {
		t.Errorf("found %d, want %d", len(e.Findings), len(findings))
	}
	for _, f := range e.Findings {
		key := fmt.Sprint(f.Law, f.Cause)
		if f.Runs != findings[key] || f.First != first[key] {
			t.Errorf("%s: in %d runs from seed %d on, want %d from %d", key, f.Runs, f.First, findings[key], first[key])
		}
	}
	if all := e.allFaults(); all.Drawn != drawn || all.Struck == 0 || all.Met == 0 || all.Struck > all.Drawn ||
		all.Met > all.Struck {
		t.Errorf("%+v; drew %d", all, drawn)
	}
}

// The result does not depend on the number of workers or shards, or on interruptions, even if plans depend on the
// results of earlier runs.
func TestAnExplorationIsTheSameHoweverItIsDivided(t *testing.T) {
	for guided, seeds := range map[int]int{0: testkit.Size(60, 333, 333), 50: testkit.Size(60, together, together)} {
		s := named(t, "kleppmann-gc-pause")
		s.Mix.Guided = guided
		theSameHoweverDivided(t, s, together-150, seeds)
	}
}

func theSameHoweverDivided(t *testing.T, s *scenarios.Scenario, from uint64, seeds int) {
	want := explored(t, s, from, seeds, Whole, 1)
	for _, workers := range []int{2, 8}[testkit.Size(1, 1, 0):] {
		if got := explored(t, s, from, seeds, Whole, workers); !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers: %+v\nwant %+v", workers, got, want)
		}
	}
	for _, of := range []int{1, 2, 5}[testkit.Size(2, 2, 0):] {
		var parts []*Result
		for i := of; i >= 1; i-- { // the order of the parts does not matter
			parts = append(parts, explored(t, s, from, seeds, Shard{i, of}, 2))
		}
		got, err := Merge(parts, func(i int) string { return fmt.Sprint(i) })
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d shards: %v, %+v\nwant %+v", of, err, got, want)
		}
	}
	stopped, err := NewExploration(s, from, seeds, Whole)
	if err != nil {
		t.Fatal(err)
	}
	for calls := 0; !stopped.Finished(); calls++ {
		ctx, cancel := context.WithCancel(context.Background())
		err := stopped.Run(ctx, s, 2, cancel)
		cancel()
		if err != nil || calls > seeds {
			t.Fatalf("after %d interruptions: %v", calls, err)
		}
		line, err := stopped.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if stopped, err = Decode(line); err != nil {
			t.Fatal(err)
		}
	}
	if stopped.plans = nil; !reflect.DeepEqual(stopped, want) {
		t.Errorf("interrupted: %+v\nwant %+v", stopped, want)
	}
}

func TestShardsShareAllPositions(t *testing.T) {
	for _, n := range []int{1, 2, 7, 39, 40, math.MaxInt} {
		for of := 1; of <= min(n, 8); of++ {
			next := 0
			for index := 1; index <= of; index++ {
				s := Shard{index, of}
				from, to := s.bounds(n)
				if size := s.Size(n); from != next || to <= from || size != to-from || size < n/of || size-1 > n/of {
					t.Errorf("shard %s of %d begins at %d and has %d, after one that ends at %d", s, n, from, size,
						next)
				}
				next = to
			}
			if next != n {
				t.Errorf("%d in %d shards: %d positions", n, of, next)
			}
		}
	}
	for _, text := range []string{"", "1", "0/3", "4/3", "a/b", "1/0", "-1/3", "1/1000000"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
	if s, err := ParseShard("2/5"); err != nil || s != (Shard{2, 5}) {
		t.Errorf("2/5 is %v, %v", s, err)
	}
}

func TestWrongSpansAreNotMerged(t *testing.T) {
	s, other := named(t, "kleppmann-gc-pause"), named(t, "fenced-gc-pause")
	a, b := explored(t, s, 1, 20, Shard{1, 3}, 1), explored(t, s, 1, 20, Shard{2, 3}, 1)
	for want, parts := range map[string][]*Result{
		"nothing to merge": nil,
		"part 0 and part 2 overlap: both have run 1–6":   {a, b, a},
		"part 0 and part 1 overlap: both have run 4–6":   {a, explored(t, s, 4, 20, Whole, 1)},
		"part 1 and part 2 overlap: both have run 11–13": {a, b, explored(t, s, 1, 20, Shard{2, 2}, 1)},
		"from different scenarios":                       {a, explored(t, other, 1, 20, Shard{2, 3}, 1)},
		"too many for one search":                        {a, explored(t, s, math.MaxUint64-2, 3, Whole, 1)},
	} {
		if _, err := Merge(parts, func(i int) string { return fmt.Sprintf("part %d", i) }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestDamagedRecordsAreRefused(t *testing.T) {
	line, err := explored(t, named(t, "kleppmann-gc-pause"), 1, 10, Whole, 1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range line[:len(line)-1] { // every shorter prefix is damaged; only the final line break may be missing
		for _, bad := range [][]byte{line[:i],
			append(append(append([]byte{}, line[:i]...), line[i]^1), line[i+1:]...)} {
			if e, err := Decode(bad); !errors.Is(err, errDamaged) {
				t.Fatalf("byte %d: read as %+v, %v", i, e, err)
			}
		}
	}
}

// TestRecordsOfTheEarlierVersionAreRead checks that records in the earlier format can be read, and are written again
// with the same content. That format had one type for explorations and another for runs of many seeds. Each record must
// match exactly one of these types.
func TestRecordsOfTheEarlierVersionAreRead(t *testing.T) {
	content := func(line []byte) (held map[string]any) {
		var r record
		if err := errors.Join(json.Unmarshal(line, &r), json.Unmarshal(r.Held, &held)); err != nil {
			t.Fatal(err)
		}
		return held
	}
	var all []*Result
	for _, file := range []string{"testdata/before/exploration.json", "testdata/before/runs.json"} {
		line, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		again, err := r.Encode()
		if err != nil || !reflect.DeepEqual(content(again), content(line)) {
			t.Errorf("%s: %v\n%s\nbecame\n%s", file, err, line, again)
		}
		all = append(all, r)
	}
	isRefused(t, "no kind", &Result{Span: all[0].Span, Laws: all[0].Laws, Findings: all[0].Findings})
	both := *all[1]
	both.Drawn = newExploration(both.Span).Drawn
	isRefused(t, "both kinds", &both)
	all[1].Identity = all[0].Identity
	if _, err := Merge(all, strconv.Itoa); err == nil || !strings.Contains(err.Error(), "from different scenarios") {
		t.Errorf("an exploration and runs of the same faults were merged: %v", err)
	}
}

// isRefused encodes a forged result as a record with a valid checksum. It fails the test unless Decode refuses the
// record.
func isRefused(t *testing.T, what string, forged *Result) {
	t.Helper()
	line, err := forged.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(line); !errors.Is(err, errDamaged) {
		t.Errorf("%s: %v", what, err)
	}
}

// Decode rejects a record that no search could have produced, even if its checksum is valid.
func TestFindingsThatCannotBeAreRefused(t *testing.T) {
	e := explored(t, named(t, "kleppmann-gc-pause"), 1, 300, Whole, 1)
	if !e.consistent() || len(e.Findings) < 2 {
		t.Fatalf("a search without two findings, or one that is refused: %+v", e.Findings)
	}
	for name, change := range map[string]func(f campaign.Findings) campaign.Findings{
		"a negative count":      func(f campaign.Findings) campaign.Findings { f[0].Runs = -5; return f },
		"no run":                func(f campaign.Findings) campaign.Findings { f[0].Runs = 0; return f },
		"more runs than broken": func(f campaign.Findings) campaign.Findings { f[0].Runs += 1000; return f },
		"a count that overflows": func(f campaign.Findings) campaign.Findings {
			f[0].Runs = math.MaxInt
			return append(f, f[0])
		},
		"a seed that was not run": func(f campaign.Findings) campaign.Findings {
			f[0].First = math.MaxUint64
			return f
		},
		"one left out": func(f campaign.Findings) campaign.Findings {
			return slices.DeleteFunc(f, func(g campaign.Finding) bool { return g.Law == f[0].Law })
		},
		"none":           func(campaign.Findings) campaign.Findings { return nil },
		"one twice":      func(f campaign.Findings) campaign.Findings { return append(f, f[0]) },
		"an unknown law": func(f campaign.Findings) campaign.Findings { f[0].Law = "gravity"; return f },
		"no cause":       func(f campaign.Findings) campaign.Findings { f[0].Cause.Kind = ""; return f },
		"an endless cause": func(f campaign.Findings) campaign.Findings {
			f[0].Cause.Detail = strings.Repeat("A", 400)
			return f
		},
	} {
		forged := *e
		forged.Findings = change(slices.Clone(e.Findings))
		isRefused(t, name, &forged)
	}
	endless := checker.Cause{Detail: strings.Repeat("A", 400)}
	if name := nameOf("a-lock", checker.MutualExclusion, endless); len(name) > 64 {
		t.Error(name)
	}
}

func TestRecordsOfSomethingElseAreRefused(t *testing.T) {
	const text = "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n"
	s := parsed(t, text)
	e := explored(t, s, 1, 5, Whole, 1)
	if err := e.Matches(s); err != nil {
		t.Error(err)
	}
	changed := *e
	changed.Identity.Behaviour = "0"
	for want, got := range map[string]error{
		"another scenario, x":        e.Matches(named(t, "kleppmann-gc-pause")),
		"before its text was change": e.Matches(parsed(t, text+"clients: 3\n")),
		"other runs":                 changed.Matches(s),
	} {
		if got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestNothingToExploreIsAnError(t *testing.T) {
	s := parsed(t, "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n")
	s.Mix.Weights = draw.Weights{}
	s.Mix.Weights[nemesis.FailOver] = 1
	if _, err := NewExploration(s, 1, 10, Whole); !errors.Is(err, draw.ErrNothing) {
		t.Error(err)
	}
	for _, seeds := range []int{0, -1} {
		if _, err := NewExploration(named(t, "kleppmann-gc-pause"), 1, seeds, Whole); err == nil {
			t.Errorf("%d seeds are explored", seeds)
		}
	}
	if _, err := NewExploration(named(t, "kleppmann-gc-pause"), math.MaxUint64, 2, Whole); err == nil {
		t.Error("there is one seed only")
	}
	if _, err := NewExploration(named(t, "kleppmann-gc-pause"), 1, 2, Shard{1, 3}); err == nil {
		t.Error("two seeds are divided into three shards")
	}
}

// Decode rejects a record with a closest call that cannot have occurred in any run, even if the record's checksum is
// valid. Otherwise a report would print that call.
func TestClosestCallsThatCannotBeAreRefused(t *testing.T) {
	made := explored(t, named(t, "kleppmann-gc-pause"), 1, 300, Whole, 0)
	if len(made.Closest) < 2 || !made.consistent() {
		t.Fatalf("300 seeds came closest in %+v, or are refused", made.Closest)
	}
	for what, change := range map[string]func(Closest){
		"of no law":                  func(c Closest) { c[0].Law = "../../x" },
		"of another law":             func(c Closest) { c[0].Law = checker.TokenOrder },
		"of a seed that did not run": func(c Closest) { c[0].Seed = 301 },
		"of one law twice":           func(c Closest) { c[1] = c[0] },
		"of no server": func(c Closest) {
			c[0].Law, c[0].Way, c[0].Standing = checker.LeaseExclusion, margin.Deposed, nil
		},
	} {
		forged := *made
		forged.Closest = slices.Clone(made.Closest)
		change(forged.Closest)
		isRefused(t, what, &forged)
	}
}
