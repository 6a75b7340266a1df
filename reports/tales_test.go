package reports

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/examples"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// runs are the situations whose reports are kept as golden files.
var runs = []struct {
	name string
	run  func() *single.Run
}{
	{"kleppmann", kleppmann}, {"fenced", fenced}, {"restart", restart}, {"calm", calm}, {"deadlock", deadlock},
	{"long", long},
}

// told makes a report of a story in which nothing was expected to break.
func told(s examples.Story) *single.Run {
	h := s.History
	r := &single.Run{Scenario: s.Scenario, Summary: s.Summary, Seed: 7, Digest: "00c0ffee00c0ffee", Plan: s.Plan,
		OK:      true,
		History: h, Events: 3 * len(h.Events), Simulated: h.Header.End.Duration(), Metrics: checker.Measure(h),
		Verdict: checker.Verdict{Findings: s.Findings}, Repeat: "fencepost run " + s.Scenario + " --seed 7"}
	for _, f := range s.Findings {
		if f.Outcome == checker.Violated {
			r.Expected = append(r.Expected, expectLine(string(f.Law), "holds", "violated by "+f.Cause.String(), false))
			r.OK = false
		}
	}
	return r
}

func expectLine(name, expected, got string, ok bool) single.ExpectLine {
	line := single.ExpectLine{Name: name, Expected: expected, Got: got, Standing: document.Standing{
		Result: document.Failed, Broken: strings.HasPrefix(got, "violated"), Named: true,
		Promise: expected == single.Promised}}
	if ok {
		line.Standing.Result = document.Passed
	}
	return line
}

// unnamed is a law of which the scenario expects nothing.
func unnamed(name, got string, ok bool) single.ExpectLine {
	line := expectLine(name, "", got, ok)
	line.Standing.Named = false
	return line
}

func kleppmann() *single.Run {
	r := told(examples.Kleppmann())
	r.Source, r.Seed, r.Digest, r.Events = "an author, a title, https://example.org", 1, "9f86d081884c7d65", 143
	r.Repeat, r.OK = "fencepost run kleppmann-gc-pause --seed 1", true
	r.Expected = []single.ExpectLine{
		expectLine(string(checker.LeaseExclusion), "holds", "holds", true),
		expectLine(string(checker.MutualExclusion), "violated by holder outlived its lease",
			"violated by holder outlived its lease (pause)", true),
		expectLine(string(checker.ResourceSafety), "violated", "violated by superseded holder took effect", true),
		expectLine("fencing_token_reject_rate", "0", "0", true),
	}
	return r
}

func fenced() *single.Run {
	r := told(examples.Fenced())
	r.OK, r.Expected = true, []single.ExpectLine{expectLine(r.Expected[0].Name, "violated", r.Expected[0].Got, true)}
	return r
}

func restart() *single.Run  { return told(examples.Restart()) }
func calm() *single.Run     { return told(examples.Calm()) }
func deadlock() *single.Run { return told(examples.Deadlock()) }
func long() *single.Run     { return told(examples.Long()) }

// witness lists the positions that findings of a run name.
func witness(r *single.Run) (all []int) {
	for _, f := range r.Verdict.Findings {
		all = append(all, f.Witness...)
	}
	return all
}
