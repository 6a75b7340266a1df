// Package realtime runs a world in real time: its events happen by the host's monotonic clock, its clients are
// processes of the host that speak Redis's protocol over TCP, or another that a [sim.Wire] knows, and what they send
// travels on the simulated links. It uses goroutines, sockets, processes and the host's clock.
//
// One loop stamps everything. Whatever comes from outside is an operation of the [Loop]: the events that are due are
// run, the world's time is advanced to the host's, and then the operation is done. So the order of a history is total,
// and an event that the host lets happen late never comes after what really followed it.
//
// A [Front] listens for each client and server. Behind it a connection is a [sim.Pipe], so that every fault of links,
// connections and servers means what it means in virtual time. A [Guest] carries out faults of a client: a pause stops
// its process group and takes what it had sent by then, a crash kills it.
//
// Goals: a fault line means the same as in virtual time; no delay by the host can make a sound lock look broken; a run
// may last for hours. Non-goals: knowing any lock, report or law; equal runs for equal seeds.
//
// What is impossible: knowing the instant at which a process of the host decides or reads its clock; a connection
// attempt that nobody answers, since the kernel of the host accepts it.
package realtime
