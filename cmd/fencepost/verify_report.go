package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// report turns what came of a verification into what is shown, and leaves the files of its counterexample.
func (j *verifyJob) report(v *verify.Verification) (*reports.Verification, error) {
	s, o := j.scenario, &v.Options
	standing, open := v.Standing()
	r := &reports.Verification{Scenario: s.Name, Summary: s.Summary, Seed: o.Seed, Faults: o.Faults, OK: standing == expect.AsExpected,
		Broken: standing == expect.Otherwise, Interrupted: v.Stop == verify.AtInterruption, Open: open, AllEnds: o.AllEnds, Files: j.out, Repeat: j.repeat()}
	for _, t := range v.Laws() {
		r.Laws = append(r.Laws, exploredLaw(s, t))
	}
	for _, l := range v.Lengths {
		r.Lengths = append(r.Lengths, reports.VerifiedLength{Faults: l.Faults, Starts: l.Starts, Schedules: l.Schedules, Idle: l.Idle, Stands: l.Stands,
			Whole: l.Whole})
	}
	for i, k := range o.Kinds {
		kind := reports.VerifiedKind{Kind: k.String()}
		for _, l := range v.Lengths {
			kind.Starts += l.Kinds[i].Starts
			kind.Schedules += l.Kinds[i].Schedules
		}
		r.Kinds = append(r.Kinds, kind)
	}
	for _, a := range v.Assignments {
		r.Delays = append(r.Delays, a.Name)
	}
	for _, l := range v.LeftOut {
		r.LeftOut = append(r.LeftOut, reports.VerifiedGap{Kind: l.Kind.String(), Why: l.Why})
	}
	for _, x := range s.Mix.Without {
		r.Excluded = append(r.Excluded, x.String())
	}
	if o.KeepFaults {
		for _, f := range s.Faults {
			r.Own = append(r.Own, f.String())
		}
	}
	if v.Found == nil {
		return r, nil
	}
	run, err := j.counterexample(v)
	if err != nil {
		return nil, err
	}
	r.Found = &reports.VerifiedViolation{Law: string(v.Found.Law), Cause: v.Found.Cause.String(),
		Faults: len(v.Found.Plan.Faults) - len(r.Own), Delay: v.Assignments[v.Found.Assignment].Name, Run: run}
	return r, nil
}

// counterexample runs the placement again and leaves its files. Its scenario goes along, since it holds the delays.
func (j *verifyJob) counterexample(v *verify.Verification) (*reports.Run, error) {
	s := v.Assignments[v.Found.Assignment].Scenario
	result, err := scenarios.NewRunner(s).Run(v.Found.Plan)
	if err != nil {
		return nil, err
	}
	run, err := described(s, result, s.Judge(result))
	if err != nil {
		return nil, err
	}
	run.Expected = promises(s, run.Verdict)
	run.OK, run.Undecided = false, false
	const place = "counterexample"
	run.Files = filepath.Join(j.out, place)
	run.Repeat = fmt.Sprintf("%s replay %s", program(), shellWord(filepath.Join(run.Files, search.PlanFile)))
	plan := v.Found.Plan
	plan.Scenario = "./" + search.ScenarioFile
	files := []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, run.Digest))}, {Name: search.ScenarioFile, Text: s.Text()}}
	writeRun(j.files, place, files, run)
	return run, nil
}

// promises holds each promised law against its promise.
func promises(s *scenarios.Scenario, v checker.Verdict) []reports.ExpectLine {
	var lines []reports.ExpectLine
	for _, f := range v.Findings {
		if slices.Contains(s.Promise, f.Law) {
			lines = append(lines, reports.ExpectLine{Name: string(f.Law), Expected: reports.Promised, Got: f.Outcome.String(), OK: f.Outcome != checker.Violated})
		}
	}
	return lines
}

// repeat is the command that verifies again.
func (j *verifyJob) repeat() string {
	return strings.Join(append([]string{program(), "verify", shellWord(j.target)}, j.given()...), " ")
}

// given are the flags that say what is tried, as one types them.
func (j *verifyJob) given() (call []string) {
	for _, name := range []string{"faults", "kinds", "delays", "orders", "all-ends", "keep-faults", "seed", "budget", "time"} {
		f := j.command.Flags().Lookup(name)
		switch {
		case !f.Changed:
		case f.Value.Type() == "bool":
			call = append(call, "--"+name)
		case name == "kinds":
			call = append(call, "--kinds", shellWord(strings.Join(j.kinds, ",")))
		default:
			call = append(call, "--"+name, shellWord(f.Value.String()))
		}
	}
	return call
}

// verifySuite has a case for each promised law, and one for each reason why nothing can be said.
func verifySuite(v *reports.Verification) reports.Suite {
	s := reports.Suite{Name: "verify " + v.Scenario, Repeat: v.Repeat}
	for i := range v.Laws {
		l := &v.Laws[i]
		c := reports.Case{Group: v.Scenario, Name: l.Law, Result: reports.Passed, Message: fmt.Sprintf("kept in %d schedules", l.Holds)}
		switch {
		case l.Violated > 0 && v.Found != nil:
			c.Result, c.Message, c.Story = reports.Failed, v.Found.Cause, runStory(v.Found.Run, l.Law)
		case l.Undecided > 0:
			c.Result, c.Message = reports.Undecided, fmt.Sprintf("undecided in %d schedules", l.Undecided)
		case !v.OK:
			c.Result, c.Message = reports.NotRun, fmt.Sprintf("not reached: kept in %d schedules, then the search ended", l.Holds)
		case l.Holds == 0:
			c.Result, c.Message = reports.NotRun, "no schedule exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, openCases(v.Scenario, v.Open)...)
	s.Cases = append(s.Cases, reports.Interrupted(v.Scenario, v.Interrupted)...)
	return s
}
