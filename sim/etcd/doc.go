// Package etcd is a simulated etcd cluster, as far as a lock needs it: keys with revisions, transactions, leases and
// watches, on the replicated log of package raft. See [New].
//
// Goals: what a client can see of a lock on etcd 3.5 under crashes, pauses, cuts, slow disks and clocks that drift:
// which requests succeed, when a lease ends, what a watch says. Jumps of the wall clock change nothing, as in etcd.
//
// Non-goals: authentication, quotas, the progress that etcd notifies watches of every ten minutes, changes of
// membership, snapshots, checkpoints of leases (etcd writes one every five minutes; leases of locks are shorter).
//
// Clients ask in two ways: modelled clients in words, and those that are no tasks by gRPC, which package front takes
// off the wire.
//
// # Calls
//
// The services of etcd 3.4 are KV, Lease, Watch, the lock and the election service, Status of Maintenance and
// MemberList of Cluster; the rest of its methods are refused by their names. Requests, responses, codes and texts are
// 3.4's, whose panics are not (it falls over a txn that deletes a key and then puts it with ignore_value). Fields of a
// newer API are skipped, as an old server does. A txn is one entry of the log, as etcd's; an answer comes once the
// member that was asked has applied it.
//
// Known differences: etcd looks every 100 ms for watches of past revisions, which are shown here at once; Leader of the
// election service grants a lease that nobody uses; a deadline is the client's business, which resets the call.
//
// # Requests in words
//
// A request is a list of words; the answer is RESP. A KEY stands for the array key, value, create revision, mod
// revision, version, lease. REV is the store's revision when the request was carried out.
//
//	RANGE key [PREFIX] [LIMIT n] [SORT KEY|CREATE|MOD ASC|DESC] [MINCREATE n] [MAXCREATE n] [MINMOD n] [MAXMOD n]
//	      [SERIALIZABLE]                           [REV, count, [KEY …]]
//	PUT key value [LEASE id]                       [REV]
//	DELETE key [PREFIX]                            [REV, deleted]
//	TXN {IF CREATE|MOD|VERSION|LEASE|VALUE key =|!=|<|> operand}
//	    {THEN n operation} {ELSE n operation}      [REV, 1 or 0, [answer of each operation]]
//	LEASE GRANT ttl [id]                           [id, ttl]
//	LEASE KEEPALIVE id                             [id, ttl]; ttl 0: there is no such lease any more
//	LEASE REVOKE id                                [REV]
//	LEASE TIMETOLIVE id                            [id, ttl left, ttl granted]; -1: there is no such lease
//	WATCH key [PREFIX] [REV n]                     [REV, watch]
//	UNWATCH watch                                  [REV]
//	STATUS                                         [REV, leader, term]
//
// n before an operation is the number of its words, so that no value can be taken for a clause. TTLs are whole seconds,
// as in etcd, and not less than one and a half election time-outs, rounded up. A watch pushes
// [watch, REV, [PUT|DELETE, KEY] …] for each later revision (from REV n on, if given) that changes what it watches.
// Reads are linearizable unless SERIALIZABLE; watches show what this member has applied.
//
// # Leases
//
// A lease ends by the leader's monotonic clock. The leader looks twice a second for leases that have ended and revokes
// them through the log. A keepalive goes to the leader and not through the log. A new leader gives every lease its
// whole TTL and an election time-out, since it does not know what its predecessor granted. A leader that is blocked by
// its disk and has been deposed meanwhile revokes nothing, and one that has been stopped for three heartbeats confirms
// its leadership before it prolongs leases (etcd since 3.5.13, issue 15247). One that has been stopped and is then cut
// off from the others may prolong leases in vain for two election time-outs, as etcd's may.
//
// A cluster of one member that has lost its disk comes back empty: it knows no lease, and its revisions begin anew.
//
// Known differences: keepalives that were forwarded to a leader that died are sent again as soon as another is known
// (etcd looks once an election time-out); etcd makes sure of its leadership and then revokes, which is one moment here;
// revocations are proposed once a reign, since the log loses none; when many leases are due, etcd revokes at most a
// thousand a second.
//
// # Records
//
// The member that applies a command first records it. The lock is the key up to its last slash: the key of a waiter is
// a key of its own with its own key-set, and the owner is the attempt that put it. Keepalives and the end of a lease
// count as done by the owner of each key, unless they come from an attempt other than the one to which the lease was
// granted.
package etcd
