package main

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/reports"
)

// runSuite has a case for each law, and for each metric that the scenario names.
func runSuite(r *reports.Run) reports.Suite {
	s := reports.Suite{Name: "run " + r.Scenario, Repeat: r.Repeat}
	for _, e := range r.Expected {
		c := reports.Case{Group: r.Scenario, Name: e.Name, Result: reports.Passed, Message: e.Got}
		switch {
		case !e.OK:
			c.Result, c.Message = reports.Failed, fmt.Sprintf("expected %s, got %s", e.Expected, e.Got)
			c.Story = runStory(r, e.Name)
		case e.Got == "undecided" && e.Expected != "not violated":
			c.Result = reports.Undecided
		case e.Got == "undecided": // and nobody has asked for it
			c.Result, c.Message = reports.NotRun, "not reached: the run ended before it could be told"
		case e.Got == "unchecked":
			c.Result, c.Message = reports.NotRun, "unchecked: nothing in the run exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// runStory says why a law came out as it did, and how to see it again.
func runStory(r *reports.Run, law string) string {
	var b strings.Builder
	for _, f := range r.Verdict.Findings {
		if string(f.Law) == law && f.Explanation != "" {
			b.WriteString(f.Explanation + "\n")
		}
	}
	fmt.Fprintf(&b, "seed %d\n%s\nagain: %s", r.Seed, strings.Join(r.Plan, "\n"), r.Repeat)
	return b.String()
}

// manySuite has a case for what came out otherwise in some run, and one for all the rest.
func manySuite(m *reports.Many) reports.Suite {
	s := reports.Suite{Name: "run " + m.Scenario, Repeat: m.Repeat}
	all := reports.Case{Group: m.Scenario, Name: "all seeds", Result: reports.Passed,
		Message: fmt.Sprintf("%d of %d runs as expected", m.Expected, m.Seeds)}
	switch {
	case m.Unexpected > 0:
		all.Result = reports.Failed
	case m.Undecided > 0 || m.Expected == 0:
		all.Result = reports.Undecided
	}
	s.Cases = append(s.Cases, all)
	s.Cases = append(s.Cases, reports.Interrupted(m.Scenario, m.Interrupted)...)
	for _, g := range m.Groups {
		c := reports.Case{Group: m.Scenario, Name: g.Name, Result: reports.Failed,
			Message: fmt.Sprintf("expected %s, got %s in %d runs, first with seed %d", g.Expected, g.Got, g.Runs, g.First)}
		for _, r := range m.Runs {
			if r.Seed == g.First {
				c.Story = runStory(r, g.Name)
			}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// exploreSuite has a case for each law, and one for each reason why nothing can be said.
func exploreSuite(e *reports.Exploration) reports.Suite {
	s := reports.Suite{Name: "explore " + e.Scenario, Repeat: e.Repeat}
	for i := range e.Laws {
		l := &e.Laws[i]
		c := reports.Case{Group: e.Scenario, Name: l.Law, Result: reports.Passed, Message: fmt.Sprintf("kept in %d runs", l.Holds)}
		broken := fmt.Sprintf("broken in %d of %d runs", l.Violated, l.Violated+l.Holds)
		switch {
		case l.Violated > 0 && !l.Promised:
			c.Message = "not promised; " + broken
		case l.Violated > 0:
			c.Result, c.Message, c.Story = reports.Failed, broken, findingStories(e, l.Law)
		case l.Holds == 0:
			c.Result, c.Message = reports.NotRun, "no run exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, openCases(e.Scenario, e.Open)...)
	interrupted := reports.Interrupted(e.Scenario, e.Interrupted)
	if e.OK { // all seeds were run: only the cutting down of what is not promised was interrupted
		interrupted = nil
	}
	s.Cases = append(s.Cases, interrupted...)
	return s
}

// openCases are the reasons why nothing can be said.
func openCases(scenario string, reasons []string) (cases []reports.Case) {
	for _, open := range reasons {
		cases = append(cases, reports.Case{Group: scenario, Name: "complete", Result: reports.Undecided, Message: open})
	}
	return cases
}

// findingStories tells the ways in which one law was broken.
func findingStories(e *reports.Exploration, law string) string {
	var all []string
	for _, f := range e.Findings {
		if f.Law == law {
			all = append(all, fmt.Sprintf("%s, in %d runs, first with seed %d\n%s", f.Cause, f.Runs, f.First, runStory(f.Run, law)))
		}
	}
	return strings.Join(all, "\n\n")
}

// corpusSuite has a case for each mutant and each sound lock.
func corpusSuite(r *reports.Corpus) reports.Suite {
	s := reports.Suite{Name: "corpus", Repeat: r.Repeat, Cases: reports.Interrupted("corpus", r.Interrupted)}
	for _, m := range r.Mutants {
		c := reports.Case{Group: m.Of, Name: m.Name, Result: reports.NotRun, Message: m.Defect}
		switch {
		case m.Caught:
			c.Result, c.Message = reports.Passed, fmt.Sprintf("%s; caught after %d runs by %s: %s", m.Defect, m.Runs, m.Law, m.Cause)
		case m.Hunted:
			c.Result, c.Message = reports.Failed, fmt.Sprintf("%s; not caught in %d runs", m.Defect, m.Runs)
		}
		s.Cases = append(s.Cases, c)
	}
	for _, l := range r.Sound {
		c := reports.Case{Group: "sound", Name: l.Name, Result: reports.Passed, Message: fmt.Sprintf("every promise kept in %d runs", l.Runs)}
		if len(l.Open) > 0 {
			c.Result, c.Message = reports.Undecided, strings.Join(l.Open, "; ")
		}
		for _, b := range l.Broken {
			c.Result, c.Message = reports.Failed, "broke a promise"
			c.Story += fmt.Sprintf("%s: %s, in %d runs, first with seed %d\nagain: %s\n", b.Law, b.Cause, b.Runs, b.First, b.Repeat)
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
