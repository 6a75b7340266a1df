package libraries

import "github.com/fencepost-sim/fencepost/checker"

const opening = `# The matrix: Go lock libraries under faults

Unmodified libraries, with their default and documented settings, under faults of the default mix. Made by

    go test -run TestMatrix -update -timeout 60m . && go test -run TestReadme -update .

Each finding below is replayed by ` + "`go test -run TestFindings .`" +
	`, and alone, with its story and timeline, by the command
under it. No finding says more than its replay shows.

## What was run

`

const legend = `
Each lock has a TTL of 8 s, on one Redis that syncs every write, on five of them (redsync), or on one with a replica and a
Sentinel (-failover, -sentinel). Three clients take it twice each. They read the data at the beginning of their work and
write it at the end: after 4 s (short), or after 20 s while the lock is renewed (renewed), every 2.7 s by its holder, whose
keepalive gives up at the first error, or by the library (rueidislock, valkeylock). "Careful" clients check the validity
before they write, and stop when an extension fails or the library says that the lock is lost; without care they do neither.
"Fenced" clients do neither, but send a token that they take, by INCR on the first server, after they have the lock and
before it ends; the resource refuses lower ones than it has seen.

## What it survives

Of %d runs, in how many the data took what a superseded holder sent: without care · careful · fenced. L: in some of these
runs two leases ran at once. S: some could not be judged, since the library stopped the clock (below). T: the counter of
the tokens went back or repeated itself. W: somebody waited far too long although enough servers were left. Empty: not run
(no replica; nobody renews).

`

const afterTable = `
Two clients inside at once, because one of them was paused and cannot know, are not listed: that no lease prevents. What it
does to the data is.

## What breaks it
`

const closing = `
## What could not be run

- **rueidislock with its defaults**, three keys on one server and no NOLOOP. After its first extension it does not
  come to rest: its own PEXPIREAT makes the server tell it that its key has changed, and then it extends again.
  To hold one lock for 20 s it sends 17,000 requests; with one key 6,200; as its documents show for one server,
  which is the row above, 29 (` + "`go test -run TestRueidislockWakesItself -v .`" + `; Redis 7.0.15 does the same).
  With three keys, besides, 37 of 100 seeds gave different runs in three repetitions, also with NOLOOP: three
  goroutines share one connection, and a context cancels its children in the order of a map, which is random.
  That accounts for two thirds of them; the rest was not traced.
- **Some runs of redislock-sentinel**, S in the table. A subscription of go-redis dials with its mutex held
  (pubsub.go, conn), and so does what asks the Sentinel (sentinel.go, MasterAddr). If another goroutine wants that
  mutex meanwhile (PubSub.Ping, every three seconds of silence), the clock of a bubble stands still, for it goes on
  only when nothing but channels, timers and connections is waited for. Such a run is ended after three seconds
  and named with its goroutines; the other seeds go on.
- **The pool of radix** waits for the network with a mutex held, and stops the clock at its first connection.
  Its row stands on one connection (radix.Dialer), dialled anew after an error.
- **etcd clientv3/concurrency** speaks gRPC over HTTP/2, and the model speaks none. It would take an HTTP/2 server in
  front of the simulated cluster, in the bubble, that answers the unary calls of KV and Lease and the streams of Watch
  and LeaseKeepAlive; revisions, leases and watches as clientv3 checks them; and clients whose channels are made inside
  the bubble, of which google.golang.org/grpc has some at the level of its packages. Of the lock itself, the modelled
  client has been run: the scenarios etcd-*.
- **Locks that dial by themselves**, as that of go-zero, which takes an address and no dialer: nothing can stand between
  them and the host's network.
`

// whose says whose a finding is, and which lines do it. Empty: nobody has understood it yet.
func whose(library string, f *finding) string {
	if text := ofLibrary[library][f.Cause.Kind]; text != "" {
		return text
	}
	if f.Cause.Kind == checker.StaleEffect && f.Family == "failovers" {
		return `The deployment's: two masters gave out one lock, as told under lease-exclusion, and both holders
wrote. Fencing keeps the data as long as the counter goes on.`
	}
	return ofCause[f.Cause.Kind]
}

var ofCause = map[checker.CauseKind]string{
	checker.StaleEffect: `The limit of leases: a write that is checked in time may arrive late, and a client that is paused
after the check does not know. Fencing keeps the data.`,
	checker.ExpiredEarly: `The limit of leases on one clock: the server's clock jumped or ran fast, and the key expired before
its holder's time was up. Nothing in the library can notice.`,
	checker.LostInCrash: `The deployment's: the server came back without what it had stored. One server that forgets is a lock
that forgets.`,
	checker.LostInFailover: `The deployment's: replication is asynchronous, and the replica was promoted before it had the key.`,
	checker.DeposedMaster: `The deployment's: replication is asynchronous, and for a while two masters gave out one lock. A
library on one master cannot notice.`,
	checker.TokenRepeated: `The counter's: it is as durable as its server, and that came back, or was replaced, without its last
increments. Tokens want a store that forgets nothing.`,
	checker.TokenWentBack: `The counter's: it is as durable as its server, and that came back, or was replaced, without its last
increments. Tokens want a store that forgets nothing.`,
	checker.HolderOutlivedLease: `The user's care: an answer that came late, or an extension that failed and was reported, had left
too little of the lease, and the client worked on past its end. To look at the validity, or to stop
when an extension fails, is the user's.`,
	checker.StuckWithoutHolder: `The user's counter: it stands on the first server, and while that is down no lock with a token is to
be had, of however many servers the lock is.`,
}

