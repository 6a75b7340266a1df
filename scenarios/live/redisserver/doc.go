// Package redisserver replaces the simulated Redis servers and Sentinel of a world that runs in real time by real
// ones. Each of them is a server process, wrapped as a [sim.Server].
//
// [Launch] starts the servers in the private folder of a keeper. The requests of a client travel the simulated links
// and arrive at a [Server]. The server passes them to its process on a separate connection for that client, one
// command at a time, and sends back the reply. A pause is SIGSTOP and a crash is kill -9; what was not fsynced is cut
// off the append-only file. Clocks that jump and drift, and slow fsyncs, are implemented by a small library that is
// loaded into the process (package process).
//
// What servers send each other (a replica and its master, a Sentinel and all of them) travels the simulated links,
// too, cut into chunks as it arrives (package fleet). Cuts, delays and the network's own delays therefore mean the
// same as between simulated servers, except that there are no messages that could be counted.
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world only on the
// world's goroutine: in calls of the kernel, and in functions that it passes to the loop.
//
// # Records
//
// The records are the same as those of the simulated node: the same code (package store) makes them, from the observed
// changes of the server. After each command a PING is sent on the connection on which Redis reports changes of keys,
// so that everything that the command did is known before its reply is sent. Then the keys that it touched are read.
// Because only one command is carried out at a time, it is known which command made a change. A key whose deadline has
// come is read: this makes Redis delete it then, and not up to 100 ms later.
//
// Redis does not report some things in enough detail:
//
//   - Of a key that one request changes several times, the records state the result.
//   - A field that a script sets to the value that it has keeps its owner, and so does a member that a script removes
//     and puts back with the same score.
//   - All members that a script removes from a sorted set have expired if it removes any by score.
//   - What a blocked client takes at last is recorded as done by who gave it.
//   - Other databases than 0 are refused, as the simulated node does; what a script does in them has no record.
//
// After a restart the data is compared with the previous data, as by the simulated node. The effect of a command whose
// reply was lost in a crash is found then, and attributed to its client.
//
// Goals: the same records and the same meaning of every fault as with the simulated node; nothing outlives the run.
// Non-goals: eviction, Redis Cluster, modules, snapshots (RDB), and rewriting of the append-only file;
// semi-synchronous replication, which Redis does not have.
package redisserver
