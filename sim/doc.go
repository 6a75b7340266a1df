// Package sim is a deterministic simulator of processes on a network. It has virtual true time, a single queue of
// events, clocks that jump and drift, and a network that delays, cuts and reorders messages. Processes can pause, crash
// and restart.
//
// Goals: the same seed gives the same run and the same digest on any machine. Client code is ordinary sequential Go
// that uses Env. The effect of each fault is defined once, in this package. A World can be driven from outside, event
// by event (Next, Step).
//
// Non-goals: this package does not know about locks, lock servers or the checker's laws. It does not use the host's
// clock, randomness or network. It does not start goroutines that run in parallel, and results do not depend on the
// iteration order of maps.
//
// The model is simplified so that runs are easy to read. Executing a request takes no time. TCP bytes that a cut holds
// back are sent as soon as the cut heals, without any back-off. If a segment reaches a host that is off, the sender
// retransmits it, with Linux's timing.
package sim
