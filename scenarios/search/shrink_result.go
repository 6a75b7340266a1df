package search

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// result returns the reduced scenario and plan as a Shrunk. It first formats them as text, parses the text, and checks
// that the parsed scenario and plan still lead to the violation.
func (sh *shrinker) result(original *scenarios.Scenario, first nemesis.Plan, s *subject, p nemesis.Plan) (*Shrunk,
	error) {
	r := &Shrunk{Law: sh.violation.Law, Cause: sh.violation.Cause, First: first, Plan: p,
		Often: shrink.Often(p, s.violates), Ending: sh.ending}
	if sh.err != nil {
		return nil, sh.err
	}
	verdict, err := r.run(s.scenario, p)
	if err != nil {
		return nil, err
	}
	doc := s.doc.Clone()
	doc.Set("summary", r.summary(original.Name))
	if len(p.Faults) > 0 {
		var lines []string
		for _, f := range p.Faults {
			lines = append(lines, f.String())
		}
		doc.SetList("faults", lines)
	}
	for _, law := range checker.Laws {
		switch {
		case law == r.Law:
			doc.Set("expect."+string(law), "holds")
		case verdict.Of(law).Outcome == checker.Violated, !slices.Contains(original.Promise.Laws, law):
			doc.Set("expect."+string(law), "any") // other laws may stay broken when this one is fixed
		}
	}
	doc.Arrange(scenarios.TopKeys())
	if r.Scenario, err = original.Parse(ScenarioFile, []byte(doc.String())); err != nil {
		return nil, err
	}
	if err := r.failsAgain(); err != nil {
		return nil, err
	}
	r.Runs = sh.runs + 3
	return r, nil
}

// run runs a plan with a new runner and records the run's digest and finding in r.
func (r *Shrunk) run(s *scenarios.Scenario, p nemesis.Plan) (checker.Verdict, error) {
	result, err := scenarios.NewRunner(s).Run(p)
	if err != nil {
		return checker.Verdict{}, err
	}
	r.Digest = result.Digest
	v := checker.Check(result.History)
	f := v.Of(r.Law)
	b := f.By(r.Cause)
	if b == nil {
		return v, &UnrepeatedError{r.Law, r.Cause, "the shrunk run did not show the violation when it was repeated"}
	}
	r.Finding = *b
	return v, nil
}

// failsAgain runs the reduced scenario twice: with the faults in the scenario's text, and with those in the plan's
// text. It returns an error unless the two runs are identical and show the violation.
func (r *Shrunk) failsAgain() error {
	if _, err := r.run(r.Scenario, r.Scenario.Plan(r.Plan.Seed)); err != nil {
		return err
	}
	digest := r.Digest
	plan, err := nemesis.ParsePlan(PlanFile, r.PlanText(""))
	if err != nil {
		return err
	}
	if err := plan.Validate(r.Scenario.Targets()); err != nil {
		return err
	}
	if _, err := r.run(r.Scenario, plan); err != nil {
		return err
	}
	if r.Digest != digest {
		return &UnrepeatedError{r.Law, r.Cause, "the smallest run was different when it was repeated"}
	}
	return nil
}

// summary returns the shrunk scenario's summary: what the scenario shows and where it comes from.
func (r *Shrunk) summary(found string) string {
	return fmt.Sprintf("%s, %s: %s. The search found this in %s with %s and simplified the plan. %s",
		withFaults(len(r.Plan.Faults)), r.story(), r.Cause, found, counted(len(r.First.Faults), "fault"), r.seeds())
}

// seeds says in a sentence which seeds show the violation.
func (r *Shrunk) seeds() string {
	own, most := r.Plan.Seed, shrink.OtherSeeds
	switch r.Often {
	case 0:
		return fmt.Sprintf("Seed %d shows it, and none of the seeds 1 to %d does.", own, most)
	case 1:
		return fmt.Sprintf("Seed %d shows it, and so does one of the seeds 1 to %d.", own, most)
	}
	return fmt.Sprintf("Seed %d shows it, and so do %d of the seeds 1 to %d.", own, r.Often, most)
}

// story describes in a few words what happens when the law is broken.
func (r *Shrunk) story() string {
	if r.Law == checker.ResourceSafety && r.Cause.Kind == checker.LostUpdate {
		return "an update of the data is lost"
	}
	return r.Law.Broken()
}

func withFaults(n int) string {
	switch n {
	case 0:
		return "Without any fault"
	case 1:
		return "With one fault"
	}
	return fmt.Sprintf("With %d faults", n)
}

// counted returns a number and its noun in the singular or plural.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
