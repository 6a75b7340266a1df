// Package zookeeper is a ZooKeeper ensemble, as far as locks need it: znodes (ephemeral, sequential, containers) with
// access lists, sessions with timeouts, multi and watches; and its client library: a session that is kept alive and
// moved from member to member, the states CONNECTED, SUSPENDED and LOST, and calls that may end without a reply.
//
// Members speak to the modelled client in lists of words, and RESP, and to clients of others in ZooKeeper's own
// protocol, which package front takes in. Both mean the same; the words lack what the modelled client does not need:
// passwords, access lists, multi, containers, persistent watches, times.
//
// Goals: what decides whether a lock still excludes is decided as in ZooKeeper 3.4 to 3.9. Sessions expire by the
// leader's monotonic clock, rounded up to a tick, and through the log; another leader gives each its whole timeout
// anew. A client may take its session to another member within the timeout, and knows as much about it, and as early,
// as with Curator or Kazoo. Writes go through the leader, reads are answered by the member that the client is connected
// to and may be stale; a watch event arrives before any answer that shows newer data. Requests for locks (see
// [LocksFolder]) are recorded in the history, once for the ensemble.
//
// Non-goals: recipes (the lock is in scenarios/locks), TTL nodes, which a server without extended types refuses, SASL
// and the superuser, observers, reconfiguration, quotas, snapshots.
//
// # Where it differs
//
// The raft of package raft stands in for Zab. Both commit in one order by majorities and lose no committed transaction;
// they differ in how a leader is elected and in that Zab's leader checks a request before it is proposed, where here
// each member checks it, with the same result, when it is applied. A zxid is raft's term and a count within it; a
// single server, which is no ensemble to ZooKeeper, only counts. A member whose leader is gone campaigns 0.2 to 0.4 s
// later, and as long again after each campaign in vain, twice that after the next, and so on. The ensemble has been up
// before the run begins, with its first member as leader.
//
// Which connection speaks for a session is agreed on through the log, where ZooKeeper's leader only remembers it: a
// late request of an earlier connection is refused with SESSIONMOVED also after a change of leader, and an earlier
// connection is closed at once, where ZooKeeper closes it when it next writes. The ephemeral znodes of a session that
// ends go in the order of their creation, where ZooKeeper's order is that of its hashes.
//
// A container goes within a minute after its last child, by the leader's clock. The times of a znode are those of the
// member that was asked, where ZooKeeper's are the leader's; nothing depends on them.
//
// A single server that has lost its disk comes back empty, and its zxids begin anew. It knows no session of before, and
// refuses clients that have seen a later zxid (CLIENT_ZXID_AHEAD): they stay without it until they give their session
// up. A member of several that has lost its disk stays out, where ZooKeeper's would fetch the data from the leader.
//
// A member serves one request of a connection at a time.
//
// # Losing the leader
//
// A member that loses its leader closes all connections to clients and takes part in an election. It loses a leader
// that has been silent for SyncLimit ticks, one that hangs up on it after as long a silence (LearnerHandler), and at
// once one whose process ends, since their connection breaks; a machine that loses power is taken for a process that is
// killed. A leader that is not connected to a majority resigns at its next tick (Leader.lead).
//
// Until it notices, a member that is cut off continues to answer pings, of which the leader never learns. The default
// is 10 s: a client whose session is shorter may be connected, and well by all it can know, while its session expires
// and its ephemeral znodes go.
//
// Sync asks the leader alone, as in ZooKeeper: a leader that has been deposed and does not know it yet confirms what it
// has, so that a read after a sync may be stale.
package zookeeper
