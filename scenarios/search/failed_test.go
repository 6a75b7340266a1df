package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// breaking returns a scenario with a library's lock. Its runs are the same as those with the given protocol, but for
// every third seed, the lock's code fails.
func breaking(t *testing.T, protocol string) *scenarios.Scenario {
	t.Helper()
	const text = "name: library\nservers: {redis: 1}\nclients: 3\nlock: {protocol: library, ttl: 8s}\n" +
		"work: {cycles: 2, hold: 4s, writes: 1}\n"
	as, err := scenarios.Parse("alike.yaml", []byte(strings.Replace(text, "library, ttl", protocol+", ttl", 1)))
	if err != nil {
		t.Fatal(err)
	}
	code := &scenarios.Code{Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan,
		_ scenarios.Wanted) (scenarios.Result, error) {
		if p.Seed%3 == 0 {
			return scenarios.Result{}, &scenarios.CodeError{Text: fmt.Sprintf(
				"Lock of client-1: panic: no pool\ngoroutine %d [running]:\nmain.lock(0xc00%d)\n\tlock.go:7 +0x1%d",
				p.Seed, p.Seed, p.Seed)}
		}
		return scenarios.NewRunner(as).Run(p)
	}}
	s, err := scenarios.ParseWith("library.yaml", []byte(text), code)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRunsThatFailDoNotEndAnExploration checks that an exploration with some failing runs still performs the others and
// counts the failed ones. The result must not depend on the number of workers or on how the seeds are divided among
// them.
func TestRunsThatFailDoNotEndAnExploration(t *testing.T) {
	s := breaking(t, "set-nx-px")
	var first *Result
	for _, workers := range []int{1, 2} {
		e, err := NewExploration(s, 1, 40, Whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(context.Background(), s, workers, nil); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = e
		} else if !reflect.DeepEqual(e, first) {
			t.Errorf("by %d workers: %+v, not %+v", workers, e, first)
		}
	}
	want := Failed{Runs: 13, First: 3, Why: []string{"Lock of client-1: panic: no pool", " [running]:", "main.lock()",
		" lock.go:7"}}
	if !reflect.DeepEqual(first.Failed, want) || first.Done() != 40 {
		t.Errorf("%d runs, %+v", first.Done(), first.Failed)
	}
	if l := first.Laws.Of(checker.MutualExclusion); l.Holds+l.Violated+l.Undecided+l.Unchecked != 27 {
		t.Errorf("%+v of 27 runs", l)
	}
	standing, open := first.Standing(s)
	if standing == document.Passed || !strings.Contains(strings.Join(open, "\n"),
		"13 of 40 runs could not be judged: the lock's own code failed, first with seed 3: Lock of client-1: panic") {
		t.Errorf("%v: %q", standing, open)
	}
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Decode(text); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%v: %+v", err, again)
	}
}

// TestRunsThatFailDoNotEndTheOthers checks that if one plan is run with many seeds and some of the runs fail, the other
// runs are still performed and the failed ones are counted.
func TestRunsThatFailDoNotEndTheOthers(t *testing.T) {
	s := breaking(t, "set-nx-px")
	var first *Result
	for _, workers := range []int{1, 2} {
		r, err := NewRuns(s, nil, 1, 40, Whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(context.Background(), s, workers, nil); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		} else if !reflect.DeepEqual(r, first) {
			t.Errorf("by %d workers: %+v, not %+v", workers, r, first)
		}
	}
	standing, _ := first.Standing(s)
	if f := first.Failed; f.Runs != 13 || f.First != 3 || first.Done() != 40 || first.Campaign.Seeds != 27 ||
		standing != document.Undecided {
		t.Errorf("%+v, %d of %d counted, %v", f, first.Campaign.Seeds, first.Done(), standing)
	}
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Decode(text); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%v: %+v", err, again)
	}
	first.Failed.Runs++
	if first.consistent() {
		t.Error("41 of 40 runs came out somehow")
	}
}

func TestWhatOnlyFailsIsNoViolation(t *testing.T) {
	var f Failed
	if f.note(1, errors.New("the disk is full")) || f.Runs != 0 {
		t.Errorf("%+v", f)
	}
	if !f.note(7, fmt.Errorf("a run: %w", &scenarios.CodeError{})) || f.First != 7 || len(f.Why) != 1 {
		t.Errorf("%+v", f)
	}
	if f.note(5, &scenarios.CodeError{Text: "b"}); f.Runs != 2 || f.First != 5 || f.Why[0] != "b" {
		t.Errorf("%+v", f)
	}
}
