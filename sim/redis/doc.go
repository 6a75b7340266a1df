// Package redis simulates a Redis server, master or replica, as a server process of the simulator. It also contains the
// Sentinel that watches such servers (sentinel.go).
//
// miniredis stores values other than strings, and executes most commands on them. Everything that decides whether a
// lock is safe is Fencepost's own code: strings, wall-clock deadlines and the records about every key (package store),
// the append-only file and its fsyncs (store/file.go), lock commands and scripts (command.go, package lua), and the
// node itself: connections, transactions, restarts, replication, publish and subscribe.
//
// Unmodified client libraries can use the node. It supports RESP2 and RESP3. Clients that keep a cache are told which
// keys to forget (tracking.go).
//
// Goals: a client cannot distinguish the node from Redis 7.0 by its replies. If the node simulates Redis 8.4 or Tair
// ([Version]), the same is true for everything that their documentation specifies. A key expires at exactly the instant
// at which Redis stops serving it. A crash loses exactly what Redis would lose. The same calls produce the same bytes,
// records and log. Tests compare the node with a real redis-server whose wall clock they control (rig_test.go,
// testdata/clock.c). If FENCEPOST_REDIS8 names a redis-server 7.4 or later, field deadlines and WAITAOF are compared
// with it.
//
// Non-goals: commands with random replies (SPOP); commands that wait for anything but lists, replicas and fsyncs;
// readers of streams, several databases, eviction, users other than default, CLIENT KILL and LIST, redirection of
// CLIENT TRACKING, and key-miss notifications. These are refused with an error that names fencepost. COMMANDS.md lists
// all Redis commands that are simulated or refused.
//
// Known differences: a deadline of 2^63-1 ms means no deadline. Where Redis returns things in the order of a hash
// table, the node returns them sorted or in creation order. When a key that the master has set with KEEPTTL expires, a
// replica also sends notifications. A stream that is trimmed to approximately a length (MAXLEN ~) loses its entries by
// the hundred, whereas Redis also considers how many bytes they take.
//
// # Expiry
//
// A deadline is an absolute time in whole milliseconds on the node's wall clock. A key is expired once the time in
// whole milliseconds is strictly greater than the deadline. So a forward clock jump makes keys expire early, and a
// backward jump makes them live longer. An expired key is no longer served, but it exists until a command accesses it,
// or until the background cycle, which runs every 100 ms, deletes it. If the clock is set back before the key is
// deleted, the key is alive again. When the key is deleted, a DEL is written to the append-only file and sent to the
// replicas. According to the record, the key expired at the first instant at which it was no longer served. With Redis
// 8, hash fields may have deadlines too (store/fields.go).
//
// # Persistence
//
// The append-only file is a log of effects: relative expiries are stored as absolute times, and a key's expiry is
// stored as a deletion. Scripts and transactions are replaced with the writes they made. [store.Policy] describes how
// much of the file survives a power loss. A background fsync continues while the process is paused, since the kernel
// does the work. WAITAOF waits for it (waitaof.go). Rewriting the file is not modeled.
//
// # Replication
//
// After each turn of its event loop, a master sends the turn's changes to its replicas, without waiting for them. If
// the turn needs an fsync, the master sends the changes after the fsync. Offsets count effects, whereas Redis counts
// bytes. Replicas send acknowledgments once a second, and when a WAIT requests them. They refuse writes, and hide
// expired keys until their master deletes them. Semi-synchronous replication, as in Tair, delays the reply to a write
// until one replica has it. It falls back to asynchronous replication if the acknowledgment takes too long.
//
// A node that is promoted, by a Sentinel, by REPLICAOF NO ONE or by a fault, has only the data that had reached it. Its
// old master continues to serve the clients that can reach it until it is ordered to follow the new master. The old
// master then replaces all of its data: every change of masters is a full resync, sent in one message. A partial resync
// would have the same result. A node remembers its master after a restart, because Redis writes it to its configuration
// file. Replicas of replicas are not simulated. A dead connection is noticed when one of the acknowledgments due every
// second fails to arrive, not after repl-timeout. A master that becomes a replica answers clients that are waiting for
// replicas with -UNBLOCKED, and closes their connections. A Sentinel makes a node close all client connections when it
// changes the node's role, even when it promotes the node.
//
// # Cluster
//
// A node may be a member of a Redis Cluster ([ClusterConfig]). Members own hash slots, and redirect or refuse clients
// that ask for a key in another slot (MOVED, ASK, CROSSSLOT, CLUSTERDOWN). They ping each other; if a majority of the
// masters hasn't heard from a master for longer than the node timeout, one of its replicas is elected as in cluster.c.
// The new master has only the data that had reached it. A master that can reach only a minority stops serving after the
// node timeout. If two masters claim a slot, the one that claimed it in the later epoch keeps it. The old master
// becomes a replica as soon as it hears of the new one, and loses the writes that only it had accepted. Connections
// stay open.
//
// What a member knows about its cluster outlives its process, as nodes.conf does, regardless of what happens to the
// member's data. Operators can move a slot (CLUSTER SETSLOT), but not its keys (MIGRATE). Members neither join nor
// leave, and replicas do not migrate to other masters. A failover ordered by an operator does not wait for the replica
// to catch up (FORCE, TAKEOVER). Messages that clients publish reach all members' subscribers.
//
// # Publish and subscribe
//
// A message is pushed to the clients that are subscribed at the time. Messages are sent at the end of the event loop's
// turn, together with the turn's replies. They reach replicas' subscribers in the stream of effects. They are not
// written to the append-only file.
//
// Keyspace notifications (notify-keyspace-events) are sent in the same way, in the order in which the keys change. Each
// node sends them to its own subscribers. A master reports a key's expiry when it deletes the key; a replica reports a
// deletion when its master's DEL arrives.
//
// # Waiting
//
// A request that waits, for replicas or for a list element, is answered later. Until then, later requests on the same
// connection wait behind it. A client that is waiting for a list is served as soon as the command, transaction or
// script that created the list has ended, and before anything else is executed. Clients are served in the order in
// which they started waiting. When a client is served, the pop is written to the file and sent to the replicas as an
// ordinary pop that belongs to the attempt that waited. Timeouts are measured on the wall clock, in whole milliseconds.
//
// # Connections
//
// HELLO selects a connection's protocol, and QUIT ends the connection. When the server learns that a client has closed
// a connection, it drops the connection's subscriptions, transaction, watched keys and tracked keys.
//
// Clients that track keys receive RESP3 pushes that tell them to forget a key when it changes or is deleted. An expired
// key is deleted when a command accesses it, or by the background cycle, at most 100 ms later; on a replica, when the
// master's DEL arrives. The client that requested a change is notified after the reply.
//
// # Records
//
// Only masters write records, so that a group's records are consistent. [Group] describes which records a failover and
// the resyncs after it add. The events key-set, key-prolonged and key-gone name the attempt that owns the key: the one
// that set it last. RENAME and COPY pass the owner on with the value. Each hash field and each set or sorted set member
// has its own owner and records (store/members.go). A record's Until is the first instant at which the key is no longer
// served. After a restart, the data is compared with the previous data. If a crash has reverted a key to an earlier
// value, owner or deadline, the node records a key-gone event, and a key-set event with an empty By.
//
// # Scripts
//
// Scripts run in package lua. Well-known scripts are implemented in Go (twins.go), since, like commands, they only
// find, compare and change keys. Functions (FUNCTION LOAD, FCALL) also run in package lua. Their libraries are data:
// they are written to the append-only file and sent to the replicas.
package redis
