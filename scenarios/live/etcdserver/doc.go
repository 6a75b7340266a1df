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
// The records are those of the simulated cluster. A watch on each member tells what each revision has changed; the
// member from which that is heard first makes the record, and those after it record their copies. An answer leaves when
// all revisions up to that of its header are recorded.
//
// Whose doing a revision is tells the answer that has it in its header; and before that has come, or where it never
// does, the requests under way: which of them puts that value under that lease, or deletes those keys. A deletion that
// may be a client's or the end of a lease is held back until the client's answer has told, for a moment at most.
//
// A lease is recorded as lasting its TTL from when the request arrived at the member that granted or prolonged it,
// which is never longer than it does. When another leader is found to rule, all leases last their TTL and an election
// time-out from when that member was last seen not to.
//
// Goals: the same answers, records and meaning of every fault as with the simulated members; nothing of it outlives the
// run. Non-goals: clocks, which a program in Go asks the kernel for and no library between them; members without
// their data.
package etcdserver
