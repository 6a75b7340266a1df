package reports

import (
	"github.com/fencepost-sim/fencepost/reports/term"
)

// interruption says in a report that a signal ended the work early: what it says was found by then, and goes no further.
const interruption = "interrupted: this is what was found by then"

// stopped writes in a text that the work was interrupted, if it was.
func stopped(p *term.Writer, interrupted bool) {
	if interrupted {
		p.Hang(0, "stopped ", term.Yellow, interruption)
	}
}

// Interrupted are the cases by which a CI system sees that the work was interrupted: one that is undecided, or none.
func Interrupted(group string, interrupted bool) []Case {
	if !interrupted {
		return nil
	}
	return []Case{{Group: group, Name: "complete", Result: Undecided, Message: interruption}}
}
