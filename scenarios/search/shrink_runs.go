package search

import (
	"context"
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// shrinker performs the runs for one call to Shrink.
type shrinker struct {
	ctx       context.Context
	violation Violation
	most      int // maximum number of runs
	runs      int
	ending    campaign.Ending // why the shrink stops; zero while it may continue
	err       error           // error of a run; ends the shrink
	checker   checker.Checker
	original  *scenarios.Scenario
	subjects  map[string]*subject // keyed by the scenario's text
}

// subject is one version of the scenario, along with the results of the plans that have been tried on it.
type subject struct {
	*shrinker
	doc      *format.Document
	scenario *scenarios.Scenario
	runner   *scenarios.Runner
	known    map[string]bool // whether a plan shows the violation; keyed by the plan's text
}

// subject returns the version of the scenario that a document describes. It returns a *format.Error if the document is
// invalid.
func (sh *shrinker) subject(doc *format.Document) (*subject, error) {
	text := doc.String()
	if s := sh.subjects[text]; s != nil {
		return s, nil
	}
	scenario, err := sh.original.Parse("shrunk", []byte(text))
	if err != nil {
		return nil, err
	}
	s := &subject{shrinker: sh, doc: doc, scenario: scenario, known: map[string]bool{}}
	sh.subjects[text] = s
	return s, nil
}

// fails reports whether a plan shows the violation. When it is time to stop shrinking, fails does not perform any more
// runs: it returns false for plans that have not been tried.
func (s *subject) fails(p nemesis.Plan) bool {
	if _, known := s.known[p.String()]; !known && s.over() {
		return false
	}
	return s.violates(p)
}

// violates is like fails, but performs the run even if it is time to stop shrinking.
func (s *subject) violates(p nemesis.Plan) bool {
	text := p.String()
	if known, ok := s.known[text]; ok {
		return known
	}
	if slices.ContainsFunc(p.Faults, func(f nemesis.Fault) bool { return f.Trigger.Time >= s.scenario.Limit }) {
		return false // a scenario cannot contain such a fault
	}
	if s.runner == nil {
		s.runner = scenarios.NewRunner(s.scenario)
	}
	s.runs++
	result, err := s.runner.Run(p)
	var failed *scenarios.CodeError
	if errors.As(err, &failed) {
		s.known[text] = false // this plan shows a different problem
		return false
	}
	if err != nil {
		s.err = err
		return false
	}
	f := s.checker.CheckOnly(result.History, []checker.Law{s.violation.Law}).Findings[0]
	s.known[text] = s.violation.in(result.History, &f)
	return s.known[text]
}

// over reports whether it is time to stop shrinking, and if so, records why.
func (sh *shrinker) over() bool {
	switch {
	case sh.ending != 0 || sh.err != nil:
	case sh.ctx.Err() != nil:
		sh.ending = campaign.EndingBy(sh.ctx)
	case sh.runs >= sh.most:
		sh.ending = campaign.OutOfRuns
	}
	return sh.ending != 0 || sh.err != nil
}

// name changes faults that identify a message by its number so that they identify it by its contents. A change is kept
// only if the plan still fails.
func (s *subject) name(p nemesis.Plan) nemesis.Plan {
	if !slices.ContainsFunc(p.Faults, func(f nemesis.Fault) bool { return f.Number > 0 }) || s.over() {
		return p
	}
	runner := scenarios.NewRunner(s.scenario)
	runner.ReportSent(true)
	s.runs++
	result, err := runner.Run(p)
	if err != nil {
		s.err = err
		return p
	}
	for i := range p.Faults {
		if f, ok := nemesis.Named(p.Faults[i], result.Sent); ok {
			q := p
			q.Faults = slices.Clone(p.Faults)
			if q.Faults[i] = f; s.fails(q) {
				p = q
			}
		}
	}
	return p
}
