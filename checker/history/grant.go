package history

import (
	"fmt"
	"slices"
)

// wrongGrant describes what is wrong with the grant of an event that has one. A lease is requested before it is
// granted, and granted before its holder returns; all three times are by the holder's own clock. It may have ended by
// then.
func (e *Event) wrongGrant() error {
	g := e.Grant
	switch {
	case e.F != Acquire && e.F != Extend || e.Type != OK:
		return fmt.Errorf("%s %s carries a grant: since, granted, until and counted stand on acquire ok and extend ok",
			e.F, e.Type)
	case g.Since > g.Granted:
		return fmt.Errorf("\"since\" is %d, after \"granted\", %d: a lease is asked for before it is granted", g.Since,
			g.Granted)
	case g.Granted > e.Time:
		return fmt.Errorf("\"granted\" is %d, after the event's own \"time\", %d: a lease is granted before its "+
			"holder returns", g.Granted, e.Time)
	}
	return nil
}

// wrongCount describes what is wrong with the servers that the grant of an event counted: each may be counted once, and
// only if the header lists it as a server or in a group, where it lists any.
func (h *Header) wrongCount(e *Event) error {
	if e.Grant == nil {
		return nil
	}
	for i, s := range e.Grant.Counted {
		switch {
		case slices.Contains(e.Grant.Counted[:i], s):
			return fmt.Errorf("\"counted\" lists %q twice", s)
		case len(h.Servers) > 0 && !slices.Contains(h.Servers, s) &&
			!slices.ContainsFunc(h.Groups, func(group []Process) bool { return slices.Contains(group, s) }):
			return fmt.Errorf("\"counted\" lists %q, which is none of the header's \"servers\"", s)
		}
	}
	return nil
}

// wrongSent says what is wrong with the time at which the request that changed a key left.
func (e *Event) wrongSent() error {
	switch {
	case !e.F.IsKey() || e.F.IsCopy():
		return fmt.Errorf("%s carries the time at which a request was sent: only a server's record of a key does", e.F)
	case e.Sent < 1 || e.Sent > e.Time:
		return fmt.Errorf("\"sent\" is %d: it lies between 1 and \"time\", %d", e.Sent, e.Time)
	}
	return nil
}

// wrongCrash says what is wrong with the time until which a process that crashed is known to have lived.
func (e *Event) wrongCrash() error {
	if e.Until < 1 || e.Until > e.Time {
		return fmt.Errorf("\"until\" of a crash is %d: it is when the process was last known to live, from 1 to its "+
			"\"time\", %d", e.Until, e.Time)
	}
	return nil
}
