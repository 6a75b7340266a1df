// Package sim is a deterministic world of processes: virtual true time, one queue of events, clocks that jump and
// drift, a network that delays, cuts and delivers late, pauses, crashes and restarts.
//
// Goals: equal seeds give equal runs, to the digest, on any machine; client code is ordinary sequential Go against Env;
// what a fault means is defined here once. A World can be driven from outside, event by event (Next, Step).
//
// Non-goals: knowing any lock, any server or any law. Nothing here reads the host's clock, its randomness or its
// network, starts a goroutine that runs beside another, or depends on the order of a map.
//
// The simplifications, all in favour of readable stories: a request is executed in no time; TCP's retransmission
// back-off after a healed cut is not modelled (held bytes leave at the heal); bytes sent to a host that is down are
// lost rather than retransmitted, since every client here gives up earlier.
package sim
