package corpus

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func searched(name string, runs int, caught bool) MutantResult {
	return MutantResult{Mutant: Mutant{Name: name, Of: "lock", Defect: "wrong", Source: "issue 1"},
		Took: time.Duration(runs) * time.Second,
		Searches: []*search.FirstViolation{{Found: caught, Runs: runs, Law: checker.Ownership,
			Cause: checker.Cause{Kind: checker.RemovedByNonOwner}}}}
}

// soundLock returns the result of exploring a sound lock with a number of runs. In each run, a fault struck while the
// lock was in use.
func soundLock(runs int, broken ...campaign.Finding) LockResult {
	e := &search.Result{Span: search.Span{Scenario: "lock", From: 1, Seeds: runs, Shard: search.Whole,
		Ran: search.Ranges{{First: 1, Last: uint64(runs)}}},
		Drawn:    &search.Drawn{Faults: []campaign.Fault{{Kind: nemesis.Pause, Drawn: runs, Struck: runs, Met: runs}}},
		Findings: broken}
	return LockResult{Result: e, Lock: &scenarios.Scenario{Name: "lock",
		Promise: checker.Promise{Laws: []checker.Law{checker.Ownership}}}}
}

func TestOnlyACorpusThatWasCaughtAndKeptPasses(t *testing.T) {
	kept, broken, open := soundLock(10), soundLock(10, campaign.Finding{Law: checker.Ownership}), soundLock(10)
	open.Ran = search.Ranges{{First: 1, Last: 9}}
	for _, c := range []struct {
		corpus Corpus
		want   document.Result
	}{
		{Corpus{}, document.Undecided},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true)}}, document.Passed},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true)}, Sound: []LockResult{kept}}, document.Passed},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true), searched("b", 9, false)}}, document.Failed},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true), {Mutant: Mutant{Name: "b"}}}},
			document.Undecided},
		{Corpus{Mutants: []MutantResult{searched("a", 1, false), {Mutant: Mutant{Name: "b"}}}}, document.Failed},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true)}, Sound: []LockResult{kept, broken}}, document.Failed},
		{Corpus{Mutants: []MutantResult{searched("a", 1, true)}, Sound: []LockResult{kept, open}}, document.Undecided},
		{Corpus{Sound: []LockResult{kept}}, document.Passed},
		{Corpus{Sound: []LockResult{kept, broken}}, document.Failed},
		{Corpus{Sound: []LockResult{kept, open}}, document.Undecided},
	} {
		if got := c.corpus.Standing(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.corpus, got, c.want)
		}
	}
}

