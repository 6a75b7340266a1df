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
// single server, which is no ensemble to ZooKeeper, only counts. An election takes one to two election time-outs, also
// where ZooKeeper's would be over sooner. The ensemble has been up before the run begins, with its first member as
// leader.
//
// Which connection speaks for a session is agreed on through the log, where ZooKeeper's leader only remembers it: a
// late request of an earlier connection is refused with SESSIONMOVED also after a change of leader, and an earlier
// connection is closed at once, where ZooKeeper closes it when it next writes. Sync asks a majority, where ZooKeeper's
// only asks the leader. The ephemeral znodes of a session that ends go in the order of their creation, where
// ZooKeeper's order is that of its hashes.
//
// A container goes within a minute after its last child, by the leader's clock. The times of a znode are those of the
// member that was asked, where ZooKeeper's are the leader's; nothing depends on them.
//
// A single server that has lost its disk comes back empty, and its zxids begin anew. It knows no session of before, and
// refuses clients that have seen a later zxid (CLIENT_ZXID_AHEAD): they stay without it until they give their session
// up. A member of several that has lost its disk stays out, where ZooKeeper's would fetch the data from the leader.
//
// A member serves one request of a connection at a time. If it leaves its leader, or its leader hangs up on it since it
// receives nothing from it (LearnerHandler), it closes all connections, as ZooKeeper does; how long either takes to
// notice is [Config].Log's election time-out. Until then it continues to answer pings, of which the leader never
// learns: with a patience near the session timeout, or above it as ZooKeeper's default of 10 s may be, a client may be
// connected, and well by all it can know, while its session expires.
package zookeeper
