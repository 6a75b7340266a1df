package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// report builds the report of the sweep. It also writes the scenarios on both sides of each edge (see sweep.Edge), and
// those in which a counterexample was found.
func (j *sweepJob) report(s *sweep.Sweep) (*sweep.Report, error) {
	r := &sweep.Report{Sweep: s, Scenario: j.scenario, Repeats: map[*sweep.Edge]string{},
		Shown: map[int]*single.Run{}, Files: j.Out, Repeat: j.repeat()}
	if len(s.Axes) == 1 {
		for _, law := range s.Laws {
			n := 0
			for _, e := range sweep.LawOf(s, law).Edges {
				if !e.Bounds() {
					continue
				}
				n++
				again, err := j.sides(s, e, n)
				if err != nil {
					return nil, err
				}
				r.Repeats[e] = again
			}
		}
	}
	for i := range s.Asserted {
		if s.Asserted[i].Standing != document.Failed {
			continue
		}
		run, err := j.counterexample(s, &s.Asserted[i], i+1)
		if err != nil {
			return nil, err
		}
		r.Shown[i] = run
	}
	return r, nil
}

// sides writes the scenarios on both sides of the n-th edge of a law (see sweep.Edge). It returns a command that shows
// the violation on one of the two sides, or "" if the law is violated on neither.
func (j *sweepJob) sides(s *sweep.Sweep, e *sweep.Edge, n int) (again string, err error) {
	for _, side := range []struct {
		point *sweep.Point
		state sweep.State
	}{{e.Last, e.Before}, {e.First, e.After}} {
		seed := s.From
		causes := sweep.Causes(side.point, e.Law)
		if len(causes) > 0 {
			seed = causes[0].First
		}
		text, err := s.Seen(side.point, seed)
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("%s-edge-%d-%s.yaml", e.Law, n, strings.ReplaceAll(side.state.String(), " ", "_"))
		j.Files.Keep(output.File{Name: name, Content: []byte(text)})
		if len(causes) > 0 {
			again = fmt.Sprintf("%s run %s --seed %d", output.Program(), output.Word(filepath.Join(j.Out, name)), seed)
		}
	}
	return again, nil
}

// counterexample runs the scenario at the point where an assertion fails, and writes the scenario, plan, history and
// verdict to a folder.
func (j *sweepJob) counterexample(s *sweep.Sweep, a *sweep.Asserted, n int) (*single.Run, error) {
	place := fmt.Sprintf("assertion-%d", n)
	text := s.Claimed(a.Counter, a.Law, a.Want)
	path := filepath.Join(j.Out, place, search.ScenarioFile)
	scenario, err := scenarios.Parse(path, []byte(text))
	if err != nil {
		return nil, err
	}
	scenario.Path = path // the scenario will be written there
	one := job{scenario: scenario, first: a.Seed, seeds: 1, shard: search.Whole, faults: scenario.Faults,
		runner: scenarios.NewRunner(scenario)}
	one.Out = filepath.Join(j.Out, place)
	run, _, err := one.report(a.Seed)
	if err != nil {
		return nil, err
	}
	task.WriteRun(&j.Frame, place, task.Inputs(scenario, one.plan(a.Seed), task.Repetition{Digest: run.Digest}), run)
	return run, nil
}
