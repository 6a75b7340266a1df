// Package zookeeper models a ZooKeeper ensemble, as far as locks need it: znodes (ephemeral, sequential, containers)
// with access lists, sessions with timeouts, multi and watches. It also models the client library: a session that is
// kept alive and moved from member to member, the states CONNECTED, SUSPENDED and LOST, and calls that may end without
// a reply.
//
// Members speak ZooKeeper's own protocol (package jute) and nothing else. The modelled client sends the same frames as
// a user's library, whose connections package front carries.
//
// Goals: everything that decides whether a lock excludes works as in ZooKeeper 3.4 to 3.9. Sessions expire by the
// leader's monotonic clock, rounded up to a tick, and through the log; a new leader gives each session its whole
// timeout again. A client may move its session to another member within the timeout, and learns as much about it, and
// as early, as with Curator or Kazoo. Writes go through the leader. Reads are answered by the member to which the
// client is connected, and may be stale. A watch event arrives before any reply that shows newer data. Requests for
// locks (see [LocksFolder]) are recorded in the history, once for the ensemble.
//
// Non-goals: recipes (the lock is in scenarios/locks); TTL nodes, which a server without extended types refuses; SASL
// and the superuser; observers; reconfiguration; quotas; snapshots.
//
// # Where it differs
//
// The raft of package raft stands in for Zab. Both commit in one order by majorities and lose no committed transaction.
// They differ in how a leader is elected. In addition, Zab's leader checks a request before it is proposed; here each
// member checks it when it is applied, with the same result. A zxid is raft's term and a count within the term; a
// single server, which is not an ensemble to ZooKeeper, only counts. A member that has lost its leader campaigns 0.2 to
// 0.4 s later, again after as long if the campaign fails, and after twice as long if the next fails, and so on. The
// ensemble has been up before the run begins, with its first member as leader.
//
// The connection to which a session belongs is agreed on through the log, whereas ZooKeeper's leader only remembers it.
// Therefore a late request on an earlier connection is refused with SESSIONMOVED even after a change of leader, and an
// earlier connection is closed at once, whereas ZooKeeper closes it when it next writes. When a session ends, its
// ephemeral znodes are removed in the order of their creation, whereas ZooKeeper's order is that of its hashes.
//
// A container is removed within a minute after its last child, by the leader's clock. The times of a znode are by the
// clock of the member that took the request, whereas ZooKeeper uses the leader's; nothing depends on them.
//
// A single server that has lost its disk comes back empty, and its zxids start again. It does not know earlier
// sessions, and refuses clients that have seen a higher zxid (CLIENT_ZXID_AHEAD): they stay disconnected until they
// give up their session. If a member of several has lost its disk, it stays out, whereas ZooKeeper's member would fetch
// the data from the leader.
//
// A member serves one request of a connection at a time.
//
// # Losing the leader
//
// A member that loses its leader closes all connections to clients and takes part in an election. It loses the leader
// if that has been silent for SyncLimit ticks, or if the leader hangs up on it after an equally long silence
// (LearnerHandler). It loses the leader at once if the leader's process ends, since their connection breaks; a machine
// that loses power is treated like a process that is killed. A leader that is not connected to a majority resigns at
// its next tick (Leader.lead).
//
// A member that is cut off continues to answer pings until it notices; the leader never learns of these pings. By
// default that takes 10 s. A client whose session is shorter may then be connected, and as far as it can know in order,
// while its session expires and its ephemeral znodes are removed.
//
// Sync asks only the leader, as in ZooKeeper: a leader that has been deposed and does not know it yet confirms what it
// has, so a read after a sync may be stale.
//
// # How to add a request
//
// In requests.go: its handler; for a transaction, how readPart decodes it. Until then, front tells a library that sends
// it that it is not simulated. Afterwards, a test of front fails until its list of such requests lacks it. In
// client_calls.go, if the modelled client makes it: its method.
package zookeeper
