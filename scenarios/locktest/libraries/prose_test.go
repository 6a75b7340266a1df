package libraries

import "github.com/fencepost-sim/fencepost/checker"

const opening = `# The matrix: Go lock libraries under faults

Unmodified libraries, with their default and documented settings, under faults of the default mix. Made by

    FENCEPOST_FULL=1 go test -run TestMatrix -update -timeout 5h . && go test -run TestReadme -update .

in some 70 minutes of processor time; without FENCEPOST_FULL there is a tenth of the schedules, and with
` + "`-run 'TestMatrix/^redsync$'`" + ` one library.

Each finding below is replayed by ` + "`go test -run TestFindings .`" +
	`, and alone, with its story and timeline, by the command
under it. No finding says more than its replay shows.

## What was run

`

const legend = `
Each lock has a TTL of 8 s, on one Redis that syncs every write, on three or five of them (redsync), or on one with a
replica and a Sentinel (-failover, -sentinel). Three clients take it twice each. They read the data at the beginning
of their work and write it at the end: after 4 s (short), or after 20 s while the lock is renewed (renewed), every 2.7
s by its holder, whose keepalive gives up at the first error, or by the library (rueidislock, valkeylock). "Careful"
clients check the validity before they write, and stop when an extension fails or the library says that the lock is
lost; without care they do neither. "Fenced" clients do neither, but send a token that they take, by INCR on the first
server, after they have the lock and before it ends; the resource refuses lower ones than it has seen.

## What it survives

Each table is about one law, and each cell about one library under one family of faults. The column "of" says how many
schedules each cell of its row has. A number says in how many of them the law was broken. <1/80 says that it was
broken in none: with 95 % confidence, fewer than one in 80 schedules of this mix breaks it, 1 - 0.05^(1/n) of them,
about 3/n (the comment of campaign.UpperBound says what that takes for granted). "<1/79 of 237" has another number of
schedules than its row: fewer, since the library stopped the clock in the others (below), or more of all kinds, since
that long a search is what a rare violation takes. Empty: not run (no replica).

`

const afterTable = `
Two clients inside at once, because one of them was paused and cannot know, are not listed: that no lease prevents.
What it does to the data is.

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
- **The pool of radix**: its row stands on one connection (radix.Dialer), dialled anew after an error.
- **etcd clientv3/concurrency** speaks gRPC over HTTP/2, and the model speaks none. It would take an HTTP/2 server in
  front of the simulated cluster, in the bubble, that answers the unary calls of KV and Lease and the streams of Watch
  and LeaseKeepAlive; revisions, leases and watches as clientv3 checks them; and clients whose channels are made inside
  the bubble, of which google.golang.org/grpc has some at the level of its packages. Of the lock itself, the modelled
  client has been run: the scenarios etcd-*.
- **Locks that dial by themselves**, which take an address and no dialer: nothing can stand between them and the host's
  network. That of go-zero is not among them, for a hook can dial; but it keeps one client for each address in the
  process, for ever, which three simulated clients would share.
`

// whose returns the text that says which party causes a finding, and which lines do. It is empty if nobody has
// understood the finding yet.
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
	checker.LostUpdate: `The deployment's: replication is asynchronous, and two masters gave out one lock, and with it the same
token, by which the resource cannot know one holder from the other.`,
	checker.HolderOutlivedLease: `The user's care: an answer that came late, or an extension that failed and was reported, had left
too little of the lease, and the client worked on past its end. To look at the validity, or to stop
when an extension fails, is the user's.`,
	checker.StuckWithoutHolder: downCounter,
}

// noDialLimit says why one unreachable machine of five keeps redigo's users from getting a lock.
const noDialLimit = `The library's adapter, with the pool that its documents show: a round of Lock has a time limit (5 %
of the expiry; mutex.go, line 107), but a pool with Dial cannot pass it on, and redigo dials for 30
s (conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give the pool DialContext, and redigo.Dial timeouts.`

