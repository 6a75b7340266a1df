// Package consulserver replaces the simulated Consul servers of a real-time world with real ones. Each real server is a
// process, wrapped as a [sim.Server].
//
// [Launch] starts the servers in a keeper's private folder, with the first one as the leader. Clients' HTTP requests
// reach a server over the simulated links. The server passes them on to its process, on a socket in its folder, and
// returns the replies. Sessions, lock delays and blocking queries are implemented by the process. A pause is SIGSTOP
// and a crash is kill -9; everything that Consul has acknowledged is fsynced. What servers send each other by RPC,
// which includes raft's messages, also travels over the simulated links (package fleet).
//
// Servers also exchange gossip (serf), by UDP, which does not travel over the simulated links. They use it only to
// learn each other's addresses. By gossip, Consul would also notice that a server has failed, and would end the
// sessions that were created on that server. This is turned off, so that nodes are always healthy, as in package
// consul.
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world only on the
// world's goroutine: in methods that package sim calls, and in functions that it passes to the loop.
//
// # Records
//
// The members report which session holds which key. All keys are watched on each member with a blocking query, and read
// again before a reply other than a server error is passed on, so that everything that the reply shows is recorded
// first. A key's owner is the attempt that sent the request by which the key's session acquired it. A query does not
// report why a key is no longer held, or that a session is renewed. Therefore, neither is recorded, and laws and causes
// that depend on them remain undecided.
//
// # Who can be a member
//
// Members identify each other by the run's certificate, with TLS for RPC, and by a key for the gossip. Clients reach
// them on sockets in the private folder.
//
// Goals: the same replies, keys and effects of every fault as with the simulated servers; no process or file remains
// after the run. Non-goals: clock faults, because a Go program reads its clocks directly from the kernel; members that
// lose their data; health checks.
package consulserver
