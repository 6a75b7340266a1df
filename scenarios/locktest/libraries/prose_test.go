package libraries

import "github.com/fencepost-sim/fencepost/checker"

const opening = `# The matrix: Go lock libraries under faults

Unmodified libraries, with their default and documented settings, under faults of the default mix. Made by

    go test -run TestMatrix -update -timeout 60m . && go test -run TestReadme -update .

Each finding below is replayed by ` + "`go test -run TestFindings .`" + `, and alone, with its story and timeline, by the command
under it. No finding says more than its replay shows.

## What was run

`

const legend = `
Each lock has a TTL of 8 s, on one Redis that syncs every write, on five of them (redsync), or on one with a replica and a
Sentinel (-failover). Three clients take it twice each. They read the data at the beginning of their work and write it at the
end: after 4 s (short), or after 20 s while the lock is renewed every 2.7 s by its holder (renewed). The holder's keepalive
gives up at the first error. "Careful" clients check the validity before they write, and stop when an extension fails; without
care they do neither. "Fenced" clients do neither, but send a token that they take, by INCR on the first server, after they
have the lock and before it ends; the resource refuses lower ones than it has seen.

## What it survives

Of %d runs, in how many the data took what a superseded holder sent: without care · careful · fenced. L: in some of these
runs two leases ran at once. T: the counter of the tokens went back or repeated itself. W: somebody waited far too long
although enough servers were left. Empty: not run (no replica; nobody renews).

`

const afterTable = `
Two clients inside at once, because one of them was paused and cannot know, are not listed: that no lease prevents. What it
does to the data is.

## What breaks it
`

const closing = `
## What could not be run

- **rueidislock** as shipped needs RESP3 and CLIENT TRACKING on the simulated node. Its adapter is in ` + "`rueidis_test.go`" + `.
- **FailoverClient of go-redis** asks the Sentinel with a mutex held (sentinel.go, MasterAddr). If another of its goroutines
  wants that mutex meanwhile, the clock of a bubble stands still, and the run is reported as hung: 1 of 40. The -failover rows
  stand on a plain client whose dialer asks the Sentinel on each dial, as a proxy or a name that follows the master does.
- **The pool of radix** waits for the network with a mutex held, and stops the clock at its first connection. Its row stands on
  one connection (radix.Dialer), dialled anew after an error.
- **etcd clientv3/concurrency** speaks gRPC over HTTP/2. It would take an HTTP/2 server in front of the simulated cluster that
  answers the unary calls of KV and Lease and the streams of Watch and LeaseKeepAlive, and clients whose channels are made
  inside the bubble.
`

// whose says whose a finding is, and which lines do it. Empty: nobody has understood it yet.
func whose(library string, f *finding) string {
	if text := ofLibrary[library][f.Cause.Kind]; text != "" {
		return text
	}
	return ofCause[f.Cause.Kind]
}

var ofCause = map[checker.CauseKind]string{
	checker.StaleEffect: "The limit of leases: a write that is checked in time may arrive late, and a client that is paused after " +
		"the check does not know. Fencing keeps the data.",
	checker.ExpiredEarly: "The limit of leases on one clock: the server's clock jumped or ran fast, and the key expired before its " +
		"holder's time was up. Nothing in the library can notice.",
	checker.LostInCrash: "The deployment's: the server came back without what it had stored. One server that forgets is a lock that " +
		"forgets.",
	checker.LostInFailover: "The deployment's: replication is asynchronous, and the replica was promoted before it had the key.",
	checker.DeposedMaster: "The deployment's: replication is asynchronous, and for a while two masters gave out one lock. A library " +
		"on one master cannot notice.",
	checker.TokenRepeated: "The counter's: it is as durable as its server, and that came back, or was replaced, without its last " +
		"increments. Tokens want a store that forgets nothing.",
	checker.TokenWentBack: "The counter's: it is as durable as its server, and that came back, or was replaced, without its last " +
		"increments. Tokens want a store that forgets nothing.",
	checker.HolderOutlivedLease: "The user's care: an extension failed, and the client worked on past the end of its lease. The " +
		"library had returned the error.",
}

// ofLibrary is what is particular to a library.
var ofLibrary = map[string]map[checker.CauseKind]string{
	"redsync": {
		checker.HolderOutlivedLease: "The library's settings, and the user's care: redsync gives a round 5 % of the expiry " +
			"(mutex.go, line 107) and waits for every server (line 291), but go-redis drops the deadline of the context unless " +
			"ContextTimeoutEnabled is set (redis.go, line 1892; default off) and reads for 5 s (options.go, line 741). So one silent " +
			"server of five uses up most of the validity before Lock returns, and a client that does not look at Until outlives it.",
	},
}
