// Package etcdserver puts real etcd members in the place of the simulated ones of a world that runs in real time: each
// is the program of a server process, a [sim.Server].
//
// A [Fleet] starts them in the private folder of a keeper, with the first as the leader. What a client sends, in the
// words of package sim/etcd, travels the simulated links and arrives at a member, which asks its process by etcd's JSON
// gateway, on a socket in that folder, and has the answer travel back, to the byte what the simulated member says.
// Pauses are SIGSTOP, crashes kill -9: what etcd has answered is fsynced. What members send each other travels the
// simulated links too (package relay).
//
// This room runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in what it has the loop do.
//
// # Records
//
// Keys that came and went are recorded as the members report them. Each has a watch on all keys, and what one reports
// first is recorded, once: revisions come in order. An answer leaves when all revisions up to that of its header are
// recorded. Whose a key is, is known by the requests under way: an attempt's, if that alone puts this value under this
// lease. Why a key goes, and that a lease lives longer, no watch reports: it is not recorded, and laws and causes that
// need it are open.
//
// # Who can be a member
//
// Members know each other by a certificate of the run (TLS on their ports for each other); clients reach them on
// sockets in the private folder.
//
// Goals: the same answers, keys and meaning of every fault as with the simulated members; nothing of it outlives the
// run. Non-goals: clocks, which a program in Go asks the kernel for and no library between them; members without
// their data.
package etcdserver
