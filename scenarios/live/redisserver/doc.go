// Package redisserver replaces a real-time world's simulated Redis servers and Sentinel with real ones. Each of them is
// a server process, wrapped as a [sim.Server].
//
// [Launch] starts the servers in a keeper's private folder. A client's requests travel over the simulated links and
// arrive at a [Server]. The server passes them to its process on a separate connection for that client, one command at
// a time, and sends back the reply. A pause is SIGSTOP and a crash is kill -9; after a power loss, everything that was
// not fsynced is removed from the append-only file. Clocks that jump and drift, and slow fsyncs, are implemented by a
// small library that is loaded into the process (package process).
//
// What servers send each other (a replica and its master, a Sentinel and all servers) also travels over the simulated
// links, in chunks as it arrives (package fleet). So cuts, delays and the network's own delays mean the same as between
// simulated servers, except that messages cannot be counted.
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world only on the
// world's goroutine: in methods that package sim calls, and in functions that it passes to the loop.
//
// # Records
//
// The records are the same as the simulated node's: the same code (package store) creates them, from the changes that
// it observes on the server. After each command, the package sends a PING on the connection on which Redis reports key
// changes, so that all of the command's effects are known before its reply is sent. Then it reads the keys that the
// command changed. Because only one command is carried out at a time, the package knows which command made a change.
// When a key reaches its deadline, it is read, so that Redis deletes it immediately instead of up to 100 ms later.
//
// Redis does not report some things in enough detail:
//
//   - If one request changes a key several times, the records contain only the result.
//   - If a script sets a field to the value that it already has, the field keeps its owner. This also applies to a
//     member that a script removes and puts back with the same score.
//   - If a script removes any members of a sorted set by score, all members that it removes are recorded as expired.
//   - When a blocked client finally takes an element, the records say that the client that pushed it took it.
//   - Databases other than 0 are refused, as in the simulated node; what a script does in them is not recorded.
//
// After a restart, the data is compared with the previous data, as in the simulated node. This reveals the effect of a
// command if its reply was lost in a crash. The effect is attributed to the command's client.
//
// Goals: the records and the meaning of every fault are the same as with the simulated node; no process or file is left
// after the run. Non-goals: eviction, Redis Cluster, modules, snapshots (RDB), and rewriting the append-only file;
// semi-synchronous replication, which Redis does not have.
package redisserver
