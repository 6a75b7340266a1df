// Package etcd simulates an etcd cluster, as far as a lock needs it: keys with revisions, transactions, leases and
// watches, on the replicated log of package raft. See [New].
//
// Goals: everything that a client can see of a lock on etcd 3.5 under crashes, pauses, cuts, slow disks and clocks that
// drift: which requests succeed, when a lease ends, what a watch reports. Jumps of the wall clock have no effect, as in
// etcd.
//
// Non-goals: authentication, quotas, the progress notifications that etcd sends to watches every ten minutes, changes
// of membership, snapshots, checkpoints of leases (etcd writes one every five minutes; leases of locks are shorter).
//
// # Calls
//
// The simulated services of etcd 3.4 are KV, Lease, Watch, the lock and election services, Status of Maintenance and
// MemberList of Cluster. Other methods are refused by name. Requests, responses, codes and texts are those of 3.4,
// except for its panics (it panics on a txn that deletes a key and then puts it with ignore_value). Fields of a newer
// API are skipped, as by an old server. A txn is one entry of the log, as in etcd. The reply is sent once the member
// that received the request has applied it.
//
// Known differences: etcd serves watches of past revisions every 100 ms, whereas they are served at once here; Leader
// of the election service grants no lease, whereas etcd grants one that nobody uses; deadlines are left to the client,
// which resets the call.
//
// # Clients
//
// All clients send the same messages. A modeled client creates a [Call] with the functions in client.go ([Op.Call],
// [Txn.Call], [Watch.Call], [GrantLease] …), sends its [Call.Args], and decodes the reply with [Call.Read] or
// [ReadPush]. Clients that are not tasks use gRPC; package front decodes the same calls from their bytes.
//
// TTLs are whole seconds, as in etcd, and at least one and a half election timeouts, rounded up. Reads are linearizable
// unless they are Serializable; watches show what this member has applied.
//
// # How to add a request
//
// The server's part is a row in methods (rpc.go) with its function. The client's part, if a modeled client needs it, is
// a function that returns its Call and a case in Response.fields (client.go). Faults, timelines and live runs need
// nothing else: a request is named by its method.
//
// # Leases
//
// A lease ends by the leader's monotonic clock. Twice a second, the leader looks for leases that have ended and revokes
// them through the log. A keepalive goes to the leader, but not through the log. A new leader extends every lease by
// its whole TTL plus an election timeout, since it does not know what its predecessor granted. A leader that has been
// deposed while it was blocked by its disk revokes nothing. A leader that has been stopped for three heartbeats
// confirms its leadership before it extends leases (etcd since 3.5.13, issue 15247). If a leader has been stopped and
// is then cut off from the others, it may extend leases without effect for two election timeouts, as in etcd.
//
// A cluster of one member that has lost its disk comes back empty: it knows no leases, and its revisions start again.
//
// Known differences: keepalives that were forwarded to a leader that died are sent again as soon as another leader is
// known (etcd checks once per election timeout); etcd confirms its leadership and then revokes, which is a single step
// here; each leader proposes a revocation only once, since the log does not lose proposals; when many leases are due,
// etcd revokes at most a thousand per second.
//
// # Records
//
// The member that applies a command first records it. The lock is the key up to its last slash. The key of a waiter is
// a separate key with its own key-set, and its owner is the attempt that put it. Keepalives and the end of a lease
// count as done by the owner of each key, unless they come from an attempt other than the one to which the lease was
// granted.
package etcd
