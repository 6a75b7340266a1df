// Package sim is a deterministic world of processes: virtual true time, a single queue of events, clocks that jump and
// drift, a network that delays, cuts and delivers late, pauses, crashes and restarts.
//
// Goals: equal seeds give equal runs with equal digests on any machine; client code is ordinary sequential Go against
// Env; the effect of each fault is defined once, here. A World can be driven from outside, event by event (Next, Step).
//
// Non-goals: this package knows no lock, server or law. Nothing here reads the host's clock, its randomness or its
// network, starts a goroutine that runs in parallel with another, or depends on the order of a map.
//
// The model is simplified to make stories readable: a request is executed in no time, and TCP bytes that a cut holds
// back are sent as soon as it heals, without a back-off. Segments that reach a host that is off are sent again as Linux
// does.
package sim
