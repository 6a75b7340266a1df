package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// RefusedError reports that a scenario or a fault cannot be carried out with these servers and clients.
type RefusedError struct {
	Line   string // the fault's line in the plan; empty if the whole scenario is refused
	Number int    // the fault's number in the plan, counted from 1
	Reason string
}

// Error says what is refused, and why.
func (e *RefusedError) Error() string {
	if e.Line == "" {
		return e.Reason
	}
	return fmt.Sprintf("fault %d, %q, cannot be carried out: %s", e.Number, e.Line, e.Reason)
}

// passed lists the steps that a user's client reports. Each of them can trigger a fault.
var passed = []sim.Point{sim.AcquireStart, sim.Acquired, sim.AfterRead, sim.BeforeWrite, sim.BeforeExtend,
	sim.BeforeRelease, sim.Released}

// refuse returns an error if the scenario or one of the faults cannot be carried out.
func refuse(o *Options, faults []nemesis.Fault) error {
	s := o.Scenario
	switch {
	case o.Command != "" && o.Fleet.Front(s.Servers.Front()) == nil:
		return &RefusedError{Reason: fmt.Sprintf("%s has %s servers, which a client of your own cannot reach: "+
			"remove --client", s.Name, s.Servers.Backend)}
	case s.Servers.Cluster && o.Virtual == nil:
		return &RefusedError{Reason: fmt.Sprintf("%s has a Redis Cluster, which is simulated in virtual time only: "+
			"use run or explore, with or without --client, or write cluster: off", s.Name)}
	case s.FromLibrary():
		return &RefusedError{Reason: fmt.Sprintf("%s has a Go library under test in its own process: "+
			"give its client as a program, with --client", s.Name)}
	}
	for i := range faults {
		f := &faults[i]
		reason := o.cannot(f)
		if err := o.Fleet.Can(f); reason == "" && err != nil {
			reason = err.Error()
		}
		if reason != "" {
			return &RefusedError{Line: f.String(), Number: i + 1, Reason: reason}
		}
	}
	return nil
}

// cannot returns the reason why a fault cannot be injected if the clients are the user's. It returns "" if there is no
// such reason.
func (o *Options) cannot(f *nemesis.Fault) string {
	if o.Command == "" {
		return ""
	}
	if o.Virtual == nil && f.Kind.Does().IsClock() && nemesis.IsClient(f.Target) {
		return fmt.Sprintf("the clocks of %s are the host's and cannot be changed: "+
			"let the servers' clocks jump or drift in the opposite direction instead", f.Target)
	}
	own := o.Scenario.Servers.Front()
	if f.Trigger.Message.Named() && o.Fleet.Front(own) != own {
		return "your client's bytes are passed on to these servers without being decoded, " +
			"so a fault cannot name a request: name a time instead"
	}
	if o.Virtual == nil && f.Trigger.Message.Attempt > 0 {
		return "only the client's library knows to which attempt a request belongs: remove the attempt"
	}
	if p := f.Trigger.Point; p != "" && !slices.Contains(passed, p) {
		names := make([]string, len(passed))
		for i, p := range passed {
			names[i] = string(p)
		}
		return fmt.Sprintf("%s is inside the client's library, which does not report when it passes that point: "+
			"your client reports %s", p, strings.Join(names, ", "))
	}
	return ""
}
