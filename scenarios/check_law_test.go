package scenarios

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// pausedHolder is a scenario without fencing. The holder is paused until its lease has expired, and then writes.
const pausedHolder = `name: paused-holder
servers: {redis: 1}
lock: {protocol: fenced, ttl: 3s}
work: {writes: 1}
faults:
  - pause client-1 for 5s after before-write
`

func TestCheckLawPassesOnlyWhatWasExercisedAndHeld(t *testing.T) {
	fenced := pausedHolder + "resource: {fencing: on}\n"
	for _, c := range []struct {
		text    string
		law     checker.Law
		outcome checker.Outcome
	}{
		{pausedHolder, checker.ResourceSafety, checker.Violated},
		{fenced, checker.ResourceSafety, checker.Holds},
		{fenced, checker.MutualExclusion, checker.Violated},
		{pausedHolder + "expect: {resource-safety: violated}\n", checker.ResourceSafety, checker.Violated},
		{strings.Replace(pausedHolder, "writes: 1", "writes: 0", 1), checker.ResourceSafety, checker.Unchecked},
		{strings.Replace(pausedHolder, "after before-write", "after acquired", 1) + "limit: 2s\n",
			checker.DeadlockFreedom, checker.Undecided},
	} {
		err := CheckLaw(c.text, 1, c.law)
		var not *NotHeld
		switch {
		case c.outcome == checker.Holds && err != nil:
			t.Errorf("%s: %v\n%s", c.law, err, c.text)
		case c.outcome != checker.Holds &&
			(!errors.As(err, &not) || not.Finding.Outcome != c.outcome || not.Finding.Law != c.law):
			t.Errorf("%s: %v; expected to hear that it is %s, from\n%s", c.law, err, c.outcome, c.text)
		}
	}
}

func TestCheckLawTellsTheStory(t *testing.T) {
	err := CheckLaw(pausedHolder, 7, checker.ResourceSafety)
	if err == nil {
		t.Fatal("it held")
	}
	for _, part := range []string{"paused-holder with seed 7: resource-safety is violated by superseded holder took " +
		"effect\n",
		"\tpause client-1 for 5s after before-write\n", "\nRemedy: Let the resource compare fencing tokens"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in\n%v", part, err)
		}
	}
}

func TestCheckLawRefusesWhatItCannotRun(t *testing.T) {
	if err := CheckLaw(pausedHolder, 1, "mutual-exclusivity"); err == nil ||
		err.Error() != `there is no law "mutual-exclusivity": checker.Laws lists them all` {
		t.Errorf("unknown law: %v", err)
	}
	var bad *format.Error
	if err := CheckLaw("name: x\n", 1, checker.MutualExclusion); !errors.As(err, &bad) {
		t.Errorf("no scenario: %v", err)
	}
}

// A host stall may be the reason why nobody got the lock, so it makes deadlock-freedom undecided. But it cannot be the
// reason why two clients held the lock at once.
func TestAStallOfTheHostDecidesNothing(t *testing.T) {
	for name, want := range map[string][2]checker.Outcome{
		"pubsub-lost-message": {checker.Violated, checker.Undecided},
		"setnx-holder-crash":  {checker.Violated, checker.Violated}, // a crash is not a stall
		"long-node-timeout":   {checker.Violated, checker.Undecided},
		"kleppmann-gc-pause":  {checker.Violated, checker.Violated},
	} {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		law := map[string]checker.Law{"long-node-timeout": checker.FaultTolerance,
			"kleppmann-gc-pause": checker.MutualExclusion}[name]
		if law == "" {
			law = checker.DeadlockFreedom
		}
		r, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		sound := s.Judge(r).Verdict.Of(law).Outcome
		r.Stalled = "the host stalled"
		if stalled := s.Judge(r).Verdict.Of(law); sound != want[0] || stalled.Outcome != want[1] {
			t.Errorf("%s: %s is %v, on a host that stalled %v", name, law, sound, stalled.Outcome)
		}
	}
}
