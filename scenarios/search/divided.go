package search

// The code in this file lets other processes perform an exploration's runs and shrink its findings.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Names of an exploration's stages.
const (
	SeedsStage = "seeds" // stage that runs seeds; each position is a seed
	cutStage   = "cut"   // stage that shrinks findings; each position is the index of a finding
)

// handedOut is the number of seeds that one process gets at a time. Running them takes a few seconds.
const handedOut = 4096

// stage returns the exploration's runs as a campaign stage, which other processes can carry out.
func (e *Result) stage() (campaign.Stage, error) {
	spec, err := json.Marshal(e.Span.begun())
	own := e.own()
	return campaign.Stage{Name: SeedsStage, Spec: spec, Size: own.Last - own.First + 1, Portion: handedOut}, err
}

// begun returns a copy of the span in which no seed counts as run.
func (s Span) begun() Span {
	s.Ran = nil
	return s
}

// RunBy makes other processes perform all runs. Each time it has added some results to e, it calls counted, if counted
// is not nil. Runs lost by other processes are missing from the result.
func (e *Result) RunBy(ctx context.Context, hands campaign.Hands, counted func()) error {
	stage, err := e.stage()
	if err != nil {
		return err
	}
	return hands.Do(ctx, stage, func(p campaign.Part) error {
		if p.Lost != "" {
			return nil
		}
		part, err := Decode(p.Value)
		if err != nil {
			return fmt.Errorf("the result of %d positions from position %d %w", p.Size, p.First, err)
		}
		if err := e.join(part); err != nil {
			return err
		}
		if counted != nil {
			counted()
		}
		return nil
	})
}

// join adds the results of another exploration of the same scenario. The two explorations must not have any seeds in
// common.
func (e *Result) join(part *Result) error {
	if !part.fits(e) {
		return fmt.Errorf("a part comes from another scenario, other faults or another version of this program")
	}
	if twice := part.Ran.common(e.Ran); len(twice) > 0 {
		return fmt.Errorf("seeds %s were run twice", twice)
	}
	e.add(part)
	return nil
}

// CutBy makes other processes shrink the findings of this exploration of s. It returns one result per finding, in the
// same order. A result is nil if it was lost, or if the violation did not recur.
func (e *Result) CutBy(ctx context.Context, s *scenarios.Scenario, hands campaign.Hands) ([]*Shrunk, error) {
	if len(e.Findings) == 0 {
		return nil, nil
	}
	spec, err := json.Marshal(cutting{e.Free, e.Findings})
	if err != nil {
		return nil, err
	}
	all := make([]*Shrunk, len(e.Findings))
	stage := campaign.Stage{Name: cutStage, Spec: spec, Size: uint64(len(all)), Portion: 1}
	return all, hands.Do(ctx, stage, func(p campaign.Part) error {
		if p.Lost != "" {
			return nil
		}
		var parts []json.RawMessage
		if err := json.Unmarshal(p.Value, &parts); err != nil || uint64(len(parts)) != p.Size ||
			p.First >= stage.Size || p.Size > stage.Size-p.First {
			return fmt.Errorf("the result of %d findings from position %d does not contain that many shrunk findings",
				p.Size, p.First)
		}
		for i, part := range parts {
			if string(part) == "null" {
				continue
			}
			small, err := decodeShrunk(s, part)
			if err != nil {
				return err
			}
			all[p.First+uint64(i)] = small
		}
		return nil
	})
}

// cutting specifies a stage that shrinks findings. It is sent to other processes.
type cutting struct {
	Free     bool              `json:"free,omitempty"` // Span.Free of the exploration that the findings belong to
	Findings campaign.Findings `json:"findings"`
}

// Worker performs part of one scenario's exploration in another process. It is a campaign.Worker.
type Worker struct {
	scenario *scenarios.Scenario
	explorer *explorer
	free     bool // whether explorer draws all plans freely (Span.Free)
}

// NewWorker prepares a worker for s. It returns the same errors as NewPlans.
func NewWorker(s *scenarios.Scenario) (*Worker, error) {
	x, err := newExplorer(s, new(Span))
	return &Worker{scenario: s, explorer: x}, err
}

// turnTo prepares the worker to draw the plans for the span s.
func (w *Worker) turnTo(s *Span) (err error) {
	if w.free != s.Free {
		w.free = s.Free
		w.explorer, err = newExplorer(w.scenario, s)
	}
	return err
}

