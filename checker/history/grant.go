package history

import (
	"fmt"
	"slices"
)

// wrongGrant returns an error if an event's grant contradicts the event. A lease is requested before it is granted, and
// granted before the acquire returns. All three times are measured by the holder's own clock. The lease may already
// have ended when the acquire returns.
func (e *Event) wrongGrant() error {
	g := e.Grant
	switch {
	case e.F != Acquire && e.F != Extend || e.Type != OK:
		return fmt.Errorf("%s %s has fields of a grant (since, granted, counted), "+
			"which only acquire ok and extend ok may have: remove them", e.F, e.Type)
	case g.Since > g.Granted:
		return fmt.Errorf("\"since\" (%d) is after \"granted\" (%d): "+
			"a client asks for a lease before it is granted", g.Since, g.Granted)
	case g.Granted > e.Time:
		return fmt.Errorf("\"granted\" (%d) is after the event's own \"time\" (%d): "+
			"a lease is granted before its holder returns", g.Granted, e.Time)
	}
	return nil
}

// wrongMember returns an error if an event has a Member field but is not a server's record of a key.
func (e *Event) wrongMember() error {
	if e.Member == "" || e.F.IsKey() {
		return nil
	}
	return fmt.Errorf("%s has a \"member\", which only a server's record of a key may have: remove it", e.F)
}

// Refuses returns an error if an event contradicts the header. A grant must not count a server twice, or count one
// that the header lists in neither Servers nor Groups. If the header does not list any servers, any server is allowed.
// A hold of a semaphore must not be shared.
func (h *Header) Refuses(e *Event) error {
	if e.Shared && h.Permits > 1 {
		return fmt.Errorf("a semaphore has no shared holds: the header has %d \"permits\", and each hold takes one",
			h.Permits)
	}
	if e.Grant == nil {
		return nil
	}
	for i, s := range e.Grant.Counted {
		switch {
		case slices.Contains(e.Grant.Counted[:i], s):
			return fmt.Errorf("\"counted\" lists %q twice", s)
		case len(h.Servers) > 0 && !slices.Contains(h.Servers, s) &&
			!slices.ContainsFunc(h.Groups, func(group []Process) bool { return slices.Contains(group, s) }):
			return fmt.Errorf("\"counted\" lists %q, which is not one of the header's \"servers\"", s)
		}
	}
	return nil
}

// wrongSent returns an error if the event has a Sent field but is not allowed to have one, or if Sent is later than the
// change of the key.
func (e *Event) wrongSent() error {
	switch {
	case !e.F.IsKey() || e.F.IsCopy():
		return fmt.Errorf("%s has \"sent\", which only a server's record of a key may have: remove it", e.F)
	case e.Sent < 1 || e.Sent > e.Time:
		return fmt.Errorf("\"sent\" is %d: it must be from 1 to the event's own \"time\" (%d)", e.Sent, e.Time)
	}
	return nil
}

// wrongCrash returns an error if Until, the time at which a crashed process was last known to be alive, is later than
// the crash.
func (e *Event) wrongCrash() error {
	if e.Until < 1 || e.Until > e.Time {
		return fmt.Errorf("\"until\" of a crash is %d: "+
			"it is when the process was last known to be alive, and must be from 1 to the event's \"time\" (%d)",
			e.Until, e.Time)
	}
	return nil
}
