// Package etcd simulates the parts of an etcd cluster that a lock needs: keys with revisions, transactions, leases and
// watches, on package raft's replicated log. See [New].
//
// Goals: a lock's client sees the same behavior as with etcd 3.5, even under crashes, pauses, cuts, slow disks and
// drifting clocks. This includes which requests succeed, when a lease ends, and what a watch reports. Wall clock jumps
// have no effect, as in etcd.
//
// Non-goals: authentication, quotas, the progress notifications that etcd sends to watches every ten minutes,
// membership changes, snapshots, lease checkpoints (etcd writes one every five minutes; lock leases are shorter).
//
// # Calls
//
// The simulated services of etcd 3.4 are KV, Lease, Watch, and the lock and election services. Maintenance.Status and
// Cluster.MemberList are also simulated. All other methods are refused with an error that names them. Requests,
// responses, codes and error messages are those of 3.4, except where 3.4 panics (on a txn that deletes a key and then
// puts it with ignore_value). Fields from a newer API are ignored, as an older server would ignore them. A txn is one
// log entry, as in etcd. The member that received the request replies once it has applied the txn.
//
// Known differences: watches of past revisions are served immediately, whereas etcd serves them every 100 ms. The
// election service's Leader method does not grant a lease, whereas etcd grants one that nobody uses. Only the client
// enforces a call's deadline, by resetting the call's stream.
//
// # Clients
//
// All clients send the same messages. A modeled client creates a [Call] with the functions in client.go ([Op.Call],
// [Txn.Call], [Watch.Call], [GrantLease] …), sends its [Call.Args], and decodes the reply with [Call.Read] or
// [ReadPush]. Clients that run outside the simulation use gRPC; package front decodes the same calls from their bytes.
//
// TTLs are whole seconds, as in etcd, and at least one and a half election timeouts, rounded up. Reads are linearizable
// unless they are Serializable. Watches show what the member has applied.
//
// # How to add a request
//
// For the server, add an entry to methods (rpc.go) and the function that handles the request. If a modeled client needs
// the request, add a function that returns its Call, and a case in Response.fields (client.go). Nothing else is needed
// for faults, timelines and live runs, which identify a request by its method. A request that changes the state in a
// new way also needs a command (command.go), which is a Go value that members execute from the log.
//
// # Leases
//
// The leader's monotonic clock decides when a lease ends. Twice a second, the leader looks for leases that have ended
// and revokes them through the log. A keepalive goes to the leader, but not through the log. A new leader restarts
// every lease with its full TTL plus an election timeout, since it does not know which keepalives its predecessor has
// answered. A leader that was deposed while it was waiting for its disk does not revoke leases. A leader that has been
// stopped for three heartbeats confirms its leadership before it extends leases (etcd since 3.5.13, issue 15247). If a
// leader has been stopped and is then cut off from the others, its lease extensions may have no effect for two election
// timeouts, as in etcd.
//
// A single-member cluster that has lost its disk comes back empty: it has no leases, and its revisions start at 1
// again.
//
// Known differences: if a leader dies, the keepalives forwarded to it are sent again as soon as another leader is known
// (etcd checks once per election timeout). The leader confirms its leadership and revokes in a single step, whereas
// etcd needs two steps. Each leader proposes a revocation only once, since the log does not lose proposals. etcd
// revokes at most a thousand leases per second; here there is no limit.
//
// # Records
//
// A command is recorded by the first member that applies it. The lock's name is the key up to its last slash. Each
// waiter has a separate key with its own key-set record. The key's owner is the attempt that put it. If a lease is
// renewed or ended by the attempt that it was granted to, the records name each key's owner as the cause. If another
// attempt renews or ends it, they name that attempt.
package etcd
