package search

import (
	"bytes"
	"context"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestAnInterruptedSearchStopsAfterTheRunUnderWay checks that an interrupted search does not start another run, not
// even in the middle of a batch of seeds. (A run of real programs may take seconds.) The search keeps its results so
// far. When it is continued, the final result is the same as without the interruption.
func TestAnInterruptedSearchStopsAfterTheRunUnderWay(t *testing.T) {
	const seeds, last = 40, 5
	plain := named(t, "fenced-gc-pause")
	made, stop := 0, func() {}
	s := plain.With(&scenarios.Code{Programs: []sim.Point{sim.Acquired},
		Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, w scenarios.Wanted) (scenarios.Result, error) {
			if made++; made == last {
				stop()
			}
			r := scenarios.NewRunner(plain)
			r.ReportSent(w.Sent)
			return r.Run(p)
		}})
	type campaign interface {
		Run(context.Context, *scenarios.Scenario, int, func()) error
		Encode() ([]byte, error)
		Done() int
	}
	for what, begin := range map[string]func() (campaign, error){
		"explore": func() (campaign, error) { return NewExploration(s, 1, seeds, Whole) },
		"run":     func() (campaign, error) { return NewRuns(s, plain.Faults, 1, seeds, Whole) },
	} {
		whole, cut := newCampaign(t, begin), newCampaign(t, begin)
		ctx, cancel := context.WithCancel(context.Background())
		made, stop = 0, cancel
		if err := cut.Run(ctx, s, 1, nil); err != nil {
			t.Fatal(err)
		}
		// before its counted runs, a search performs some runs that it does not count
		if n := cut.Done(); made != last || n < 1 || n > last {
			t.Errorf("%s: %d runs are made and %d counted, when the %dth is interrupted", what, made, n, last)
		}
		stop = func() {}
		for _, c := range []campaign{cut, whole} {
			if err := c.Run(context.Background(), s, 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		a, err := cut.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := whole.Encode(); !bytes.Equal(a, b) {
			t.Errorf("%s: interrupted and continued\n%s\nin one go\n%s", what, a, b)
		}
	}
}

func newCampaign[C any](t *testing.T, begin func() (C, error)) C {
	t.Helper()
	c, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheFirstPlansOfFindingsAreKept checks that the plan that is stored with a finding is the plan that was drawn,
// even in a process that has only the record of the search.
func TestTheFirstPlansOfFindingsAreKept(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	e := newCampaign(t, func() (*Result, error) {
		return NewExploration(s, 1, together+50, Whole)
	})
	if err := e.Run(context.Background(), s, 2, nil); err != nil {
		t.Fatal(err)
	}
	if len(e.Findings) == 0 {
		t.Fatal("nothing is found")
	}
	text, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := read.Plans(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range e.Findings {
		if _, known := e.plans[f.First]; !known {
			t.Errorf("the plan of seed %d is not kept", f.First)
		}
		if kept, drawn := e.PlanOf(f, plans), read.PlanOf(f, plans); kept.String() != drawn.String() {
			t.Errorf("%s is kept, and drawn again it is %s", kept, drawn)
		}
	}
}