func TestTheCorpusIsSummedUp(t *testing.T) {
	c := &Corpus{Seeds: 5000,
		Mutants: []MutantResult{searched("slow", 2000, true), searched("fast", 1, true), searched("middle", 30, true),
			searched("gone", 5000, false)}, Sound: []LockResult{soundLock(3000)},
		Files: "out", Repeat: "fencepost corpus"}
	var text bytes.Buffer
	if err := c.Document().Text(&text, document.TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"corpus  4 mutants, at most 5,000 seeds each                      not as expected",
		" ✓ slow    2,000  2000.00  ownership: removed by non-owner\n     wrong (issue 1)\n",
		" ✗ gone    5,000  5000.00  escaped\n",
		"caught  3 of 4 mutants; median 30 seeds, maximum 2,000 seeds (slow)\n",
		"seconds median 30.00, maximum 2000.00 (slow)\n",
		" ✓ lock        3,000  ownership\n",
		"no promise was broken in 3,000 runs: " +
			"with 95% confidence, fewer than\n        0.1% of runs break a promise\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	raw, err := c.Document().JSON("corpus")
	var got struct {
		Caught     int
		MedianRuns int     `json:"median_runs"`
		MostRuns   int     `json:"most_runs"`
		SoundRuns  int     `json:"sound_runs"`
		RateBelow  float64 `json:"rate_below"`
		Expected   bool
	}
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || got.Caught != 3 || got.MedianRuns != 30 || got.MostRuns != 2000 || got.SoundRuns != 3000 ||
		got.RateBelow != campaign.UpperBound(3000) || got.Expected {
		t.Errorf("%+v, %v\n%s", got, err, raw)
	}
}

// TestGuidedRunsBoundNoRate checks that runs whose plans depend on other runs, and runs that failed, do not lower the
// stated rate of broken promises.
func TestGuidedRunsBoundNoRate(t *testing.T) {
	lock := soundLock(3000)
	lock.Laws = campaign.NewLaws(checker.Laws)
	lock.Laws[0].Counts, lock.Laws[0].Guided = campaign.Counts{Holds: 2000, Unchecked: 900}, campaign.Counts{Holds: 900}
	lock.Failed = search.Failed{Runs: 100, Why: []string{"the client ended"}}
	c := &Corpus{Sound: []LockResult{lock, soundLock(500)}}
	if d := c.data(); *d.SoundRuns != 3500 || *d.RateBelow != campaign.UpperBound(2000+500) {
		t.Errorf("%d runs, fewer than %v break a promise", *d.SoundRuns, *d.RateBelow)
	}
}

func TestTheCommandsOfTheCorpusCanBePasted(t *testing.T) {
	const call = "fencepost explore '/a/rather long/path/to the/folder/of scenarios/my-lock.yaml' --and " +
		"more/of/the/same --to make it/long"
	lock := soundLock(10, campaign.Finding{Law: checker.Ownership,
		Cause: checker.Cause{Kind: checker.RemovedByNonOwner},
		Runs:  1, First: 3})
	lock.Repeat = call
	c := &Corpus{Sound: []LockResult{lock}, Repeat: call}
	for _, width := range []int{60, 80, 120, 200} {
		var b strings.Builder
		if err := c.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := reporttest.Pasted(b.String(), call); n != 2 || reporttest.Pasted(b.String(),
			call+" --seed 3 --seeds 1\n") != 1 {
			t.Errorf("at %d it stands %d times:\n%s", width, n, b.String())
		}
	}
}

// The report shows estimates in the table, sums them up, and explains them.
func TestEstimatesAreReported(t *testing.T) {
	after := func(runs ...int) (list []*search.FirstViolation) {
		for _, n := range runs {
			list = append(list, &search.FirstViolation{Found: n < 5000, Runs: n, Law: checker.Ownership,
				Cause: checker.Cause{Kind: checker.RemovedByNonOwner}})
		}
		return list
	}
	mutant := func(name string, aimed, unaimed []*search.FirstViolation) MutantResult {
		return MutantResult{Mutant: Mutant{Name: name, Of: "lock", Defect: "wrong"}, Searches: aimed,
			Unaimed: unaimed}
	}
	c := &Corpus{Seeds: 5000, Starts: 2, Unaimed: true, Mutants: []MutantResult{
		mutant("both", after(100, 300), after(700, 100)), mutant("slower", after(5000, 40), after(20, 22)),
		mutant("gone", after(5000, 5000), after(5000, 4000))},
		Slowest: []Rare{{Mutant: "slower", Law: checker.Ownership, Plan: nemesis.Plan{Seed: 4}, Often: 3,
			Struck: []Struck{{Fault: nemesis.Fault{Kind: nemesis.Pause, Target: "client-1", For: time.Second},
				Places: Tries{200, 12}, Drawn: Tries{190, 1}}}}}}
	for width, lines := range map[int][]string{
		80: {"both", "slower"},
		160: {
			"corpus  3 mutants, each with 2 starts and at most 5,000 seeds",
			" ✓ both      200      84–1,125    400      168–2,251    0.50     0.00  ownership: removed by non-owner",
			" ✓ slower  5,040  1,062–98,259     21          9–118  240.00     0.00  ownership: removed by non-owner",
			"runs    15,440 from 2 start seeds; with no fault aimed 9,842 (ratio 1.57, highest 240.00 of slower)",
			"Needs 1 fault: pause client-1 for 1s at 0s (it breaks the promise at 12 of 200 instants of the run; " +
				"random faults of its kind break the promise in 1 of 190\n",
		},
	} {
		var b strings.Builder
		if err := c.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, want := range lines {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at %d no %q in\n%s", width, want, b.String())
			}
		}
	}
	raw, err := c.Document().JSON("corpus")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"estimate":{"searches":2,"caught":2,"runs":400,"mean":200,"low":84,"high":1125}`,
		`"unaimed":{"searches":2,"caught":1,"runs":9000,"mean":9000,`,
		`"estimate":{"searches":2,"caught":0,"runs":10000,"low":3338}`,
		`"slowest":[{"mutant":"slower","law":"ownership","cause":"","seed":4,"often":3,"faults":[{"fault":"pause client-1 ` +
			`for 1s at 0s","places":{"tried":200,"broke":12},"drawn":{"tried":190,"broke":1}}]}]`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in\n%s", want, raw)
		}
	}
}
