package task

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// unsteady returns a scenario with a lock from a library. Each run gets different random numbers from the run before,
// even with the same seed.
func unsteady(t *testing.T) *scenarios.Scenario {
	t.Helper()
	const text = "name: unsteady\nservers: {redis: 1}\nclients: 3\nlock: {protocol: library, ttl: 2s}\n" +
		"work: {cycles: 2, hold: 1s}\nmix: {faults: 3}\npromise: [mutual-exclusion]\n"
	steady, err := scenarios.Parse("steady.yaml", []byte(strings.Replace(text, "library", "set-nx-px", 1)))
	if err != nil {
		t.Fatal(err)
	}
	runs := uint64(0)
	s, err := scenarios.ParseWith("unsteady.yaml", []byte(text), &scenarios.Code{
		Elsewhere: func(_ *scenarios.Scenario, p nemesis.Plan, _ scenarios.Wanted) (scenarios.Result, error) {
			runs++
			p.Seed += runs
			return scenarios.NewRunner(steady).Run(p)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A violation is reported even if it does not recur when its run is repeated, so that it can be neither shrunk nor
// shown. The other findings are reported as usual.
func TestAViolationThatCannotBeRepeatedIsReported(t *testing.T) {
	s := unsteady(t)
	e := searched(t, s, 40)
	if len(e.Findings) == 0 {
		t.Fatal("no run broke a promise")
	}
	x := Exploration{Scenario: s, Found: e}
	out := prepared(t, &x)
	x.Frame.JUnit = filepath.Join(t.TempDir(), "junit.xml")
	if err := x.Conclude(context.Background()); !errors.As(err, new(output.Ended)) {
		t.Fatalf("a promise was broken, and the command ends with %v", err)
	}
	var verdict struct {
		Findings, Unrepeated []struct {
			Law, Cause string
			Runs       int
		}
	}
	text, err := os.ReadFile(filepath.Join(x.Out, VerdictFile))
	if err == nil {
		err = json.Unmarshal(text, &verdict)
	}
	if err != nil || len(verdict.Unrepeated) == 0 || len(verdict.Findings)+len(verdict.Unrepeated) != len(e.Findings) {
		t.Fatalf("%d findings, of which the report has %+v: %v", len(e.Findings), verdict, err)
	}
	junit, err := os.ReadFile(x.Frame.JUnit)
	if err != nil {
		t.Fatal(err)
	}
	promised := false
	for _, f := range verdict.Unrepeated {
		want := f.Law + ": " + f.Cause + ", in "
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("the text does not contain %q:\n%s", want, out.String())
		}
		if f.Law == "mutual-exclusion" {
			if promised = true; !strings.Contains(string(junit), want) {
				t.Errorf("the JUnit report does not contain %q:\n%s", want, junit)
			}
		}
	}
	if !promised {
		t.Error("no violation of the promised law is among them")
	}
}

// TestAPlanNamesTheProgramThatItNeeds checks that each plan file of an exploration names the program whose lock was
// explored. Without the program, the plan's faults would strike another lock.
func TestAPlanNamesTheProgramThatItNeeds(t *testing.T) {
	s, err := Open("kleppmann-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	e := searched(t, s, 100)
	x := Exploration{Scenario: s, Found: e, Test: &Guest{programs: &live.Virtual{}, client: "a\nworker"}}
	prepared(t, &x)
	conclude(t, &x)
	plans, err := filepath.Glob(filepath.Join(x.Out, "*-*", search.PlanFile))
	if err != nil || len(plans) == 0 {
		t.Fatalf("%v, %v, %d findings", plans, err, len(e.Findings))
	}
	for _, file := range plans {
		plan, err := os.ReadFile(file)
		want := " replay " + text.ShellWord(file) + " --client 'a\n# worker'; the run's digest is "
		if err != nil || !strings.Contains(string(plan), want) {
			t.Errorf("no %q in\n%s", want, plan)
		}
		if _, err := nemesis.ParsePlan(file, plan); err != nil {
			t.Error(err)
		}
	}
}

// TestAnExplorationOfAProgramIsContinuedWithIt checks that the command that continues an exploration names the program
// whose lock was explored, which is not in the folder.
func TestAnExplorationOfAProgramIsContinuedWithIt(t *testing.T) {
	s := unsteady(t)
	e, err := search.NewExploration(s, 1, 40, search.Whole)
	if err != nil {
		t.Fatal(err)
	}
	x := Exploration{Scenario: s, Found: e, Test: &Guest{programs: &live.Virtual{}, client: "a worker"}}
	x.Out = "out"
	const want = " explore unsteady --client 'a worker' --resume out"
	if got := x.repeat(); !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}
