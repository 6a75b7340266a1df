package libraries

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
)

// opening is the part of the README before its table.
const opening = `# Go lock libraries under faults

After reading this page you know which promises your lock library broke under which faults, you can
replay each case with one command, and you can run your own version and settings the same way.

The libraries are unmodified, with documented settings. Each letter names a promise that broke in at
least one schedule in a fault family:

- **E**, exclusion: two leases ran at the same time.
- **O**, ownership: a client removed or extended another client's key.
- **D**, data: the resource accepted a late write from a client that had lost the lock, although it
  had checked its validity before. No lease prevents every such write; a fencing token can.
- **W**, waiting: a client waited far too long, or forever, although enough servers were up.

A dot means that no schedule broke any of the four. That is no proof: the library's page says how
many schedules showed whether a promise is kept. A letter with a question mark means that none did.
An empty cell was not tried: the setting has no replica. The page also says what broke each promise:
the library, its settings, the servers, or a limit of all leases.

`

// method is the part of the README after the links below its table.
const method = `
## Replay a finding, or test your own library

Each library's page lists how often each promise broke, and for each way in which it broke, the smallest fault
schedule, the lines of the library that explain it, and a command that replays it with its story and timeline. Run the
commands in this folder. ` + "`go test -run TestFindings .`" + ` replays all of them. No finding says more than its replay
shows.

To test your own lock, or another version, write an adapter: [locktest](../README.md) shows one in ten lines.

To correct a row, change the adapter or the settings in ` + "`adapters_test.go`" + `, and run its library again (redsync here;
about 20 s):

    go test -run 'TestMatrix/^redsync$' -update . && go test -run TestReadme -update .

Running all libraries with ten times as many schedules takes about 70 minutes of processor time:

    FENCEPOST_FULL=1 go test -run TestMatrix -update -timeout 5h . && go test -run TestReadme -update .

## How the libraries were run

Each lock has a TTL of 8 s. It is on one Redis that syncs every write, on three or five of them (redsync), or on one
with a replica and a Sentinel (-failover, -sentinel). Three clients take it twice each. They read the data at the
start of their work and write it at the end.

- Short work takes 4 s. Renewed work takes 20 s, and meanwhile the lock is renewed: by its holder every 2.7 s, which
  gives up at the first error, or by the library (rueidislock, valkeylock).
- Careful clients check the validity before they write. They stop when an extension fails or when the library says
  that the lock is lost. Careless clients do neither.
- Fenced clients do neither either, but send a token with each write. They get it by INCR on the first server, after
  they have the lock and before it ends. The resource refuses tokens that are lower than one that it has seen.

The faults of a family are drawn with the weights of the default mix.

## How to read the numbers

A cell on a library's page counts the schedules in which the promise broke. The column "of" says how many schedules
showed whether the promise is kept. <1/80 says that it broke in none of them: with 95% confidence, fewer than one in 80
such schedules of this mix breaks it (1 - 0.05^(1/n) of them, about 3/n; the comment of campaign.UpperBound gives the
assumptions). "<1/79 of 237" has another number of such schedules than the column "of": fewer, because more schedules
showed nothing about the promise, or more, because a rare violation needs a longer search. A dash means that no
schedule showed anything about it. An empty cell was not run (no replica).

Two clients in their critical sections at once are not counted if one of them was paused and cannot know that its
lease has ended: no lease prevents that. What it does to the data is counted.
`

const closing = `
## Locks that could not be run

- **Locks that dial by themselves**, which take an address and no dialer: nothing can come between them and the host's
  network. go-zero's lock does take a hook that can dial. But go-zero keeps one client for each address in the process
  forever, and the three simulated clients would share it.
- radix's pool, and rueidislock's defaults: see [radix] and [rueidislock].

The clients of etcd and ZooKeeper are in [ensembles](../ensembles/README.md), and client-go's leader election is in
[kubernetes](../kubernetes/README.md).
`

