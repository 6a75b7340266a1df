package checker

import "slices"

// Promise is what a lock is to keep whatever faults strike.
type Promise struct {
	Laws []Law
	// Availability extends the promise of deadlock-freedom to cases in which too few servers are left for good. No lock
	// can help that, only more servers can; so it is not promised unless asked for.
	Availability bool
}

// Availability is the name of a Promise's Availability in scenario files and reports.
const Availability = "availability"

// Excuse explains, after "is broken", why a promise is not, and how to demand more.
const Excuse = "where no quorum of servers is left for good; no lock helps there, and it is not promised unless " +
	"promise lists " + Availability

// Covers reports whether a law broken by the given cause breaks the promise.
func (p Promise) Covers(l Law, c Cause) bool { return slices.Contains(p.Laws, l) && !p.Excuses(c) }

// Excuses reports whether a cause breaks no promise, whichever law it breaks.
func (p Promise) Excuses(c Cause) bool { return c.Kind == NoQuorumLeft && !p.Availability }
