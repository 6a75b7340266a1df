// Package etcdserver replaces the simulated etcd members of a world that runs in real time by real ones: each is the
// program of a server process, a [sim.Server].
//
// [Launch] starts them in the private folder of a keeper, with the first as the leader. What a client sends, in the
// form of package sim/etcd, travels the simulated links and arrives at a member, which asks its process by etcd's JSON
// gateway, on a socket in that folder, and sends the reply back, to the byte what the simulated member replies. Pauses
// are SIGSTOP, crashes kill -9: what etcd has answered is fsynced. What members send each other travels the simulated
// links too (package fleet).
//
// A library of the user's speaks gRPC: what it and a process send each other is passed on as it is ([Bytes]).
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in functions that it passes to the loop.
//
// # Records
//
// Keys that appear and vanish are recorded as the members report them. Each member is watched for all keys, and the
// first report of a revision is recorded, once: revisions arrive in order. A reply is sent when all revisions up to
// that of its header are recorded. The owner of a key is known from the requests under way: an attempt, if it alone
// puts this value under this lease, or has sent the bytes that say so. Why a key vanishes, and that a lease is
// extended, no watch reports: it is not recorded, and laws and causes that need it are open.
//
// # Who can be a member
//
// Members identify each other by a certificate of the run (TLS on their ports for each other); clients reach them on
// sockets in the private folder.
//
// Goals: the same replies, keys and meaning of every fault as with the simulated members; nothing of it outlives the
// run. Non-goals: clocks, which a Go program reads from the kernel without a library in between; members without their
// data.
package etcdserver
