// Package zookeeper models the parts of a ZooKeeper ensemble that locks need: znodes (ephemeral, sequential,
// containers) with access lists, sessions with timeouts, multi and watches. It also models the client library, which
// keeps a session alive, moves it from member to member, and reports the states CONNECTED, SUSPENDED and LOST. Calls to
// the client library may end without a reply.
//
// Members use only ZooKeeper's own protocol (package jute). The modeled client sends the same frames as a user's client
// library, which connects through package front.
//
// Goals: everything that matters for mutual exclusion works as in ZooKeeper 3.4 to 3.9. When a session expires by the
// leader's monotonic clock, the leader ends it through the log. Expiry times are rounded up to the next tick. A new
// leader gives each session its full timeout again. A client may move its session to another member within the timeout.
// The modeled client learns its session's state as early as Curator or Kazoo would. Writes go through the leader. Reads
// are answered by the member that the client is connected to, and may be stale. A watch event arrives before any reply
// that shows newer data. Lock requests (see [LocksFolder]) are recorded in the history once, not by every member.
//
// Non-goals: recipes (the lock is in scenarios/locks); TTL nodes, which ZooKeeper refuses by default; SASL and the
// superuser; observers; reconfiguration; quotas; snapshots.
//
// # Where it differs
//
// Package raft stands in for Zab. Both commit transactions in a single order with the votes of a majority, and never
// lose a committed transaction. They differ in how a leader is elected. In addition, Zab's leader checks a request
// before proposing it; here each member checks it when applying it, with the same result. A zxid consists of raft's
// term and a count within the term. A single server, which does not count as an ensemble, has only the count. A member
// that has lost its leader starts a campaign after 0.2 to 0.4 s. If the campaign fails, it waits just as long before
// trying again, and doubles that time after each of the next few failures. When a run begins, the ensemble is already
// running, with its first member as leader.
//
// All members agree, through the log, on which connection a session belongs to, whereas ZooKeeper's leader keeps it
// only in memory. Therefore a late request on an earlier connection is refused with SESSIONMOVED even after a change of
// leader. An earlier connection is closed at once, whereas ZooKeeper closes it at the next write to it. When a session
// ends, its ephemeral znodes are removed in the order in which they were created, whereas ZooKeeper uses the order of a
// hash table.
//
// A container is removed within a minute of the removal of its last child, by the leader's clock. A znode's times are
// from the clock of the member that received the request, whereas ZooKeeper uses the leader's clock. Nothing depends on
// these times.
//
// A single server that has lost its disk comes back empty, and its zxids start over. It does not know earlier sessions,
// and refuses clients that have seen a higher zxid (CLIENT_ZXID_AHEAD). Those clients stay disconnected until they give
// up their session. In an ensemble, a member that has lost its disk no longer serves clients, whereas a real member
// would fetch the data from the leader.
//
// A member serves a connection's requests one at a time.
//
// # Losing the leader
//
// A member that loses its leader closes all client connections and takes part in an election. It loses the leader if it
// has not heard from it for SyncLimit ticks. It also loses the leader if the leader has not heard from the member for
// that long and closes the connection (LearnerHandler). If the leader's process ends, the member loses the leader at
// once, since their connection breaks. A machine that loses power is treated like a process that is killed. A leader
// that is not connected to a majority resigns at its next tick (Leader.lead).
//
// A member that is cut off continues to answer pings until it notices that it is cut off, which takes 10 s by default.
// The leader does not learn of these pings. If a client's session timeout is shorter, its session may expire and its
// ephemeral znodes may be removed while the client is connected. The client has no reason to suspect this.
//
// As in ZooKeeper, Sync asks only the leader. A leader that has been deposed without knowing it still answers, so a
// read after a sync may be stale.
//
// # How to add a request
//
// In requests.go, add the request's handler and, for a transaction, the case in readPart that decodes it. The test in
// package front lists the requests that are not simulated: remove the request from this list. If the modeled client
// needs the request, add a method in client_calls.go.
package zookeeper