// silentServer says why one silent server uses up the validity with redigo.
const silentServer = `The library's adapter, and the user's care: redsync waits for every server, and a pool with Dial, as
its documents show it, does not pass on the time limit of a round. One of five that cannot be
reached for 5 s uses up most of the validity before Lock returns, and a client whose work takes half
the TTL outlives it, unless it looks at Until for the whole of its work and not only before it
writes.`

// noLimit describes the corresponding defect of redsync's first version.
const noLimit = `The library's: a round has no time limit of its own (mutex.go, acquire), and redigo dials for 30 s
(conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give redigo.Dial timeouts.`

// longExtension says how rueidislock, and valkeylock, which is derived from it, compute a validity.
const longExtension = `The library's: an extension may take until the end that it asks for (lock.go, monitoring: deadline =
time.Now().Add(m.validity)), not until the key ends as it stands. A holder that no longer reaches the server is told so
half a TTL after its key has expired. Fencing keeps the data.`

// nothingWakes says why their waiters may wait for ever.
const nothingWakes = `The library's: a try that is not answered within TryNextAfter (20 ms), or for which there is no
connection, has failed, and the next begins only when the server tells that the key has changed (lock.go, acquire and
WithContext). On a new connection, or after its own DEL with NOLOOP, the server has nothing to tell: the client waits
for ever although the lock is free. Redis 7.0.15, restarted while a client waits, shows the same, with the library's
defaults
as well. Give WithContext a context with a deadline, and call it again.`

// slowRound says why one silent server uses up the validity with go-redis v9.
const slowRound = `The library's settings, and the user's care: redsync gives a round 5 % of the expiry (mutex.go, line
107) and waits for every server (line 291), but go-redis drops the deadline of the context unless
ContextTimeoutEnabled is set (redis.go, line 1892; default off) and reads for 5 s (options.go, line
741). So one silent server uses up most of the validity before Lock returns, and a client whose work
takes half the TTL outlives it, unless it looks at Until for the whole of its work and not only
before it writes.`

// slowExtend says why one silent server delays Extend with any client library.
const slowExtend = `The library's, and the user's care: Extend passes on the context of its caller (mutex.go, line 158)
and waits for every server. One that is silent kept it for 7 s here; what was left of the validity when it returned was
less than the time to the next extension. Give Extend a context with a deadline.`

// slowUnlock says why one server that has gone delays Unlock with go-redis v9; slowOlderUnlock says it for older
// versions.
const (
	slowUnlock = `The library's: a round of Lock has a time limit, but Unlock and Extend pass on the context of their
caller (mutex.go, lines 142 and 158) and wait for every server. If one has gone without a trace (its
machine is down, so that nothing refuses a connection), go-redis dials it for 5 s, five times, in
each of four attempts (options.go, lines 688, 696 and 768): Unlock returns after 102 s, although the
others have answered at once. Give Unlock a context with a deadline.`
	slowOlderUnlock = `The library's: a round of Lock has a time limit, but Unlock and Extend pass on the context of their
caller (mutex.go, lines 142 and 158) and wait for every server. If one has gone without a trace (its machine is down, so
that nothing refuses a connection), go-redis dials it for 5 s, again and again (options.go, DialTimeout and MaxRetries),
although the others have answered at once. Give Unlock a context with a deadline.`
)

// lateTry says how the tries of one Lock interfere with each other.
const lateTry = `The library's: Lock draws one value for all of its tries (mutex.go, line 80). Each try that gets too few servers
is taken back by a script that deletes the key if it has this value (line 125). If that script is late, it finds the
key that a later try of the same Lock has set on this server, deletes it, and another client gets the lock. The README
(Usage) says
that nobody else gets the lock until Unlock. Draw a value for each try.`

// jumpedClocks describes a case that redsync cannot prevent by counting a majority.
const jumpedClocks = `The limit of leases: the clocks of so many servers jumped, or ran fast, that its holder had keys left on fewer
than a majority before its time was up. Nothing in the library can notice.`

// downCounter says why no lock with a token can be acquired.
const downCounter = `The user's counter: it stands on the first server, and while that is down no lock with a token is to
be had, of however many servers the lock is.`

