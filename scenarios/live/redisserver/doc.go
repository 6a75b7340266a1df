// Package redisserver puts real redis-server processes, and a real Sentinel, in the place of the simulated ones of a
// world that runs in real time: each is the program of a server process, a [sim.Server].
//
// A [Fleet] starts them in the private folder of a keeper. What a client sends travels the simulated links and arrives
// at a [Server], which gives it to its process on a connection of that client's own, one command at a time, and has the
// answer travel back. Pauses are SIGSTOP, crashes kill -9; what was not fsynced is cut off the append-only file; clocks
// that jump and drift, and slow fsyncs, are a small library that is loaded into the process (package
// machine).
//
// What servers send each other, a replica its master and a Sentinel all of them, travels the simulated links too, cut
// into chunks as it comes (package relay). So cuts, delays and the network's own delays mean what they mean between
// simulated servers; only that there are no messages to be counted.
//
// This room runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in what it has the loop do.
//
// # Records
//
// The records are those of the simulated node: they are made by the same code (package store), from what the server
// is seen to do. After each command a PING goes round on the connection on which Redis tells what happens to keys, so
// that all that the command did is known before its answer leaves. Then the keys that it touched are read. As there is
// only one command at a time, it is known who did it. A key whose deadline has come is looked at: that makes Redis
// delete it then, and not up to 100 ms later.
//
// Of some things Redis does not tell enough:
//
//   - Of a key that one request changes several times, the records say what that came to.
//   - A field that a script sets to the value that it has keeps its owner, and so does a member that a script removes
//     and puts back with the same score.
//   - All members that a script removes from a sorted set have expired if it removes any by score.
//   - What a blocked client takes at last is recorded as done by who gave it.
//   - Other databases than 0 are refused, as the simulated node does; what a script does in them has no record.
//
// After a restart the data is compared with what it was, as the simulated node does. What a command did whose answer a
// crash has swallowed is found then, and is its client's.
//
// Goals: the same records and the same meaning of every fault as with the simulated node; nothing of it outlives the
// run. Non-goals: eviction, Redis Cluster, modules, snapshots (RDB), rewriting of the append-only file;
// semi-synchronous replication, which Redis does not have.
package redisserver
