package play

import (
	"bytes"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// file is a file that the user can download.
type file struct {
	Name string `json:"name"`
	Is   string `json:"is"`
	Text string `json:"text"`
}

// files returns files that preserve the state: the scenario, which expects the current outcome; the plan; a command
// line for CI; a static page; and, if a law is broken, a Go test that fails until the law holds.
func (o *opened) files() (all []file, err error) {
	if err := o.run(); err != nil {
		return nil, err
	}
	judged := o.scenario.Judge(o.result)
	run, err := single.Explain(o.scenario, o.result, judged)
	if err != nil {
		return nil, err
	}
	expecting, err := o.expecting(run)
	if err != nil {
		return nil, err
	}
	name := o.scenario.Name
	kept := name + ".yaml"
	plan := nemesis.Plan{Scenario: "./" + kept, Seed: o.Seed, Faults: o.scenario.Faults}
	all = []file{
		{Name: kept, Is: "the scenario, with the current outcome as its expected outcome",
			Text: string(expecting.Text())},
		{Name: search.PlanFile, Is: "the faults and the seed, as a plan for fencepost replay", Text: plan.String()},
		{Name: "ci.txt", Is: "the line for CI", Text: fmt.Sprintf("go run github.com/fencepost-sim/fencepost/cmd/"+
			"fencepost@latest run %s --seed %d --junit report.xml\n", kept, o.Seed)},
	}
	if law := run.Gravest(); law != "" {
		test := o.test(run, expecting, law)
		all = append(all, file{Name: test.Name, Is: fmt.Sprintf("a Go test that fails until %s holds", law),
			Text: string(test.Text)})
	}
	var page bytes.Buffer
	run.Repeat = fmt.Sprintf("fencepost run %s --seed %d", kept, o.Seed)
	if err := run.Document().HTML(&page, name+".html"); err != nil {
		return nil, err
	}
	return append(all, file{Name: name + ".html", Is: "this run as a static page", Text: page.String()}), nil
}

// expecting returns a copy of the scenario that expects each law's current outcome.
func (o *opened) expecting(run *single.Run) (*scenarios.Scenario, error) {
	doc, _ := unexpecting(o.doc)
	for _, f := range run.Findings() {
		switch f.Outcome {
		case checker.Holds:
			doc.Set("expect."+string(f.Law), "holds")
		case checker.Violated:
			doc.Set("expect."+string(f.Law), "violated")
		}
	}
	return scenarios.Parse(fileName, []byte(doc.String()))
}

// test returns the Go test that fails until a law holds.
func (o *opened) test(run *single.Run, s *scenarios.Scenario, law checker.Law) search.File {
	f := run.Verdict.Of(law)
	small := search.Shrunk{Law: law, Cause: f.Cause, First: o.result.Plan, Plan: o.result.Plan, Scenario: s, Finding: f,
		Digest: o.result.Digest}
	files := small.Files("locks", "")
	return files[len(files)-1]
}
