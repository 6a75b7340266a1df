package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// report turns what was found into what is shown, and leaves the scenarios of edges and counterexamples.
func (j *sweepJob) report(s *sweep.Sweep) (*reports.Sweep, error) {
	r := &reports.Sweep{Scenario: j.scenario.Name, Summary: j.scenario.Summary, Seeds: s.Seeds, From: s.From,
		Faults: j.subject.Faults(), Fixed: j.subject.Given(), Points: len(s.Points) + len(s.Between), Bound: tally.UpperBound(s.Seeds),
		Interrupted: s.Interrupted, Files: j.out, Repeat: j.repeat()}
	if ttl, fixed := s.Fixed("lock.ttl"); fixed {
		r.At = "lock.ttl " + ttl.Text
		r.Fixed = slices.DeleteFunc(r.Fixed, func(given string) bool { return given == r.At })
	}
	for _, n := range s.Idle() {
		r.Notes = append(r.Notes, fmt.Sprintf("fault %d struck in no run of any point: %s", n, r.Faults[n-1]))
	}
	for _, points := range [][]*sweep.Point{s.Points, s.Between} {
		for _, p := range points {
			r.Runs += p.Runs
		}
	}
	for i := range s.Axes {
		a := &s.Axes[i]
		r.Axes = append(r.Axes, reports.SweepAxis{Name: a.Name, Title: a.Title(j.subject), Unit: sweepUnits[a.Unit()], Levels: sweepLevels(a.Levels)})
	}
	for _, law := range s.Laws {
		l, err := j.law(s, law)
		if err != nil {
			return nil, err
		}
		r.Laws = append(r.Laws, l)
	}
	for i := range s.Asserted {
		a, err := j.asserted(s, i)
		if err != nil {
			return nil, err
		}
		r.Assertions = append(r.Assertions, a)
	}
	return r, nil
}

// The words of search in those of reports.
var (
	sweepUnits = map[sweep.Unit]reports.SweepUnit{sweep.Words: reports.SweepWords, sweep.Durations: reports.SweepDurations,
		sweep.Counts: reports.SweepCounts, sweep.Rates: reports.SweepRates}
	sweepStates = map[sweep.State]reports.SweepState{sweep.Untold: reports.SweepUntold, sweep.Safe: reports.SweepSafe,
		sweep.Broken: reports.SweepBroken, sweep.Invalid: reports.SweepInvalid}
	sweepResults = map[expect.Standing]reports.Result{expect.AsExpected: reports.Passed, expect.Otherwise: reports.Failed,
		expect.NotDecidable: reports.Undecided, expect.NotJudged: reports.Undecided}
)

func sweepLevels(levels []sweep.Level) (all []reports.SweepLevel) {
	for _, l := range levels {
		all = append(all, sweepLevel(l))
	}
	return all
}

func sweepLevel(l sweep.Level) reports.SweepLevel { return reports.SweepLevel{Text: l.Text, N: l.N} }

// notRun is how many runs of a point an interruption left out.
func notRun(s *sweep.Sweep, p *sweep.Point) int {
	if !p.Stopped {
		return 0
	}
	return s.Seeds - p.Runs
}

// causes are the ways in which a law was broken at a point.
func causes(p *sweep.Point, law checker.Law) (all []reports.SweepCause) {
	for _, f := range p.Findings {
		if f.Law == law {
			all = append(all, reports.SweepCause{Cause: f.Cause.String(), Runs: f.Runs, First: f.First})
		}
	}
	return all
}

// law tells one law. Of a single axis it leaves the scenarios on both sides of each edge.
func (j *sweepJob) law(s *sweep.Sweep, law checker.Law) (reports.SweepLaw, error) {
	l := reports.SweepLaw{Law: law}
	for _, p := range s.Points {
		t := p.Tally(law)
		l.Cells = append(l.Cells, reports.SweepCell{Problem: p.Problem, Causes: causes(p, law),
			Tally: reports.LawTally{Holds: t.Holds, Violated: t.Violated, Undecided: t.Undecided, Unchecked: t.Unchecked, NotRun: notRun(s, p)}})
	}
	for _, line := range s.Lines(law) {
		along := reports.SweepLine{Axis: line.Axis}
		if line.Other != nil {
			along.Other = line.Other.Text
		}
		for _, stretch := range line.Stretches {
			along.Stretches = append(along.Stretches, reports.SweepStretch{State: sweepStates[stretch.State],
				From: sweepLevel(stretch.From), To: sweepLevel(stretch.To)})
		}
		l.Lines = append(l.Lines, along)
	}
	for i := range s.Edges {
		if s.Edges[i].Law != law {
			continue
		}
		e, err := j.edge(s, &s.Edges[i], len(l.Edges)+1)
		if err != nil {
			return l, err
		}
		l.Edges = append(l.Edges, e)
	}
	return l, nil
}