// Make performs a stage's jobs from first to first+size-1. If ctx ends before they are finished, Make returns ctx's
// error and no results.
func (w *Worker) Make(ctx context.Context, stage campaign.Stage, first, size uint64) ([]byte, error) {
	if size < 1 || first >= stage.Size || size > stage.Size-first {
		return nil, fmt.Errorf("stage %s has %d positions: "+
			"a job cannot take %d positions from position %d on", stage.Name, stage.Size, size, first)
	}
	switch stage.Name {
	case SeedsStage:
		return w.run(ctx, stage.Spec, first, size)
	case cutStage:
		return w.cut(ctx, stage.Spec, first, size)
	}
	return nil, fmt.Errorf("an exploration has no stage %q", stage.Name)
}

func (w *Worker) run(ctx context.Context, spec []byte, first, size uint64) ([]byte, error) {
	var span Span
	if err := json.Unmarshal(spec, &span); err != nil || !span.consistent() {
		return nil, fmt.Errorf("stage %s does not say which seeds it has", SeedsStage)
	}
	if err := w.turnTo(&span); err != nil {
		return nil, err
	}
	if err := span.differs(w.explorer.scenario, w.explorer.plans.sample()); err != nil {
		return nil, fmt.Errorf("stage %s %w", SeedsStage, err)
	}
	sum := newExploration(span)
	seeds := Ranges{rangeOf(span.own().First+first, size)}
	each := sum.portion()
	for i := range seeds.portions(each) {
		part, err := w.explorer.explore(ctx, seeds.portion(i, each))
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum.add(part)
	}
	return sum.Encode()
}

func (w *Worker) cut(ctx context.Context, spec []byte, first, size uint64) ([]byte, error) {
	var of cutting
	if err := json.Unmarshal(spec, &of); err != nil || first+size > uint64(len(of.Findings)) {
		return nil, fmt.Errorf("stage %s does not say which findings to shrink", cutStage)
	}
	if err := w.turnTo(&Span{Free: of.Free}); err != nil {
		return nil, err
	}
	var parts []json.RawMessage
	for _, f := range of.Findings[first : first+size] {
		small, err := Shrink(ctx, w.explorer.scenario, w.explorer.plans.Plan(f.First), Violation{Law: f.Law,
			Cause: f.Cause}, 0)
		if differs := (*UnrepeatedError)(nil); errors.As(err, &differs) {
			parts = append(parts, json.RawMessage("null"))
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil { // the finding was interrupted; another worker will shrink it
			return nil, err
		}
		part, err := small.encode()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return json.Marshal(parts)
}

// shrunk is a Shrunk's JSON form. It omits fields that can be recomputed by running the plan again.
type shrunk struct {
	Law      checker.Law     `json:"law"`
	Cause    checker.Cause   `json:"cause"`
	First    []byte          `json:"first"` // the plan as it was found
	Plan     []byte          `json:"plan"`
	Scenario []byte          `json:"scenario"`
	Often    int             `json:"often"`
	Runs     int             `json:"runs"`
	Ending   campaign.Ending `json:"ending"`
}

func (r *shrunk) consistent() bool {
	return slices.Contains(checker.Laws, r.Law) && r.Often >= 0 && r.Runs >= 0 && r.Ending <= campaign.Interrupted
}

// encode returns the violation as one line of JSON, for decodeShrunk.
func (r *Shrunk) encode() ([]byte, error) {
	return encode(&shrunk{r.Law, r.Cause, []byte(r.First.String()), []byte(r.Plan.String()), r.Scenario.Text(),
		r.Often, r.Runs,
		r.Ending})
}

// decodeShrunk reads one of s's violations, as written by encode. It runs the plan again and checks that the violation
// still occurs.
func decodeShrunk(s *scenarios.Scenario, b []byte) (*Shrunk, error) {
	var held shrunk
	if err := decode(b, &held); err != nil {
		return nil, fmt.Errorf("the shrunk finding %w", err)
	}
	r := &Shrunk{Law: held.Law, Cause: held.Cause, Often: held.Often, Runs: held.Runs, Ending: held.Ending}
	var err error
	if r.First, err = nemesis.ParsePlan("first", held.First); err != nil {
		return nil, err
	}
	if r.Plan, err = nemesis.ParsePlan(PlanFile, held.Plan); err != nil {
		return nil, err
	}
	if r.Scenario, err = s.Parse(ScenarioFile, held.Scenario); err != nil {
		return nil, err
	}
	return r, r.failsAgain()
}
