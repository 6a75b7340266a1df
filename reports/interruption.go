package reports

// interruption says in a report that a signal ended the work early: what it says was found by then, and goes no further.
const interruption = "interrupted: this is what was found by then"

// stopped writes in a text that the work was interrupted, if it was.
func stopped(p *page, interrupted bool) {
	if interrupted {
		p.hang(0, "stopped ", yellow, interruption)
	}
}
