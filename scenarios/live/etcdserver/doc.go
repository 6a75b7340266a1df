// Package etcdserver replaces the simulated etcd members of a real-time world with real ones. Each real member is a
// server process, wrapped as a [sim.Server].
//
// [Launch] starts the members in a keeper's private folder, with the first one as the leader. Simulated clients' calls
// reach a member over the simulated links. The member passes them on to its process by gRPC, on a socket in that
// folder, and returns the responses. A pause is SIGSTOP and a crash is kill -9; everything that etcd has acknowledged
// is fsynced. Messages between members also travel over the simulated links (package fleet).
//
// The bytes that a user's library and a process exchange are passed on unchanged ([Bytes]).
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world only on the
// world's goroutine: in methods that package sim calls, and in functions that it passes to the loop.
//
// # Records
//
// Each appearance or disappearance of a key is recorded when a member reports it. All keys are watched on each member,
// and each revision is recorded once, when the first member reports it. Revisions arrive in order. A reply is sent only
// after all revisions up to the one in its header have been recorded. A key's owner is found among the pending
// requests: it is the only attempt that is putting the key with the same value and lease, or that has sent bytes
// containing such a request. A watch does not report why a key disappears, or that a lease is extended. Therefore,
// neither is recorded, and laws and causes that depend on them remain undecided.
//
// # Who can be a member
//
// Members identify each other by the run's certificate, with TLS on the ports between them. Clients reach them on
// sockets in the private folder.
//
// Goals: the same replies, keys and effects of every fault as with the simulated members; no process or file remains
// after the run. Non-goals: clock faults, because a Go program reads its clocks directly from the kernel; members that
// lose their data.
package etcdserver