// sameValue says what late requests do if a value is used again.
const sameValue = `The user's, and the library's comment: WithGenValueFunc says that it sets the generator of values (redsync.go,
line 126), not that each value must be new. A value is all by which a server tells one lock of a client from its next:
an extension or a release that is late, or of a key that a server kept while it was down, meets the next lock's key
and
prolongs or deletes it. Draw a random value for each lock.`

// lateExtension says what a late extension does if extensions set a missing key.
const lateExtension = `The library's: with WithSetNXOnExtend an extension sets the key anew if there is none (scripts.go,
touchWithSetNXScript). One that is late therefore sets the key that Unlock has deleted: a lock that nobody has, for a
whole TTL. Here redis-1 did not answer for 10 s; it then carried out the extension after the key had expired, and
go-redis' repetition of it prolonged the key while the same client was asking for its next lock. The option's comment
speaks of
servers that restart (redsync.go, lines 93 to 96), not of extensions that are late.`

// sameToken describes the problem of sameValue for redislock.
const sameToken = `The user's: the token must be unique (redislock.go, the comment of Options.Token), and a
client's name is not, if the client takes the lock twice. A release that is late deletes the key of its next lock, and
Obtain takes over a key that a request of the client's earlier Obtain has set (luaObtain).`

// lateObtain describes a lock whose reply waited during a pause.
const lateObtain = `The library's: Obtain does not look at how long the server's answer took (redislock.go, lines 80 to 84). A client
that is paused while the answer waits in its buffer is told that it has the lock although the key has expired, and
another client may have it by then. Compare the time since the call with the TTL before the work begins.`

// ofLibrary has the explanations for causes that are specific to a library.
var ofLibrary = map[string]map[checker.CauseKind]string{
	"redsync": {checker.HolderOutlivedLease: slowRound, checker.TooSlow: slowUnlock, checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly: jumpedClocks},
	"redsync-1": {checker.TooSlow: slowUnlock, checker.RemovedByOwner: lateTry},
	"redsync-3": {checker.HolderOutlivedLease: slowRound, checker.TooSlow: slowUnlock, checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly: jumpedClocks},
	"redsync-fail-fast": {checker.TooSlow: downCounter, checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly: jumpedClocks},
	"redsync-set-nx": {checker.HolderOutlivedLease: slowRound, checker.TooSlow: slowUnlock,
		checker.RemovedByOwner:      lateTry,
		checker.ExpiredEarly:        jumpedClocks,
		checker.ProlongedByNonOwner: lateExtension},
	"redsync-own-value": {checker.HolderOutlivedLease: slowRound, checker.TooSlow: slowUnlock,
		checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly:   jumpedClocks, checker.RemovedByNonOwner: sameValue,
		checker.ProlongedByNonOwner: sameValue},
	"redsync-v8": {checker.TooSlow: slowOlderUnlock, checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly:        jumpedClocks,
		checker.HolderOutlivedLease: slowExtend},
	"redsync-v7": {checker.TooSlow: slowOlderUnlock, checker.RemovedByOwner: lateTry,
		checker.ExpiredEarly: jumpedClocks},
	"redsync-rueidis": {checker.RemovedByOwner: lateTry, checker.ExpiredEarly: jumpedClocks,
		checker.HolderOutlivedLease: slowExtend,
		checker.TooSlow: `The user's: rueidis.NewClient connects at once, for up to 5 s (rueidis.go, line 55), and returns an error if
its server does not answer. Who opens a client for each of five servers, and gives up at an error, needs all five.
Open it again later.`},
	"redislock":           {checker.LeaseNotRechecked: lateObtain},
	"redislock-own-token": {checker.RemovedByNonOwner: sameToken, checker.LeaseNotRechecked: lateObtain},
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
Extend). Here one server answered late; the other four had prolonged the key at once and let it
expire; another client got the lock; then the fifth answer came, and Extend said yes. The fourth
version checks (mutex.go, lines 165 to 170).`,
	},
}
