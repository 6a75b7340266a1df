// Package realtime runs a world in real time: its events happen according to the host's monotonic clock. Its clients
// are processes on the host, which speak Redis's protocol over TCP, or another protocol implemented by a [sim.Wire].
// Their messages travel over the simulated links. The package uses goroutines, sockets, processes and the host's clock.
//
// A single loop assigns all times. Everything that comes from outside is an operation of the [Loop]: the loop first
// runs the events that are due, then advances the world's time to the host's, and then carries out the operation. A
// history's order is therefore total. An event that the host runs late is never recorded after something that really
// followed it.
//
// A [Front] has a port for each pair of client and server. Behind a port, a connection is a [sim.Pipe], so every link,
// connection and server fault means the same as in virtual time. A [Guest] carries out a client's faults. A pause stops
// the client's process group, and everything that the group had sent by then is handled. A crash kills the group.
//
// Goals: a fault means the same as in virtual time; no delay caused by the host can make a sound lock look broken; a
// run may last for hours. Non-goals: knowledge of locks, reports or laws; equal runs for equal seeds.
//
// It is not possible to know the instant at which a process on the host decides something or reads its clock. It is
// also impossible to leave a connection attempt unanswered, because the host's kernel accepts it.
package realtime
