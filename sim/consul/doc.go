// Package consul simulates the servers of a Consul cluster, as far as a lock needs them: keys, sessions with a TTL, the
// lock delay, check-and-set, and blocking queries, on the replicated log of package raft. See [New].
//
// Goals: everything that a client can see of a lock on Consul 1.10 under crashes, pauses, cuts, slow disks and clocks
// that drift: which requests succeed, when a session ends, when a lock can be acquired again, what a query shows. Jumps
// of the wall clock have no effect, as in Consul.
//
// Non-goals: services, health checks, access control, several datacenters, namespaces, transactions, semaphores, lists
// of keys, changes of membership, snapshots. Requests for them are refused by name. A session has the health check of
// its node by default; here, nodes stay healthy, so that a session ends only by its TTL or by a request.
//
// # Requests
//
// All clients speak HTTP. A modeled client makes its requests with the functions in client.go, and reads replies with
// [ReadAnswer]. Other clients connect through [Front]. A member sends writes and reads to the leader. The leader
// answers a write when it has applied it, whether or not the other members have. A read in the default mode is
// answered from what the leader has applied, without asking anybody. With ?consistent, the leader first asks a majority
// whether it still leads. With ?stale, the member that received the request answers it.
//
// A blocking query (?index, ?wait) waits where it is answered, until the index of its key exceeds the given one.
//
// # Sessions
//
// A session ends by the leader's monotonic clock, twice its TTL after its creation or its latest renewal
// (structs.SessionTTLMultiplier). A new leader restarts the time of all sessions, since it does not know what its
// predecessor has renewed. When a session ends, the keys that it holds are released or deleted. Then nobody can acquire
// them until the lock delay is over. Each member counts the lock delay on its own clock from when it applies the end of
// the session, and the leader's count decides. A member that restarts applies its log again, and with it all lock
// delays, because there are no snapshots.
//
// Known differences: the leader's connections to others never break, so that a member notices the end of a leader when
// it elects another, and fails its requests then; each leader proposes the end of a session only once, since the log
// does not lose proposals, whereas Consul repeats it; nodes are not checked, see above.
//
// # Records
//
// The member that applies a command first records it. A lock is a key that a session has acquired, and its owner is the
// attempt that acquired it. Renewals and the end of a session count as done by the owner of each key, unless they come
// from an attempt other than the one that created the session.
package consul