// pageOpening is the beginning of each library's page. Its formatting verbs stand for the library's name, versions and
// setting.
const pageOpening = `# %[1]s under faults

After reading this page you know which promises %[1]s broke under which faults and why, and you can replay each case.
To compare it with others, see [all libraries](../README.md).

- Version: %[2]s
- Setting: %[3]s

## What broke, and how often

A number counts the schedules in which the promise broke. <1/80 means that it broke in none; with 95%% confidence, it
breaks in fewer than one of 80. The README explains [the numbers](../README.md#how-to-read-the-numbers) and [the kinds
of clients](../README.md#how-the-libraries-were-run): careless, careful and fenced.

`

const beforeFindings = `
## What breaks it, and why

Run the commands in the folder above this one (scenarios/locktest/libraries). Each prints a story and a timeline.
`

// notRun maps libraries to the last section of their page, if one of the library's settings could not be run.
var notRun = map[string]string{"rueidislock": `
## What could not be run

The defaults of rueidislock: three keys on one server, without NOLOOP. After the first extension, the library keeps
extending without a break: its own PEXPIREAT makes the server notify it that its key has changed, and then it extends
again. To hold one lock for 20 s, it sends 17,000 requests; with one key, 6,200; with the setting above, 29
(` + "`go test -run TestRueidislockWakesItself -v .`" + `; the same happens with Redis 7.0.15).

With three keys, even with NOLOOP, 37 of 100 seeds gave different runs when they were repeated three times. Three
goroutines share one connection, and a context cancels its children in map order, which is random. That explains two
thirds of these seeds; the rest was not investigated.
`}

// whose says who is responsible for a finding, and which lines of code cause it. It returns "" if the reason for the
// finding is unknown.
func whose(library string, f *finding) string {
	if text := ofLibrary[library][f.Cause.Kind]; text != "" {
		return text
	}
	if f.Family == "failovers" && slices.Contains([]checker.CauseKind{checker.StaleEffect, checker.LostUpdate},
		f.Cause.Kind) {
		return `Due to the deployment: replication is asynchronous, two masters granted the same lock (see
lease-exclusion), and both holders wrote. Fencing protects the data as long as the counter keeps counting.`
	}
	return ofCause[f.Cause.Kind]
}

var ofCause = map[checker.CauseKind]string{
	checker.StaleEffect: `A limit of leases: a write that was checked in time may arrive late, and a client that is
paused after the check does not know that its lease has ended. Fencing protects the data.`,
	checker.ExpiredEarly: `A limit of leases on one clock: the server's clock jumped or ran fast, and the key expired
before its holder's time was up. The library cannot notice this.`,
	checker.LostInCrash: `Due to the deployment: the server came back without its data. If the only server forgets,
the lock is forgotten.`,
	checker.LostInFailover: `Due to the deployment: replication is asynchronous, and the replica was promoted before
it had the key.`,
	checker.DeposedMaster: `Due to the deployment: replication is asynchronous, and for a while two masters granted
the same lock. A library that uses one master cannot notice this.`,
	checker.TokenRepeated: `Due to the counter: it is only as durable as its server, which came back, or was replaced,
without its last increments. Tokens need a store that never forgets.`,
	checker.TokenWentBack: `Due to the counter: it is only as durable as its server, which came back, or was replaced,
without its last increments. Tokens need a store that never forgets.`,
	checker.LostUpdate: `A limit of leases: a write that was checked in time may arrive late, and then it overwrites
what the next holder has written in the meantime. Fencing protects the data.`,
	checker.HolderOutlivedLease: `Due to the user: a late answer, or a failed extension that was reported, left too
little of the lease, and the client kept working past its end. It is up to the user to check the validity, and to stop
when an extension fails.`,
	checker.StuckWithoutHolder: downCounter,
}

