// Package consul simulates the parts of a Consul cluster that a lock needs: keys, sessions with a TTL, the lock delay,
// check-and-set, and blocking queries, on the replicated log of package raft. See [New].
//
// Goals: a client of a lock sees the same behavior as with Consul 1.10, even under crashes, pauses, cuts, slow disks
// and drifting clocks. This includes which requests succeed, when a session ends, when a lock can be acquired again,
// and what a query shows. Jumps of the wall clock have no effect, as in Consul.
//
// Non-goals: services, health checks, access control, several datacenters, namespaces, transactions, semaphores, lists
// of keys, changes of membership, snapshots. Requests for them are refused with an error that names them. By default, a
// session depends on the health check of its node. Here, nodes are always healthy, so a session ends only when its TTL
// has passed or when a request ends it.
//
// # Requests
//
// All clients use HTTP. A modeled client creates its requests with the functions in client.go, and decodes replies with
// [ReadAnswer]. Other clients connect through [Front]. A member sends writes and reads to the leader. The leader
// answers a write when it has applied it, whether or not the other members have applied it. The leader answers a read
// in the default mode from what it has applied, without asking the others. With ?consistent, the leader first asks a
// majority whether it still leads. With ?stale, the member that received the request answers it.
//
// A blocking query (?index, ?wait) waits at the member that will answer it, until the index of its key exceeds the
// given one.
//
// # Sessions
//
// A session ends when twice its TTL has passed on the leader's monotonic clock since its creation or its last renewal
// (structs.SessionTTLMultiplier). A new leader restarts the TTLs of all sessions, since it does not know which ones its
// predecessor has renewed. When a session ends, the keys that it holds are released or deleted. Nobody can acquire them
// until the lock delay has passed. Each member measures the lock delay on its own clock, from the time at which it
// applies the end of the session. Only the leader's measurement has an effect. A member that restarts applies its whole
// log again, because there are no snapshots. This starts all lock delays again.
//
// Known differences: connections between servers never break. So a member notices the loss of the leader only when
// another leader is elected. Only then do the requests that the member has forwarded to the old leader fail. Each
// leader proposes the end of a session only once, since the log does not lose proposals, whereas Consul repeats the
// proposal. There are no health checks, as explained above.
//
// # Records
//
// A command is recorded by the first member that applies it. A lock is a key that a session has acquired, and its owner
// is the attempt that acquired it. If a session is renewed or ended by the attempt that created it, the records name
// each key's owner as the cause. If another attempt renews or ends it, they name that attempt.
package consul
