// Package etcdserver replaces the simulated etcd members of a world that runs in real time by real ones. Each member
// is a server process, wrapped as a [sim.Server].
//
// [Launch] starts the members in the private folder of a keeper, with the first as the leader. The calls of modelled
// clients travel the simulated links and arrive at a member, which passes them on to its process by gRPC, on a socket
// in that folder, and sends back its responses. A pause is SIGSTOP and a crash is kill -9; whatever etcd has answered
// is fsynced. Messages between members travel the simulated links, too (package fleet).
//
// The bytes that a library of the user's and a process exchange are passed on unchanged ([Bytes]).
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world only on the
// world's goroutine: in calls of the kernel, and in functions that it passes to the loop.
//
// # Records
//
// Keys that appear and vanish are recorded as the members report them. Each member is watched for all keys, and the
// first report of a revision is recorded, once; revisions arrive in order. A reply is sent once all revisions up to
// the one in its header are recorded. The owner of a key is found among the requests under way: it is the attempt that
// alone puts this value with this lease, or that has sent the bytes which say so. A watch does not report why a key
// vanishes, nor that a lease is extended: this is not recorded, and laws and causes that need it are left open.
//
// # Who can be a member
//
// Members identify each other by a certificate of the run (TLS on their ports for each other). Clients reach them on
// sockets in the private folder.
//
// Goals: the same replies, keys and effects of every fault as with the simulated members; nothing outlives the run.
// Non-goals: clocks, which a Go program reads from the kernel without a library in between; members that lose their
// data.
package etcdserver
