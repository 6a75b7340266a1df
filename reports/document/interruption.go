package document

import (
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Interruption says in a report that a signal ended the work early: what it says was found by then, and goes no
// further.
const Interruption = "interrupted: this is what was found by then"

// stopped writes in a text that the work was interrupted, if it was.
func stopped(p *text.Writer, interrupted bool) {
	if interrupted {
		p.Hang(0, "stopped ", text.Yellow, Interruption)
	}
}