// edge tells the nth edge of a law.
func (j *sweepJob) edge(s *sweep.Sweep, e *sweep.Edge, n int) (reports.SweepEdge, error) {
	out := reports.SweepEdge{Cell: e.Point, Axis: e.Axis, Last: sweepLevels(e.Last.Levels), First: sweepLevels(e.First.Levels),
		Before: sweepStates[e.Before], After: sweepStates[e.After], Exact: e.Exact, Stopped: e.Stopped}
	for _, side := range []struct {
		point *sweep.Point
		state sweep.State
	}{{e.Last, e.Before}, {e.First, e.After}} {
		seed := s.From
		all := causes(side.point, e.Law)
		if len(all) > 0 {
			out.Cause, seed = all[0], all[0].First
		}
		if len(s.Axes) > 1 {
			continue
		}
		text, err := s.Seen(side.point, seed)
		if err != nil {
			return out, err
		}
		path := j.leave(fmt.Sprintf("%s-edge-%d-%s.yaml", e.Law, n, fileWord(sweepStates[side.state].String())), text)
		if len(all) > 0 {
			out.Repeat = fmt.Sprintf("%s run %s --seed %d", program(), shellWord(path), seed)
		}
	}
	return out, nil
}

// leave writes a scenario into the folder of the sweep.
func (j *sweepJob) leave(name, text string) (path string) {
	j.files.Keep(artefact.File{Name: name, Content: []byte(text)})
	return filepath.Join(j.out, name)
}

// asserted tells what became of the ith assertion. The run that shows a failure is made again, from the file that is left.
func (j *sweepJob) asserted(s *sweep.Sweep, i int) (reports.SweepAssertion, error) {
	a := &s.Asserted[i]
	out := reports.SweepAssertion{Text: a.Text, Law: a.Law, Result: sweepResults[a.Standing], Points: a.Points, True: a.True}
	for _, t := range a.Turns {
		out.Turns = append(out.Turns, reports.SweepTurn{Cell: t.Point, Axis: t.Axis, At: sweepLevel(t.At)})
	}
	switch a.Standing {
	case expect.NotJudged:
		out.Why = "the condition was true at no point that was run: nothing was tried"
	case expect.NotDecidable:
		out.Why = fmt.Sprintf("at %d of the %d points at which the condition was true the law was not judged to its end", a.Untold, a.Points)
		if a.Untold == 0 {
			out.Why = fmt.Sprintf("met at the %d points that were tried before the sweep was interrupted", a.Points)
		}
	case expect.Otherwise:
		found := "holds in all runs"
		if a.Want == checker.Holds {
			found = "violated by " + causes(a.Counter, a.Law)[0].Cause
		}
		out.Why = fmt.Sprintf("fails at %s: %s, seed %d", s.Words(a.Counter.Levels), found, a.Seed)
		var err error
		out.Run, err = j.counterexample(s, a, i+1)
		return out, err
	}
	return out, nil
}

// counterexample runs the point at which an assertion fails, and leaves scenario, plan, history and verdict in a folder.
func (j *sweepJob) counterexample(s *sweep.Sweep, a *sweep.Asserted, n int) (*reports.Run, error) {
	place := fmt.Sprintf("assertion-%d", n)
	text := s.Claimed(a.Counter, a.Law, a.Want)
	path := filepath.Join(j.out, place, search.ScenarioFile)
	scenario, err := scenarios.Parse(path, []byte(text))
	if err != nil {
		return nil, err
	}
	scenario.Path = path // where it will be
	one := job{scenario: scenario, first: a.Seed, seeds: 1, shard: search.Whole, faults: scenario.Faults, runner: scenarios.NewRunner(scenario)}
	one.out = filepath.Join(j.out, place)
	run, _, err := one.report(a.Seed)
	if err != nil {
		return nil, err
	}
	writeRun(j.files, place, inputs(scenario, one.plan(a.Seed), run.Digest), run)
	return run, nil
}
