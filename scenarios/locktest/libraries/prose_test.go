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
- **O**, ownership: a client removed or prolonged a key that was another client's.
- **D**, data: the resource accepted a late write from a client that had lost the lock, although it
  had checked its validity before. No lease prevents every such write; a fencing token can.
- **W**, waiting: a client waited far too long, or forever, although enough servers were up.

A dot means that no schedule broke any of the four. That is no proof: the library's page says how
many schedules there were. An empty cell was not tried: the setting has no replica. The page also
says what broke each promise: the library, its settings, the servers, or a limit of all leases.

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

A cell on a library's page counts the schedules in which the promise broke; the column "of" says how many schedules
each cell of its row has. <1/80 says that it broke in none: with 95 % confidence, fewer than one in 80 schedules of
this mix breaks it (1 - 0.05^(1/n) of them, about 3/n; the comment of campaign.UpperBound gives the assumptions).
"<1/79 of 237" has a different number of schedules than its row: fewer, because the library stopped the clock in the
others, or more, because a rare violation needs a longer search. An empty cell was not run (no replica).

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
[All libraries](../README.md) compares it with others.

- Version: %[2]s
- Setting: %[3]s

## What broke, and how often

A number counts the schedules in which the promise broke; <1/80 says that it broke in none, and so, with 95 %%
confidence, breaks in fewer than one of 80 ([how to read the numbers](../README.md#how-to-read-the-numbers), [careful
and fenced clients](../README.md#how-the-libraries-were-run)).

`

const beforeFindings = `
## What breaks it, and why

Run the commands in the folder above this one (scenarios/locktest/libraries). Each prints the story and the timeline.
`

// notRun maps libraries to the last section of their page, if one of the library's settings could not be run.
var notRun = map[string]string{"rueidislock": `
## What could not be run

The defaults of rueidislock: three keys on one server and no NOLOOP. After its first extension it does not come to
rest: its own PEXPIREAT makes the server tell it that its key has changed, and then it extends again. To hold one lock
for 20 s it sends 17,000 requests; with one key 6,200; in the setting above 29
(` + "`go test -run TestRueidislockWakesItself -v .`" + `; Redis 7.0.15 does the same).

With three keys, also with NOLOOP, 37 of 100 seeds gave different runs in three repetitions: three goroutines share one
connection, and a context cancels its children in the order of a map, which is random. That accounts for two thirds of
them; the rest was not traced.
`}

// whose says who is responsible for a finding, and which lines of code cause it. It returns "" if the reason for the
// finding is unknown.
func whose(library string, f *finding) string {
	if text := ofLibrary[library][f.Cause.Kind]; text != "" {
		return text
	}
	if f.Family == "failovers" && slices.Contains([]checker.CauseKind{checker.StaleEffect, checker.LostUpdate},
		f.Cause.Kind) {
		return `The deployment's: replication is asynchronous, two masters granted one lock (see lease-exclusion), and
both holders wrote. Fencing keeps the data as long as the counter goes on.`
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
	checker.LostUpdate: `The limit of leases: a write that is checked in time may arrive late, and then overwrites what
the next holder has written in the meantime. Fencing keeps the data.`,
	checker.HolderOutlivedLease: `The user's care: an answer that came late, or an extension that failed and was reported, had left
too little of the lease, and the client worked on past its end. To look at the validity, or to stop
when an extension fails, is the user's.`,
	checker.StuckWithoutHolder: downCounter,
}

// noDialLimit explains why redigo users cannot acquire a lock if one of five machines is unreachable.
const noDialLimit = `The library's adapter, with the pool that its documents show: a round of Lock has a time limit (5 %
of the expiry; mutex.go, line 107), but a pool with Dial cannot pass it on, and redigo dials for 30
s (conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give the pool DialContext, and redigo.Dial timeouts.`

// silentServer explains why, with redigo, one silent server uses up the lock's validity.
const silentServer = `The library's adapter, and the user's care: redsync waits for every server, and a pool with Dial, as
its documents show it, does not pass on the time limit of a round. One of five that cannot be
reached for 5 s uses up most of the validity before Lock returns, and a client whose work takes half
the TTL outlives it, unless it looks at Until for the whole of its work and not only before it
writes.`

// noLimit explains the same defect as noDialLimit, in redsync's first version.
const noLimit = `The library's: a round has no time limit of its own (mutex.go, acquire), and redigo dials for 30 s
(conn.go, line 227). While one of five is unreachable without a trace (nothing refuses the
connection), each try takes 30 s to ask and 30 s to take back, and has no validity left although
four servers said yes at once. Give redigo.Dial timeouts.`

// longExtension explains how rueidislock computes how long a lock is valid. The same goes for valkeylock, which is
// derived from it.
const longExtension = `The library's: an extension may take until the end that it asks for (lock.go, monitoring: deadline =
time.Now().Add(m.validity)), not until the key ends as it stands. A holder that no longer reaches the server is told so
half a TTL after its key has expired. Fencing keeps the data.`

// nothingWakes explains why waiting clients of rueidislock and valkeylock may wait forever.
const nothingWakes = `The library's: a try that is not answered within TryNextAfter (20 ms), or for which there is no
connection, has failed, and the next begins only when the server tells that the key has changed (lock.go, acquire and
WithContext). On a new connection, or after its own DEL with NOLOOP, the server has nothing to tell: the client waits
for ever although the lock is free. Redis 7.0.15, restarted while a client waits, shows the same, with the library's
defaults
as well. Give WithContext a context with a deadline, and call it again.`

// slowRound explains why, with go-redis v9, one silent server uses up the lock's validity.
const slowRound = `The library's settings, and the user's care: redsync gives a round 5 % of the expiry (mutex.go, line
107) and waits for every server (line 291), but go-redis drops the deadline of the context unless
ContextTimeoutEnabled is set (redis.go, line 1892; default off) and reads for 5 s (options.go, line
741). So one silent server uses up most of the validity before Lock returns, and a client whose work
takes half the TTL outlives it, unless it looks at Until for the whole of its work and not only
before it writes.`

// slowExtend explains why one silent server delays Extend with any client library.
const slowExtend = `The library's, and the user's care: Extend passes on the context of its caller (mutex.go, line 158)
and waits for every server. One that is silent kept it for 7 s here; what was left of the validity when it returned was
less than the time to the next extension. Give Extend a context with a deadline.`

// slowUnlock explains why Unlock takes longer with go-redis v9 while a single server's machine is down. slowOlderUnlock
// explains the same for older versions.
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

// lateTry describes how a single Lock's attempts interfere with each other.
const lateTry = `The library's: Lock draws one value for all of its tries (mutex.go, line 80). Each try that gets too few servers
is taken back by a script that deletes the key if it has this value (line 125). If that script is late, it finds the
key that a later try of the same Lock has set on this server, deletes it, and another client gets the lock. The README
(Usage) says
that nobody else gets the lock until Unlock. Draw a value for each try.`

// jumpedClocks describes a failure that redsync cannot prevent, even though it requires a majority.
const jumpedClocks = `The limit of leases: the clocks of so many servers jumped, or ran fast, that its holder had keys left on fewer
than a majority before its time was up. Nothing in the library can notice.`

// downCounter explains why locks with a token cannot be acquired while the first server is down.
const downCounter = `The user's counter: it stands on the first server, and while that is down no lock with a token is to
be had, of however many servers the lock is.`

// sameValue describes what late requests do if an owner value is reused.
const sameValue = `The user's, and the library's comment: WithGenValueFunc says that it sets the generator of values (redsync.go,
line 126), not that each value must be new. A value is all by which a server tells one lock of a client from its next:
an extension or a release that is late, or of a key that a server kept while it was down, meets the next lock's key
and
prolongs or deletes it. Draw a random value for each lock.`

// lateExtension describes what a late extension does if extensions set a missing key again.
const lateExtension = `The library's: with WithSetNXOnExtend an extension sets the key anew if there is none (scripts.go,
touchWithSetNXScript). One that is late therefore sets the key that Unlock has deleted: a lock that nobody has, for a
whole TTL. Here redis-1 did not answer for 10 s; it then carried out the extension after the key had expired, and
go-redis' repetition of it prolonged the key while the same client was asking for its next lock. The option's comment
speaks of
servers that restart (redsync.go, lines 93 to 96), not of extensions that are late.`

// sameToken describes what late requests do in redislock if an owner value is reused.
const sameToken = `The user's: the token must be unique (redislock.go, the comment of Options.Token), and a
client's name is not, if the client takes the lock twice. A release that is late deletes the key of its next lock, and
Obtain takes over a key that a request of the client's earlier Obtain has set (luaObtain).`

// lateObtain explains how a reply that arrived during a pause can grant a lock too late.
const lateObtain = `The library's: Obtain does not look at how long the server's answer took (redislock.go, lines 80 to 84). A client
that is paused while the answer waits in its buffer is told that it has the lock although the key has expired, and
another client may have it by then. Compare the time since the call with the TTL before the work begins.`

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
