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
