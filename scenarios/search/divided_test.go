package search

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// strangers returns workers that act as other processes and carry out the stages of s. Each worker gets one batch of
// seeds at a time. The results of a batch are lost if it contains one of the seeds in lost.
func strangers(t *testing.T, s *scenarios.Scenario, lost ...uint64) *campaigntest.Strangers {
	return &campaigntest.Strangers{T: t,
		Worker: func() (campaign.Worker, error) { return NewWorker(s) },
		Change: func(stage campaign.Stage, p campaign.Part) campaign.Part {
			for _, position := range lost {
				if stage.Name == SeedsStage && p.First <= position && position < p.First+p.Size {
					return campaign.Part{First: p.First, Size: p.Size, Lost: "it brought its workers down"}
				}
			}
			return p
		}}
}

// An exploration performed by other processes has the same result and the same shrunk findings as one performed by a
// single process.
func TestOthersMakeTheSameExploration(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	seeds := testkit.Size(120, 400, 400)
	want := explored(t, s, 3, seeds, Whole, 1)
	if len(want.Findings) < 2 {
		t.Fatalf("%d findings cannot be taken for each other", len(want.Findings))
	}
	got, err := NewExploration(s, 3, seeds, Whole)
	if err != nil {
		t.Fatal(err)
	}
	hands := strangers(t, s)
	if err := got.RunBy(t.Context(), hands, nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v\nwant %+v", got, want)
	}
	cut, err := got.CutBy(t.Context(), s, hands)
	if err != nil || len(cut) == 0 {
		t.Fatal(cut, err)
	}
	plans, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range want.Findings {
		here, err := Shrink(t.Context(), s, plans.Plan(f.First), Violation{Law: f.Law, Cause: f.Cause}, 0)
		if err != nil {
			t.Fatal(err)
		}
		a, b := *cut[i], *here
		if string(a.Scenario.Text()) != string(b.Scenario.Text()) {
			t.Errorf("%s\nwant\n%s", a.Scenario.Text(), b.Scenario.Text())
		}
		if a.Scenario, b.Scenario = nil, nil; !reflect.DeepEqual(a, b) {
			t.Errorf("%+v\nwant %+v", a, b)
		}
	}
}

// If a process fails to deliver the results for some seeds, these seeds are missing from the exploration.
func TestWhatOthersLoseIsMissing(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	e, err := NewExploration(s, 3, 60, Whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.RunBy(t.Context(), strangers(t, s, 17),
		nil); err != nil {
		t.Fatal(err)
	}
	missing := e.missing()
	if len(missing) != 1 || missing[0].First > 20 || missing[0].Last < 20 {
		t.Errorf("missing: %v, want a range with 20", missing)
	}
}

// A worker rejects stages that it does not know or cannot carry out.
func TestAWorkerRefusesWhatItDoesNotKnow(t *testing.T) {
	s, other := named(t, "kleppmann-gc-pause"), named(t, "fenced-gc-pause")
	e, err := NewExploration(s, 3, 60, Whole)
	if err != nil {
		t.Fatal(err)
	}
	stage, err := e.stage()
	if err != nil {
		t.Fatal(err)
	}
	foreign, unknown, empty := stage, stage, stage
	unknown.Name, empty.Spec = "seed", []byte("{}")
	for want, c := range map[string]struct {
		of          *scenarios.Scenario
		stage       campaign.Stage
		first, size uint64
	}{
		"60 positions: a job cannot take 2 positions from position 59 on": {s, stage, 59, 2},
		"60 positions: a job cannot take 0 positions from position 1 on":  {s, stage, 1, 0},
		"another scenario":         {other, foreign, 0, 1},
		`no stage "seed"`:          {s, unknown, 0, 1},
		"does not say which seeds": {s, empty, 0, 1},
	} {
		w, err := NewWorker(c.of)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Make(t.Context(), c.stage, c.first, c.size); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	w, err := NewWorker(s)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Make(ended, stage, 0, 60); !errors.Is(err, context.Canceled) {
		t.Errorf("a worker that was stopped gives %v", err)
	}
}
