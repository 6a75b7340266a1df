package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// Assignment is a version of a scenario in which every link has a fixed delay. A result holds only for these delays.
// They are fixed because a verification needs events in two runs to happen at the same instant, which is rare with
// random delays. There are several assignments, because many violations cannot occur when all delays are equal. With
// Options.Requests, the only assignment has the scenario's own random delays.
type Assignment struct {
	Name     string              // describes the delays, such as "every message takes 1ms"
	Scenario *scenarios.Scenario // the scenario's text contains the delays, so the text is enough to repeat the runs
}

// assign returns assignments with message delays within the ranges that s specifies, simplest first. If the delay in s
// is fixed, there is only one such assignment. With Options.Orders, each is followed by two with other orders of
// simultaneous arrivals. With Options.Requests, there is only one assignment, with the delays that s draws at random.
func assign(s *scenarios.Scenario, o *Options) ([]Assignment, error) {
	if o.Requests {
		own := *s
		if !o.KeepFaults {
			own.Faults = nil
		}
		return []Assignment{{fmt.Sprintf("the delays are those drawn with seed %d", o.Seed), &own}}, nil
	}
	lo, hi := s.Network.Delay.Lo, s.Network.Delay.Hi
	all := []linkDelays{{name: "every message takes " + nemesis.FormatDuration((lo+hi)/2), usual: (lo + hi) / 2}}
	if lo < hi {
		all = append(all, uneven(s, lo, hi)...)
	}
	all = all[:max(1, min(o.Delays, len(all)))]
	if o.Orders {
		var ordered []linkDelays
		for _, d := range all {
			ordered = append(ordered, d, d.ordered(lowFirst), d.ordered(highFirst))
		}
		all = ordered
	}
	var list []Assignment
	for _, d := range all {
		fixed, err := d.apply(s, o.KeepFaults)
		if err != nil {
			return nil, err
		}
		list = append(list, Assignment{d.name, fixed})
	}
	return list, nil
}

// linkDelays are one assignment's message delays.
type linkDelays struct {
	name  string
	usual time.Duration
	// messages to and from this process have the unusual delay, and all other messages have the usual one; special may
	// be empty
	special sim.ProcessID
	unusual time.Duration
	order   arrivalOrder
}

// arrivalOrder determines which message comes first if several arrive at the same instant. To produce this order, each
// message's delay is increased by a few nanoseconds, depending on its sender's number. This is better than permuting
// simultaneous events: messages on one connection keep their order, and the order is part of the scenario's text. With
// two senders, the constants below cover all possible orders.
type arrivalOrder uint8

const (
	asScheduled arrivalOrder = iota // the message sent earlier; if both were sent at once, the one scheduled earlier
	lowFirst
	highFirst
)

// uneven returns assignments with unequal message delays: in some, one client is closer to the servers than all others,
// and in some, one server is farther away.
func uneven(s *scenarios.Scenario, lo, hi time.Duration) []linkDelays {
	var all []linkDelays
	add := func(p sim.ProcessID, its, others time.Duration) {
		all = append(all, linkDelays{name: fmt.Sprintf("messages to and from %s take %s, all others %s", p,
			nemesis.FormatDuration(its), nemesis.FormatDuration(others)),
			usual: others, special: p, unusual: its})
	}
	names := s.Targets()
	for _, p := range names.Clients {
		add(p, lo, hi)
	}
	for _, p := range slices.Backward(names.Servers()) {
		add(p, hi, lo)
	}
	return all
}

// ordered returns a copy of d in which messages that arrive at the same instant are ordered by o.
func (d linkDelays) ordered(o arrivalOrder) linkDelays {
	which := map[arrivalOrder]string{lowFirst: "lower", highFirst: "higher"}[o]
	d.order, d.name = o, fmt.Sprintf("%s; if messages arrive at the same time, "+
		"the message from the %s-numbered sender comes first", d.name, which)
	return d
}

// apply writes the delays into s's text. It removes the random long tail from the network's delays.
func (d linkDelays) apply(s *scenarios.Scenario, keepFaults bool) (*scenarios.Scenario, error) {
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return nil, err
	}
	if !keepFaults {
		doc.Remove("faults")
	}
	doc.Remove("network")
	doc.Set("network.delay", nemesis.FormatDuration(d.usual))
	names := s.Targets()
	servers := append(names.Servers(), names.Resource)
	for i, client := range names.Clients {
		for j, server := range servers {
			d.set(doc, s, client, server, d.extraDelay(i, len(names.Clients)))
			d.set(doc, s, server, client, d.extraDelay(j, len(servers)))
		}
	}
	return scenarios.Parse(s.Name, []byte(doc.String()))
}

// extraDelay returns the extra delay for messages from the ith of n senders, in nanoseconds. It puts messages that
// would arrive at the same instant in the given order.
func (d linkDelays) extraDelay(i, n int) time.Duration {
	switch d.order {
	case lowFirst:
		return time.Duration(i)
	case highFirst:
		return time.Duration(n - 1 - i)
	}
	return 0
}

// set writes the delay for one direction of a link. If s gives that direction its own delay range, set writes the
// middle of the range.
func (d linkDelays) set(doc *format.Document, s *scenarios.Scenario, from, to sim.ProcessID, later time.Duration) {
	delay := d.usual
	if from == d.special || to == d.special {
		delay = d.unusual
	}
	for _, l := range s.Network.Links {
		if l.From == from && l.To == to {
			delay = (l.Delay.Lo + l.Delay.Hi) / 2
		}
	}
	if delay += later; delay != d.usual {
		doc.Set(fmt.Sprintf("network.links.%s -> %s", from, to), nemesis.FormatDuration(delay))
	}
}