// noDialLimit explains why redigo users cannot acquire a lock if one of five machines is unreachable.
const noDialLimit = `Due to the library's adapter, with the pool that its documentation shows: a round of Lock has a
time limit (5% of the expiry; mutex.go, line 107), but a pool with Dial cannot pass it on, and redigo's dial timeout
is 30 s (conn.go, line 227). If one of five servers is unreachable without a trace (nothing refuses the connection),
each try takes 30 s to ask and 30 s to undo, and has no validity left, although four servers granted the lock at once.
Give the pool DialContext, and set redigo's dial timeouts.`

// silentServer explains why, with redigo, one silent server uses up the lock's validity.
const silentServer = `Due to the library's adapter, and to the user: redsync waits for every server, and a pool with
Dial, as its documentation shows it, does not pass on a round's time limit. If one of five servers is unreachable for
5 s, it uses up most of the validity before Lock returns. A client whose work takes half the TTL then outlives its
lease, unless it compares Until with the end of its work and not only with the time of each write.`

// noLimit explains the same defect as noDialLimit, in redsync's first version.
const noLimit = `Due to the library: a round has no time limit of its own (mutex.go, acquire), and redigo's dial
timeout is 30 s (conn.go, line 227). If one of five servers is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to undo, and has no validity left, although four servers granted the
lock at once. Set redigo's dial timeouts.`

// longExtension explains how rueidislock computes how long a lock is valid. The same goes for valkeylock, which is
// derived from it.
const longExtension = `Due to the library: an extension may take until the new deadline that it requests (lock.go,
monitoring: deadline = time.Now().Add(m.validity)), rather than until the key's current deadline. A holder that can no
longer reach the server learns this only half a TTL after its key has expired. Fencing protects the data.`

// nothingWakes explains why waiting clients of rueidislock and valkeylock may wait forever.
const nothingWakes = `Due to the library: a try fails if it is not answered within TryNextAfter (20 ms) or if there is
no connection for it, and the next try begins only when the server reports that the key has changed (lock.go, acquire
and WithContext). On a new connection, or after the client's own DEL with NOLOOP, the server has nothing to report:
the client waits forever, although the lock is free. The same happens with Redis 7.0.15 when it is restarted while a
client waits, even with the library's defaults. Give WithContext a context with a deadline, and call it again.`

// slowRound explains why, with go-redis v9, one silent server uses up the lock's validity.
const slowRound = `Due to the library's settings, and to the user: redsync gives a round 5% of the expiry (mutex.go,
line 107) and waits for every server (line 291). But go-redis ignores the context's deadline unless
ContextTimeoutEnabled is set (redis.go, line 1892; off by default), and its read timeout is 5 s (options.go, line
741). So one silent server uses up most of the validity before Lock returns. A client whose work takes half the TTL
then outlives its lease, unless it compares Until with the end of its work and not only with the time of each write.`

// slowExtend explains why one silent server delays Extend with any client library.
const slowExtend = `Due to the library, and to the user: Extend passes on its caller's context (mutex.go, line 158)
and waits for every server. Here a silent server delayed it for 7 s, and the validity that was left when it returned
was shorter than the time to the next extension. Give Extend a context with a deadline.`

// slowUnlock explains why Unlock takes longer with go-redis v9 while a single server's machine is down. slowOlderUnlock
// explains the same for older versions.
const (
	slowUnlock = `Due to the library: a round of Lock has a time limit, but Unlock and Extend pass on their caller's
context (mutex.go, lines 142 and 158) and wait for every server. If one is gone without a trace (its machine is down,
so nothing refuses a connection), go-redis dials it for 5 s, five times, in each of four attempts (options.go, lines
688, 696 and 768): Unlock returns after 102 s, although the others have answered at once. Give Unlock a context with a
deadline.`
	slowOlderUnlock = `Due to the library: a round of Lock has a time limit, but Unlock and Extend pass on their
caller's context (mutex.go, lines 142 and 158) and wait for every server. If one is gone without a trace (its machine
is down, so nothing refuses a connection), go-redis dials it for 5 s, again and again (options.go, DialTimeout and
MaxRetries), although the others have answered at once. Give Unlock a context with a deadline.`
)

