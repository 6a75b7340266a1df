// Package consul simulates the parts of a Consul cluster that a lock needs: keys, sessions with a TTL, the lock delay,
// check-and-set, and blocking queries, on package raft's replicated log. See [New].
//
// Goals: a lock client sees the same behavior as with Consul 1.10, even under crashes, pauses, cuts, slow disks and
// drifting clocks. This includes which requests succeed, when a session ends, when a lock can be acquired again, and
// what a query shows. Wall clock jumps have no effect, as in Consul.
//
// Non-goals: services, health checks, access control, multiple datacenters, namespaces, transactions, semaphores, lists
// of keys, membership changes, snapshots. Requests for them are refused with an error that names them. By default, a
// session depends on its node's health check. Here, nodes are always healthy, so a session ends only when its TTL has
// passed or when a request ends it.
//
// # Requests
//
// All clients use HTTP. A modeled client creates its requests with the functions in client.go, and decodes replies with
// [ReadAnswer]. Other clients connect through [Front]. A member sends writes and reads to the leader. The leader
// answers a write once it has applied it, whether or not the other members have applied it. In the default mode, the
// leader answers a read from what it has applied, without asking the others. With ?consistent, the leader first asks a
// majority whether it is still the leader. With ?stale, the member that received the request answers it.
//
// A blocking query (?index, ?wait) waits at the member that will answer it, until its key's index exceeds the given
// one.
//
// # Sessions
//
// A session ends when twice its TTL has passed on the leader's monotonic clock since its creation or its last renewal
// (structs.SessionTTLMultiplier). A new leader restarts the TTLs of all sessions, since it does not know which ones its
// predecessor has renewed. When a session ends, the keys that it holds are released or deleted. Nobody can acquire them
// until the lock delay has passed. Each member measures the lock delay on its own clock, starting when it applies the
// end of the session. Only the leader's measurement has an effect. A member that restarts applies its whole log again,
// because there are no snapshots. This restarts all lock delays.
//
// Known differences: connections between servers never break. So a member does not notice the loss of the leader until
// another leader is elected. Only then do writes that the member has forwarded to the old leader fail, and are reads
// sent to the new one. Each leader
// proposes the end of a session only once, since the log does not lose proposals, whereas Consul repeats the proposal.
// There are no health checks, as explained above.
//
// # Records
//
// A command is recorded by the first member that applies it. A lock is a key that a session has acquired, and its owner
// is the attempt that acquired it. If a session is renewed or ended by the attempt that created it, the records name
// each key's owner as the cause. If another attempt renews or ends it, they name that attempt.
package consul
