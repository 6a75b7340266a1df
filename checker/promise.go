package checker

import "slices"

// Promise is what a lock is to keep whatever strikes it.
type Promise struct {
	Laws []Law
	// Availability says that deadlock-freedom counts as broken also where too few servers are left for good. No lock
	// can help that, only more servers; so it is not promised unless somebody asks for it.
	Availability bool
}

// Availability is what scenario files and reports call a Promise's Availability.
const Availability = "availability"

// Excuse says after "is broken" why a promise is not, and how more would be promised.
const Excuse = "where no quorum of servers is left for good; no lock helps there, and it is not promised unless " +
	"promise lists " + Availability

// Covers reports whether a law that is broken by a cause breaks the promise.
func (p Promise) Covers(l Law, c Cause) bool { return slices.Contains(p.Laws, l) && !p.Excuses(c) }

// Excuses reports whether a cause breaks no promise, whichever law it breaks.
func (p Promise) Excuses(c Cause) bool { return c.Kind == NoQuorumLeft && !p.Availability }
