// Package sim is a deterministic world of processes: virtual true time, one queue of events, clocks that jump and
// drift, a network that delays, cuts and delivers late, pauses, crashes and restarts.
//
// Goals: equal seeds give equal runs, to the digest, on any machine; client code is ordinary sequential Go against Env;
// what a fault means is defined here once. A World can be driven from outside, event by event (Next, Step).
//
// Non-goals: knowing any lock, any server or any law. Nothing here reads the host's clock, its randomness or its
// network, starts a goroutine that runs beside another, or depends on the order of a map.
//
// The simplifications, all in favour of readable stories: a request is executed in no time; and of TCP, bytes that a
// cut holds back leave when it heals, without a back-off. What reaches a host that is off is sent again as Linux does.
package sim
