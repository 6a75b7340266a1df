// Package redisserver replaces the simulated Redis servers and Sentinel of a world that runs in real time by real ones:
// each is the program of a server process, a [sim.Server].
//
// [Launch] starts them in the private folder of a keeper. What a client sends travels the simulated links and arrives
// at a [Server], which passes it to its process on a connection of that client's own, one command at a time, and sends
// the reply back. Pauses are SIGSTOP, crashes kill -9; what was not fsynced is cut off the append-only file; clocks
// that jump and drift, and slow fsyncs, are done by a small library that is loaded into the process (package process).
//
// What servers send each other, a replica its master and a Sentinel all of them, travels the simulated links too, cut
// into chunks as it arrives (package fleet). So cuts, delays and the network's own delays mean what they mean between
// simulated servers, except that there are no messages to be counted.
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in functions that it passes to the loop.
//
// # Records
//
// The records are those of the simulated node: the same code (package store) makes them, from the observed changes of
// the server. After each command a PING is sent on the connection on which Redis reports changes of keys, so that
// everything that the command did is known before its reply leaves. Then the keys that it touched are read. As there is
// only one command at a time, it is known who did it. A key whose deadline has come is read: that makes Redis delete it
// then, and not up to 100 ms later.
//
// About some things Redis does not report enough:
//
//   - Of a key that one request changes several times, the records state the result.
//   - A field that a script sets to the value that it has keeps its owner, and so does a member that a script removes
//     and puts back with the same score.
//   - All members that a script removes from a sorted set have expired if it removes any by score.
//   - What a blocked client takes at last is recorded as done by who gave it.
//   - Other databases than 0 are refused, as the simulated node does; what a script does in them has no record.
//
// After a restart the data is compared with the previous data, as the simulated node does. The effect of a command
// whose reply was lost in a crash is found then, and attributed to its client.
//
// Goals: the same records and the same meaning of every fault as with the simulated node; nothing of it outlives the
// run. Non-goals: eviction, Redis Cluster, modules, snapshots (RDB), rewriting of the append-only file;
// semi-synchronous replication, which Redis does not have.
package redisserver