// noDialLimit is why one machine of five that is down keeps redigo's users from a lock.
const noDialLimit = `The library's adapter, with the pool that its documents show: a round of Lock has a time limit (5 %
of the expiry; mutex.go, line 107), but a pool with Dial cannot pass it on, and redigo dials for 30
s (conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give the pool DialContext, and redigo.Dial timeouts.`

// silentServer is why one silent server uses up the validity with redigo.
const silentServer = `The library's adapter, and the user's care: redsync waits for every server, and a pool with Dial, as
its documents show it, does not pass on the time limit of a round. One of five that cannot be
reached for 5 s uses up most of the validity before Lock returns, and a client whose work takes half
the TTL outlives it, unless it looks at Until for the whole of its work and not only before it
writes.`

// noLimit is the like in redsync's first version.
const noLimit = `The library's: a round has no time limit of its own (mutex.go, acquire), and redigo dials for 30 s
(conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give redigo.Dial timeouts.`

// longExtension is how rueidislock and valkeylock, which is made of it, count a validity.
const longExtension = `The library's: an extension may take until the end that it asks for (lock.go, monitoring: deadline =
time.Now().Add(m.validity)), not until the key ends as it stands. A holder that no longer reaches the server is told so
half a TTL after its key has expired. Fencing keeps the data.`

// nothingWakes is how their waiters come to wait for ever.
const nothingWakes = `The library's: a try that is not answered within TryNextAfter (20 ms), or for which there is no
connection, has failed, and the next begins only when the server tells that the key has changed (lock.go, acquire and
WithContext). On a new connection, or after its own DEL with NOLOOP, the server has nothing to tell: the client waits for
ever although the lock is free. Redis 7.0.15, restarted while a client waits, shows the same, with the library's defaults
as well. Give WithContext a context with a deadline, and call it again.`

// ofLibrary is what is particular to a library.
var ofLibrary = map[string]map[checker.CauseKind]string{
	"redsync": {
		checker.HolderOutlivedLease: `The library's settings, and the user's care: redsync gives a round 5 % of the expiry (mutex.go, line
107) and waits for every server (line 291), but go-redis drops the deadline of the context unless
ContextTimeoutEnabled is set (redis.go, line 1892; default off) and reads for 5 s (options.go, line
741). So one silent server of five uses up most of the validity before Lock returns, and a client
whose work takes half the TTL outlives it, unless it looks at Until for the whole of its work and
not only before it writes.`,
		checker.TooSlow: `The library's: a round of Lock has a time limit, but Unlock and Extend pass on the context of their
caller (mutex.go, lines 142 and 158) and wait for every server. If one of five has gone without a
trace (its machine is down, so that nothing refuses a connection), go-redis dials it for 5 s, five
times, in each of four attempts (options.go, lines 688, 696 and 768): Unlock returns after 102 s,
although four servers have answered at once. Give Unlock a context with a deadline.`,
	},
	"redsync-redigo": {
		checker.HolderOutlivedLease: silentServer,
		checker.TooSlow:             noDialLimit,
		checker.StuckWithoutHolder:  noDialLimit,
	},
	"rueidislock": {
		checker.ValidityMiscounted: longExtension,
		checker.StuckWithoutHolder: nothingWakes,
		checker.StaleEffect: `The limit of leases: that the lock is lost the library can say only when the server has
answered; a client that wakes from a pause and looks at once has not been told. Fencing keeps the data.`,
	},
	"valkeylock": {
		checker.ValidityMiscounted: longExtension,
		checker.StuckWithoutHolder: nothingWakes,
	},
	"redsync-v1": {
		checker.HolderOutlivedLease: `The library's, and the user's care: redsync waits for every server, without a time limit. One silent
server of five uses up most of the validity before Lock returns, and this version does not say until
when the lock is valid.`,
		checker.TooSlow:            noLimit,
		checker.StuckWithoutHolder: noLimit,
		checker.LeaseNotRechecked: `The library's: Extend waits for every server and does not look at how long that took (mutex.go,
Extend). Here one server was cut off; the other four had prolonged the key at once and let it
expire; another client got the lock; then the fifth answered, and Extend said yes. The fourth
version checks (mutex.go, lines 165 to 170).`,
	},
}