// lateTry describes how a single Lock's attempts interfere with each other.
const lateTry = `Due to the library: Lock draws one value for all of its tries (mutex.go, line 80). A try that gets
too few servers is undone by a script that deletes the key if it has this value (line 125). If that script is late, it
deletes the key that a later try of the same Lock call has set on this server, and another client gets the lock. The
README (Usage) says that nobody else gets the lock until Unlock. The library should draw a new value for each try.`

// jumpedClocks describes a failure that redsync cannot prevent, even though it requires a majority.
const jumpedClocks = `A limit of leases: so many servers' clocks jumped or ran fast that, before its time was up, the
holder had keys left on less than a majority. The library cannot notice this.`

// downCounter explains why locks with a token cannot be acquired while the first server is down.
const downCounter = `Due to the user's counter: it is stored on the first server. While that server is down, nobody
can get a lock with a token, no matter how many servers the lock uses.`

// sameValue describes what late requests do if an owner value is reused.
const sameValue = `Due to the user, and to the library's comment: WithGenValueFunc says that it sets the generator of values
(redsync.go, line 126), but not that each value must be new. A server can tell a client's lock from the same client's
next one only by the value. An extension or a release that is late, or one for a key that a server kept while it was
down, finds the next lock's key and extends or deletes it. Draw a random value for each lock.`

// lateExtension describes what a late extension does if extensions set a missing key again.
const lateExtension = `Due to the library: with WithSetNXOnExtend, an extension sets the key again if it is missing
(scripts.go, touchWithSetNXScript). A late extension therefore sets the key that Unlock has deleted, and for a whole
TTL there is a lock that nobody holds. Here redis-1 did not answer for 10 s. It then executed the extension after the
key had expired, and go-redis's retry of it extended the key while the same client was asking for its next lock. The
option's comment mentions servers that restart (redsync.go, lines 93 to 96), but not extensions that are late.`

// sameToken describes what late requests do in redislock if an owner value is reused.
const sameToken = `Due to the user: the token must be unique (redislock.go, the comment on Options.Token), and a
client's name is not unique if the client takes the lock twice. A late release deletes the key of the client's next
lock, and Obtain takes over a key that was set by one of the client's earlier Obtain calls (luaObtain).`

// lateObtain explains how a reply that arrived during a pause can grant a lock too late.
const lateObtain = `Due to the library: Obtain does not check how long the server's answer took (redislock.go, lines
80 to 84). If a client is paused while the answer is in its buffer, Obtain reports that it has the lock although the
key has expired, and another client may have the lock by then. Before the work begins, compare the time since the call
with the TTL.`

// ofLibrary maps libraries to explanations of causes that are specific to them.
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
		checker.TooSlow: `Due to the user: rueidis.NewClient connects immediately, taking up to 5 s (rueidis.go, line 55),
and returns an error if its server does not answer. Code that opens a client for each of five servers and gives up at
the first error needs all five. Open the missing client again later.`},
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
		checker.StaleEffect: `A limit of leases: the library can report that the lock is lost only when the server has
answered. A client that wakes up from a pause and checks immediately has not been told yet. Fencing protects the data.`,
	},
	"valkeylock": {
		checker.ValidityMiscounted: longExtension,
		checker.StuckWithoutHolder: nothingWakes,
	},
	"redsync-v1": {
		checker.HolderOutlivedLease: `Due to the library, and to the user: redsync waits for every server, without a
time limit. If one of five servers is silent, it uses up most of the validity before Lock returns, and this version
does not say how long the lock is valid.`,
		checker.TooSlow:            noLimit,
		checker.StuckWithoutHolder: noLimit,
		checker.LeaseNotRechecked: `Due to the library: Extend waits for every server and does not check how long that
took (mutex.go, Extend). Here one server answered late. The other four had extended the key at once and then let it
expire, and another client got the lock. When the fifth answer came, Extend reported success. Version 4 checks
(mutex.go, lines 165 to 170).`,
	},
}
