// Package realtime runs a world in real time: its events happen when the host's monotonic clock says so, its clients
// are processes of the host that speak Redis' protocol over TCP, and what they say travels on the simulated links. It
// is a room of the host: it uses goroutines, sockets, processes and the host's clock.
//
// One loop stamps everything. Whatever comes from outside is an operation of the [Loop]: the events that are due are
// run, the world's time is advanced to the host's, and then the operation is done. So the order of a history is total,
// and an event that the host lets happen late never comes after what really followed it.
//
// A [Front] listens for each client and server. Behind it a connection is a [sim.Pipe], so that every fault of links,
// connections and servers means what it means in virtual time. A [Guest] carries out what happens to a client: a pause
// stops its process group and takes what it had sent by then, a crash kills it.
//
// Goals: a fault line means the same as in virtual time; nothing that the host does late can make a sound lock look
// broken; a run may last for hours. Non-goals: knowing any lock, any report or any law; equal runs for equal seeds.
//
// What cannot be had: the instant at which a process of the host decides or reads its clock; a connection attempt that
// nobody answers, since the kernel of the host accepts it.
package realtime
