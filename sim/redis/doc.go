// Package redis is a simulated Redis, master or replica: the program of a server process of the simulator. The Sentinel
// that watches it stands beside it (sentinel.go).
//
// miniredis holds the values and carries out the commands that are only about them. What decides whether a lock holds
// is Fencepost's own: deadlines on the wall clock and the records of what became of every key (package store), the
// append-only file and when it is fsynced (store/file.go), the commands and scripts of locks (command.go, package lua),
// and the node: connections, transactions, restarts, replication, publish and subscribe.
//
// Unmodified client libraries can use it: it speaks RESP2 and RESP3, and notifies those who cache of what they must
// forget (tracking.go).
//
// Goals: a client cannot distinguish the node from Redis 7.0 by its replies, nor, by the documentation, from Redis 8.4
// or from Tair if it is of that version ([Version]); a key dies at exactly the instant at which Redis stops serving it;
// a crash takes exactly what Redis would lose; the same calls give the same bytes, records and log. Tests hold the node
// to that beside a real redis-server whose wall clock they move (rig_test.go, testdata/clock.c).
//
// Non-goals: commands whose reply is random (SPOP), or that wait for anything but lists and replicas, streams, several
// databases, eviction, cluster, users other than default, CLIENT KILL and LIST, redirection of CLIENT TRACKING,
// notifications of keys that are missed. They are refused with an error that names fencepost, never answered wrongly.
// COMMANDS.md lists every command of Redis that is simulated or refused.
//
// Known differences: a deadline of 2^63-1 ms is none; what Redis leaves to the order of a hash table is sorted, or in
// the order in which it was made. A replica notifies of the expiry of a key that its master has set with KEEPTTL, too.
//
// # Expiry
//
// A deadline is an absolute time in whole milliseconds on the node's wall clock, and a key is expired once the clock's
// whole milliseconds are strictly greater. So a forward jump of the clock ends keys early and a backward jump lets them
// live longer. A key that has expired is served no more, but is there until a command comes across it or the background
// cycle does, every 100 ms: if the clock goes back before, the key is alive again. Its DEL goes to the file and to the
// replicas when it is deleted; its record says expired at the instant from which it is not served.
//
// # Persistence
//
// The append-only file is a log of effects: relative expiries have become absolute, scripts and transactions are the
// writes they made, an expired key is a deletion. See [store.Policy] for what a power loss leaves of it. A background
// fsync goes on while the process is paused, as the kernel's work does. Rewriting the file is not modelled.
//
// # Replication
//
// After each turn of its event loop a master sends what the turn changed to its replicas, without waiting for them,
// after the fsync if there is one. Offsets count effects where Redis counts bytes. Replicas acknowledge once a second
// and when a WAIT asks; they refuse writes, and hide expired keys until their master deletes them. Semi-synchronous
// replication, as Tair has it, holds the reply to a write back until one replica has it, and gives that up when it
// takes too long.
//
// A node that is promoted, by a Sentinel, by REPLICAOF NO ONE or by a fault, has what had arrived. Its old master
// continues to serve the clients that it reaches until it is ordered to follow, and then takes all data anew: every
// change of master is a full resync, sent in one message; a partial one would leave the same data. Who follows whom
// outlives a process, as Redis writes it to its configuration. Replicas of replicas are not simulated, and a dead
// connection is noticed by the second's acknowledgement, not after repl-timeout. A master that becomes a replica
// answers those who wait for replicas with -UNBLOCKED and closes their connections. A Sentinel has a node whose role it
// changes close those of all its clients, the one that it promotes as well.
//
// # Publish and subscribe
//
// Messages are pushed to those who are subscribed at that moment, at the end of the turn, with its replies. They reach
// the subscribers of replicas in the stream of effects, and stand in no file.
//
// Messages about keys (notify-keyspace-events) are sent likewise, in the order in which things happen to the keys, each
// node's to its own subscribers: a master's say that a key has expired when it is deleted, a replica's that it is
// deleted when its master's DEL arrives.
//
// # Waiting
//
// A request that waits, for replicas or for an element of a list, is answered later; what its connection sends
// meanwhile waits behind it. Whoever waits for a list is served once the command, transaction or script that has made
// it is over and before anything else, those first who began first; the pop goes to the file and to the replicas as a
// pop of its own, by the attempt that waited. Time-outs are counted on the wall clock, in whole milliseconds.
//
// # Connections
//
// HELLO chooses the protocol of a connection, and QUIT ends it. A connection that its client has closed takes its
// subscriptions, its transaction, what it watches and what it tracks with it, once the server learns of that.
//
// Clients that track keys are notified in RESP3 to forget one when it changes, and when it is deleted: a key that has
// expired is when a command comes across it, or in the background cycle, at most 100 ms later; on a replica, when its
// master's DEL arrives. The client that requested a change is notified of it after the reply.
//
// # Records
//
// Only masters record, so that the records of a group are consistent; [Group] says what a failover and the resyncs
// after it add. key-set, key-prolonged and key-gone name the attempt that owns the key: the one that set it last.
// RENAME and COPY hand the owner on with the value. Each field of a hash and each member of a set or sorted set has an
// owner and records of its own (store/members.go). A record's Until is the first instant at which the key is no longer
// served. After a restart the data is compared with what it was: what a crash took back to an earlier value, owner or
// deadline has a key-gone and a key-set with an empty By.
//
// # Scripts
//
// Scripts run in package lua; well-known ones are carried out in Go (twins.go), since they do what commands do: find,
// compare and change keys.
package redis
