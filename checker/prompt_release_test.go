package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
)

// This file defines a law the way a contributor would, except that it is not registered until a test asks for it. No
// other file mentions the law. prompt_release_run_test.go tests it in all packages.

// PromptRelease is the law that nobody stays in a critical section for longer than a second.
const PromptRelease Law = "prompt-release"

func registerPromptRelease() {
	register(lawRow{law: PromptRelease, place: 8, gravity: 8, kept: Leased,
		says:   "nobody stays in a section for longer than a second",
		broken: "a client stays in its section for longer than a second",
		judge:  (*judge).promptRelease})
}

const tooLong CauseKind = "stayed too long"

// promptRelease checks that each release is called within a second of the acquisition. If there are no releases in the
// history, the law is unchecked.
func (t *judge) promptRelease(f *Finding) {
	since, released := map[history.Process]history.Time{}, 0
	for i := range t.History.Events {
		switch e := &t.History.Events[i]; {
		case e.F == history.Acquire && e.Type == history.OK:
			since[e.Process] = e.Time
		case e.F == history.Release && e.Type == history.Invoke:
			if released++; e.Time-since[e.Process] > 1e9 {
				f.Outcome, f.Cause, f.Witness = Violated, Cause{Kind: tooLong}, []int{i}
				f.Explanation = string(e.Process) + " stayed in its section for longer than a second."
				return
			}
		}
	}
	if released == 0 {
		f.unchecked("Nobody released.")
		return
	}
	f.holds(count(released, "release") + ", each within a second.")
}
