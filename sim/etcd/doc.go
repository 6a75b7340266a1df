// Package etcd simulates an etcd cluster, as far as a lock needs it: keys with revisions, transactions, leases and
// watches, on the replicated log of package raft. See [New].
//
// Goals: everything that a client can see of a lock on etcd 3.5 under crashes, pauses, cuts, slow disks and clocks that
// drift: which requests succeed, when a lease ends, what a watch reports. Jumps of the wall clock change nothing, as in
// etcd.
//
// Non-goals: authentication, quotas, the progress notifications that etcd sends to watches every ten minutes, changes
// of membership, snapshots, checkpoints of leases (etcd writes one every five minutes; leases of locks are shorter).
//
// Modelled clients make requests in words. Clients that are not tasks use gRPC, which package front converts.
//
// # Calls
//
// The simulated services of etcd 3.4 are KV, Lease, Watch, the lock and the election service, Status of Maintenance and
// MemberList of Cluster. Its other methods are refused by name. Requests, responses, codes and texts are those of 3.4,
// except its panics (it panics on a txn that deletes a key and then puts it with ignore_value). Fields of a newer API
// are skipped, as by an old server. A txn is one entry of the log, as in etcd. The reply is sent once the member that
// received the request has applied it.
//
// Known differences: etcd looks every 100 ms for watches of past revisions, which are served at once here; Leader of
// the election service grants no lease, whereas etcd grants one that nobody uses; deadlines are left to the client,
// which resets the call.
//
// # Requests in words
//
// A request is a list of words, and the reply is RESP. A KEY stands for the array key, value, create revision, mod
// revision, version, lease. REV is the store's revision when the request was carried out.
//
//	RANGE key [PREFIX] [LIMIT n] [SORT KEY|CREATE|MOD ASC|DESC] [MINCREATE n] [MAXCREATE n] [MINMOD n] [MAXMOD n]
//	      [SERIALIZABLE]                           [REV, count, [KEY …]]
//	PUT key value [LEASE id]                       [REV]
//	DELETE key [PREFIX]                            [REV, deleted]
//	TXN {IF CREATE|MOD|VERSION|LEASE|VALUE key =|!=|<|> operand}
//	    {THEN n operation} {ELSE n operation}      [REV, 1 or 0, [reply to each operation]]
//	LEASE GRANT ttl [id]                           [id, ttl]
//	LEASE KEEPALIVE id                             [id, ttl]; ttl 0: the lease does not exist any more
//	LEASE REVOKE id                                [REV]
//	LEASE TIMETOLIVE id                            [id, ttl left, ttl granted]; -1: the lease does not exist
//	WATCH key [PREFIX] [REV n]                     [REV, watch]
//	UNWATCH watch                                  [REV]
//	STATUS                                         [REV, leader, term]
//
// n before an operation is the number of its words, so that no value can be taken for a clause. TTLs are whole seconds,
// as in etcd, and at least one and a half election time-outs, rounded up. A watch pushes [watch, REV, [PUT|DELETE, KEY]
// …] for each later revision (from REV n on, if given) that changes a watched key. Reads are linearizable unless
// SERIALIZABLE; watches show what this member has applied.
//
// # Leases
//
// A lease ends by the leader's monotonic clock. Twice a second, the leader looks for leases that have ended and revokes
// them through the log. A keepalive goes to the leader, but not through the log. A new leader gives every lease its
// whole TTL and an election time-out, since it does not know what its predecessor granted. A leader that has been
// deposed while it was blocked by its disk revokes nothing. A leader that has been stopped for three heartbeats
// confirms its leadership before it prolongs leases (etcd since 3.5.13, issue 15247). If a leader has been stopped and
// is then cut off from the others, it may prolong leases in vain for two election time-outs, as in etcd.
//
// A cluster of one member that has lost its disk comes back empty: it knows no leases, and its revisions start again.
//
// Known differences: keepalives that were forwarded to a leader that died are sent again as soon as another leader is
// known (etcd checks once per election time-out); etcd confirms its leadership and then revokes, which is a single step
// here; a revocation is proposed once per reign, since the log loses none; when many leases are due, etcd revokes at
// most a thousand per second.
//
// # Records
//
// The member that applies a command first records it. The lock is the key up to its last slash. The key of a waiter is
// a separate key with its own key-set, and its owner is the attempt that put it. Keepalives and the end of a lease
// count as done by the owner of each key, unless they come from an attempt other than the one to which the lease was
// granted.
package etcd
