package checker

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// deciding lists histories in which a single event decides which remedy helps. It shows how long requests took, how
// long a client kept asking, whose clock was set, or what the resource accepted. The lock's settings do not decide it:
// they are the same in adjacent histories.
var deciding = []struct {
	name        string
	law         Law
	cause       CauseKind
	text        string
	gives, says []string // must be in the remedy; must be in the explanation
	lacks       []string // must not be in the remedy
}{
	// A client that asks for a Kubernetes lock measures another client's lease from the time it started asking.
	{"gives up within a lease", DeadlockFreedom, StuckWithoutHolder, `
header servers=kubernetes-1 quorum=1 ttl=10s hold=1s service=kubernetes measures=seen-lease,looks-again end=60s
0s client-1 acquire invoke
1ms kubernetes-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
1s client-1 release invoke
1s client-1 release ok
2s client-2 acquire invoke
2.15s client-2 acquire fail
10s client-2 acquire invoke
10.1s client-2 acquire fail
19s client-2 acquire invoke
19.15s client-2 acquire fail
28s client-2 acquire invoke
28.15s client-2 acquire fail
`, []string{"keep asking for longer than a lease lasts"}, []string{"lasted longer than 0.150 s, which is less than the TTL"},
		[]string{"round trip"}},
	{"asks for longer than a lease", DeadlockFreedom, StuckWithoutHolder, `
header servers=kubernetes-1 quorum=1 ttl=10s hold=1s service=kubernetes measures=seen-lease,looks-again end=60s
0s client-1 acquire invoke
1ms kubernetes-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
1s client-1 release invoke
1s client-1 release ok
2s client-2 acquire invoke
`, []string{"round trip"}, nil, []string{"keep asking for longer"}},
	{"removed by a request that compared a value which it had read from the key", Ownership, RemovedByNonOwner, `
header servers=redis-1 quorum=1 ttl=10s service=redis measures=expiry,own-value,owner-check end=60s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
10.001s redis-1 key-gone of=client-1/1 why=expired
11s client-2 acquire invoke
11.1s redis-1 key-set of=client-2/1 until=21.1s
11.2s client-2 acquire ok until=20s
12s redis-1 key-gone of=client-2/1 by=client-1/1 why=deleted checked=value
`, []string{"the value that this acquisition"}, nil, []string{"random value", "after comparing"}},
	// This is the same lock, but its clients are woken only by messages. Slow requests also delay a client that asks
	// again.
	{"woken by messages, with quick requests", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis measures=expiry end=60s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
1s client-1 release invoke
1s redis-1 key-gone of=client-1/1 by=client-1/1 why=deleted
1s client-1 release ok
2s client-2 acquire invoke
`, []string{"Ask again"}, nil, []string{"round trip"}},
	{"woken by messages, with slow requests", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis measures=expiry end=60s
0s client-1 acquire invoke
2s redis-1 key-set of=client-1/1 until=12s
4s client-1 acquire ok until=12s since=0s granted=4s
5s client-1 release invoke
7s redis-1 key-gone of=client-1/1 by=client-1/1 why=deleted
9s client-1 release ok
10s client-2 acquire invoke
`, []string{"round trip"}, nil, []string{"Ask again"}},
	{"woken by messages, and nobody ever got the lock", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis measures=expiry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
12.1s redis-1 key-gone of=client-2/1 why=expired
13s redis-1 key-set of=client-2/2 until=23s
23s redis-1 key-gone of=client-2/2 why=expired
`, []string{"round trip"}, nil, []string{"Ask again"}},
	{"an even vote, with quick requests", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry,looks-again end=60s
0s client-1 acquire invoke
1ms redis-1,redis-2 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
1s client-1 release invoke
1s redis-1,redis-2 key-gone of=client-1/1 by=client-1/1 why=deleted
1s client-1 release ok
2s client-2 acquire invoke
2s client-3 acquire invoke
`, []string{"Retry after a random delay"}, nil, []string{"round trip"}},
	{"an even vote, with slow requests", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry,looks-again end=60s
0s client-1 acquire invoke
2s redis-1,redis-2 key-set of=client-1/1 until=12s
4s client-1 acquire ok until=12s since=0s granted=4s
5s client-1 release invoke
7s redis-1,redis-2 key-gone of=client-1/1 by=client-1/1 why=deleted
9s client-1 release ok
10s client-2 acquire invoke
10s client-3 acquire invoke
`, []string{"round trip"}, nil, []string{"random"}},
	// The clients wait for random times between attempts. A failed attempt leaves keys on some of the servers. In this
	// history, the keys are deleted; in the next one, they expire.
	{"partial locks are deleted one after the other", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry,random-retry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
2.2s redis-1 key-gone of=client-2/1 by=client-2/1 why=deleted
2.3s redis-2 key-set of=client-2/2 until=12.3s
2.4s redis-2 key-gone of=client-2/2 by=client-2/2 why=deleted
`, []string{"partial locks on every server immediately"}, nil, []string{"that did not succeed"}},
	{"partial locks are left to expire", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry,random-retry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
12.1s redis-1 key-gone of=client-2/1 why=expired
12.3s redis-2 key-set of=client-2/2 until=22.3s
22.3s redis-2 key-gone of=client-2/2 why=expired
`, []string{"even after an attempt that did not succeed"}, nil, []string{"partial locks"}},
	{"partial locks are left to expire, at fixed intervals", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
12.1s redis-1 key-gone of=client-2/1 why=expired
12.3s redis-2 key-set of=client-2/2 until=22.3s
22.3s redis-2 key-gone of=client-2/2 why=expired
`, []string{"even after an attempt that did not succeed"}, nil, []string{"random", "partial locks"}},
	{"partial locks are deleted, at fixed intervals", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 quorum=2 ttl=10s hold=1s slack=1s service=redlock measures=expiry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
2.2s redis-1 key-gone of=client-2/1 by=client-2/1 why=deleted
2.3s redis-2 key-set of=client-2/2 until=12.3s
2.4s redis-2 key-gone of=client-2/2 by=client-2/2 why=deleted
`, []string{"Retry after a random delay"}, nil, []string{"that did not succeed"}},
	// A key that is extended forever already has an expiry, so giving it one would not help.
	{"a hold that never ends", DeadlockFreedom, StuckBehindUncapped, `
header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis measures=own-value uncapped end=60s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
2s client-2 acquire invoke
`, []string{"Limit how often one hold"}, nil, []string{"Give every lock an expiry"}},
	// Slewing helps only if server clocks were set.
	{"the clock of a server was set", FaultTolerance, ReleaseRefused, `
header clients=client-1 servers=redis-1 quorum=1 ttl=10s bound=3s service=redis measures=expiry
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=9s
2s fault redis-1: jump redis-1 clock by +9s at 2s
2s redis-1 key-gone of=client-1/1 why=expired
3s client-1 release invoke
3.01s client-1 release fail why=not_owner
`, []string{"servers' wall clocks"}, nil, []string{"PXAT"}},
	{"the clock of a client was set", FaultTolerance, ReleaseRefused, `
header clients=client-1 servers=redis-1 quorum=1 ttl=10s bound=3s service=redis measures=expiry
1s fault client-1: jump client-1 clock by -9s at 1s
2s client-1 acquire invoke
2.001s redis-1 key-set of=client-1/1 until=12s
2.002s client-1 acquire ok until=12s
2.5s redis-1 key-gone of=client-1/1 why=expired
3s client-1 release invoke
3.01s client-1 release fail why=not_owner
`, []string{"PXAT"}, []string{"does not occur without \"jump client-1"}, []string{"servers' wall clocks"}},
	// A holder cannot renew while its server is down.
	{"waited for another lock", MutualExclusion, WaitedForOther, `
header servers=redis-1 quorum=1 ttl=10s service=redis measures=expiry
0s client-1 acquire invoke
4ms client-1 acquire ok until=10s
5s client-1 acquire invoke lock=stock
11s client-2 acquire invoke
11.1s client-2 acquire ok until=21s
12s client-1 acquire ok lock=stock until=22s
13s client-1 release invoke attempt=client-1/1
`, []string{"Keep renewing a lock while waiting"}, nil, nil},
	{"waited for another lock while the server was down", MutualExclusion, WaitedForOther, `
header servers=redis-1 quorum=1 ttl=10s service=redis measures=expiry
0s client-1 acquire invoke
4ms client-1 acquire ok until=10s
5s client-1 acquire invoke lock=stock
6s fault redis-1: shut down redis-1 at 6s, restart after 5s
11s fault-ends redis-1: shut down redis-1 at 6s, restart after 5s
11s client-2 acquire invoke
11.1s client-2 acquire ok until=21s
12s client-1 acquire ok lock=stock until=22s
13s client-1 release invoke attempt=client-1/1
`, []string{"one fixed order"}, nil, []string{"Keep renewing a lock while waiting"}},
	// If a holder was waiting for something else, it does not matter what a member had on its disk.
	{"waited for another lock while the only member lost its disk", MutualExclusion, WaitedForOther, `
header servers=etcd-1 quorum=1 ttl=10s service=etcd measures=expiry,renewal
0s client-1 acquire invoke
4ms client-1 acquire ok until=10s
5s client-1 acquire invoke lock=stock
6s fault etcd-1: crash etcd-1 losing everything at 6s, restart after 5s
11s fault-ends etcd-1: crash etcd-1 losing everything at 6s, restart after 5s
11s client-2 acquire invoke
11.1s client-2 acquire ok until=21s
12s client-1 acquire ok lock=stock until=22s
13s client-1 release invoke attempt=client-1/1
`, []string{"one fixed order"}, nil, []string{"three members"}},
	// A resource that compares values accepts a superseded holder's write if that holder read the value before the
	// other holder wrote.
	{"stayed inside, and wrote nothing more", MutualExclusion, HolderOutlivedLease, `
header servers=redis-1 quorum=1 ttl=10s service=redis measures=expiry,renewal,compared-writes
0s client-1 acquire invoke
4ms client-1 acquire ok until=10s
11s client-2 acquire invoke
11.1s client-2 acquire ok until=21s
11.2s resource apply op=read of=client-2/1
13s client-1 release invoke attempt=client-1/1
`, []string{"The resource already guards the data"}, nil, []string{"Send a fencing token"}},
	{"stayed inside, and wrote", MutualExclusion, HolderOutlivedLease, `
header servers=redis-1 quorum=1 ttl=10s service=redis measures=expiry,renewal,compared-writes
0s client-1 acquire invoke
4ms client-1 acquire ok until=10s
5s resource apply op=read of=client-1/1
11s client-2 acquire invoke
11.1s client-2 acquire ok until=21s
11.2s resource apply op=read of=client-2/1
12s resource apply op=write of=client-1/1 value=x
13s client-1 release invoke attempt=client-1/1
`, []string{"Send a fencing token"}, nil, []string{"already guards the data"}},
	// Nobody has got the lock because replies are arriving too late. The message that should wake a waiter may be lost
	// as well.
	{"woken by messages, nobody ever got the lock, and the server crashed", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1 quorum=1 ttl=10s hold=1s slack=1s service=redis measures=expiry end=60s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
3s fault redis-1: crash redis-1 losing everything at 3s, restart after 1s
4s redis-1 key-gone of=client-2/1 why=lost_in_crash_(disk_lost)
4s fault-ends redis-1: crash redis-1 losing everything at 3s, restart after 1s
13s redis-1 key-set of=client-2/2 until=23s
23s redis-1 key-gone of=client-2/2 why=expired
`, []string{"much more than a round trip, because these requests are slow"}, nil,
		[]string{"no fault delays these requests."}},
	// Redlock's attempts get a quorum quickly, but then wait for a server that is down until the lease has ended. They
	// do not leave anything behind that a release could free, and the network is fast.
	{"a quorum in time, but for a server that is down", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2,redis-3 quorum=2 ttl=10s hold=2s service=redlock measures=random-retry end=60s
1s fault redis-3: shut down redis-3 at 1s
2s client-2 acquire invoke
2.1s redis-1,redis-2 key-set of=client-2/1 until=12.1s
12.1s redis-1,redis-2 key-gone of=client-2/1 why=expired
15s redis-1,redis-2 key-set of=client-2/2 until=25s
25s redis-1,redis-2 key-gone of=client-2/2 why=expired
`, []string{"Give each server a timeout"}, nil, []string{"round trip", "that did not succeed"}},
	{"no quorum, and a server that is down", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2,redis-3 quorum=2 ttl=10s hold=2s service=redlock measures=random-retry end=60s
1s fault redis-3: shut down redis-3 at 1s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
12.1s redis-1 key-gone of=client-2/1 why=expired
15s redis-2 key-set of=client-2/2 until=25s
25s redis-2 key-gone of=client-2/2 why=expired
`, []string{"that did not succeed"}, nil, []string{"round trip"}},
	// A client waits for all replicas, including one that does not know which server is its master, because the
	// Sentinel could not tell it.
	{"a replica that is cut off from the Sentinel", DeadlockFreedom, StuckWithoutHolder, `
header servers=redis-1,redis-2 shards=redis-1+redis-2 quorum=1 ttl=10s service=redis measures=looks-again,wait end=60s
1s fault redis-2,sentinel-1: cut redis-2 -> sentinel-1 at 1s
2s client-2 acquire invoke
2.1s redis-1 key-set of=client-2/1 until=12.1s
3.1s redis-1 key-gone of=client-2/1 by=client-2/1 why=deleted
`, []string{"no more replicas than are left"}, nil, []string{"round trip"}},
	// A waiter that eventually gets the lock must have been asking for it then. Its longest gap between requests shows
	// how long it was not asking.
	{"no request until late", DeadlockFreedom, StuckWithoutHolder, `
header servers=zk quorum=1 ttl=8s hold=1s service=zookeeper unknown=short-timeout asked=client-1@57s quiet=client-1@0s..53s
0s client-1 acquire invoke
53s zk key-set of=client-1/1 until=never
53.1s client-1 acquire ok
57s client-1 release invoke
`, []string{"for each connection attempt"}, []string{"No request of client-1 for the lock reached a server until 53.000 s"},
		[]string{"what else keeps the lock taken"}},
	{"requests all the time", DeadlockFreedom, StuckWithoutHolder, `
header servers=zk quorum=1 ttl=8s hold=1s service=zookeeper unknown=short-timeout asked=client-1@57s quiet=client-1@20s..21s
0s client-1 acquire invoke
53s zk key-set of=client-1/1 until=never
53.1s client-1 acquire ok
57s client-1 release invoke
`, []string{"what else keeps the lock taken"}, []string{"reached the servers, and no server had a key for the lock"},
		[]string{"for each connection attempt"}},
	{"requests, and nobody knows when", DeadlockFreedom, StuckWithoutHolder, `
header servers=zk quorum=1 ttl=8s hold=1s service=zookeeper unknown=short-timeout asked=client-1@57s
0s client-1 acquire invoke
53s zk key-set of=client-1/1 until=never
53.1s client-1 acquire ok
57s client-1 release invoke
`, nil, nil, []string{"for each connection attempt", "what else keeps the lock taken"}},
	// The first key was set by the first acquire, whose request took three seconds to arrive.
	{"the request of an acquire that had ended", FaultTolerance, TooSlow, `
header clients=client-1,client-2 servers=redis-1 quorum=1 ttl=3s bound=3s service=redis measures=expiry,looks-again
0s client-1 acquire invoke
2.5s client-1 acquire fail why=timeout
2.6s client-1 acquire invoke
2.7s redis-1 key-set of=client-1/1 until=5.7s
5.1s client-1 acquire fail why=timeout
5.7s redis-1 key-gone of=client-1/1 why=expired
20s client-2 acquire invoke
22.5s client-2 acquire fail why=timeout
`, []string{"round trip"}, nil, []string{"keep asking for longer"}},
	{"the request of the acquire itself", FaultTolerance, TooSlow, `
header clients=client-1,client-2 servers=redis-1 quorum=1 ttl=3s bound=3s service=redis measures=expiry,looks-again
2.6s client-1 acquire invoke
2.7s redis-1 key-set of=client-1/1 until=5.7s
5.1s client-1 acquire fail why=timeout
5.7s redis-1 key-gone of=client-1/1 why=expired
20s client-2 acquire invoke
22.5s client-2 acquire fail why=timeout
`, []string{"keep asking for longer"}, nil, []string{"round trip"}},
	// In a queue, a client that has given up keeps others waiting if its place remains.
	{"a place that was left delays the next client", FaultTolerance, TooSlow, `
header servers=redis-1 quorum=1 bound=3s ttl=10s service=redis order=100ms/5s measures=expiry,short-timeout end=30s
0s client-3 acquire invoke
1ms redis-1 key-set of=client-3/1 until=10.001s
2ms client-3 acquire ok until=10s
1s client-1 acquire invoke
2s client-3 release invoke
2s redis-1 key-gone of=client-3/1 by=client-3/1 why=deleted
2.001s client-3 release ok
3s client-1 acquire fail why=timeout
20s client-2 acquire invoke
25s redis-1 key-set of=client-2/1 until=35s
25.001s client-2 acquire ok until=35s
`, []string{"Remove a client's place"}, nil, []string{"round trip", "keep asking for longer"}},
	{"no place was left", FaultTolerance, TooSlow, `
header servers=redis-1 quorum=1 bound=3s ttl=10s service=redis order=100ms/5s end=30s measures=short-timeout,left-places
0s client-3 acquire invoke
1ms redis-1 key-set of=client-3/1 until=10.001s
2ms client-3 acquire ok until=10s
1s client-1 acquire invoke
2s client-3 release invoke
2s redis-1 key-gone of=client-3/1 by=client-3/1 why=deleted
2.001s client-3 release ok
3s client-1 acquire fail why=timeout
20s client-2 acquire invoke
25s redis-1 key-set of=client-2/1 until=35s
25.001s client-2 acquire ok until=35s
`, []string{"round trip"}, nil, []string{"Remove a client's place"}},
	{"a clock was set back, so that a place lasted longer", Fairness, LeftFree, `
header servers=redis-1 quorum=1 ttl=10s service=redis order=100ms/30s measures=expiry end=60s
0s client-1 acquire invoke
1s client-1 acquire ok until=10s
2s client-2 acquire invoke
3s fault redis-1: jump redis-1 clock by -60s at 3s
4s client-1 release invoke
4s client-1 release ok
`, []string{"from jumping"}, nil, []string{"Give each place"}},
	{"a watchdog goes on after its holder has left", Fairness, LeftFree, `
header servers=redis-1 quorum=1 ttl=2s service=redis order=100ms/10s measures=expiry,renewed-places,left-places end=60s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=2.001s
2ms client-1 acquire ok until=2s
1s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=3s
1.5s client-1 release invoke
1.6s client-1 release info why=no_reply
2s client-2 acquire invoke
2.5s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=4.5s
4s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=6s
5.5s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=7.5s
7s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=9s
8.5s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=10.5s
10s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=12s
11.5s redis-1 key-prolonged of=client-1/1 by=client-1/1 until=60s
`, []string{"Stop renewing a lock"}, nil, []string{"round trip", "Give each place"}},
	{"the clock was not set", Fairness, LeftFree, `
header servers=redis-1 quorum=1 ttl=10s service=redis order=100ms/30s measures=expiry end=60s
0s client-1 acquire invoke
1s client-1 acquire ok until=10s
2s client-2 acquire invoke
4s client-1 release invoke
4s client-1 release ok
`, []string{"Give each place"}, nil, []string{"from jumping"}},
	// A release did not return within the bound, because its request reached the server late or never.
	{"the key goes later", FaultTolerance, ReleaseWithoutEffect, `
header servers=redis-1 quorum=1 bound=3s ttl=10s service=redis measures=expiry end=30s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=10s
1s client-2 acquire invoke
4s client-1 release invoke
8s redis-1 key-gone of=client-1/1 by=client-1/1 why=deleted
9s client-1 release ok
`, []string{"round trip"}, nil, []string{"Let the release delete"}},
	{"the key stays", FaultTolerance, ReleaseWithoutEffect, `
header servers=redis-1 quorum=1 bound=3s ttl=10s service=redis measures=expiry end=30s
0s client-1 acquire invoke
1ms redis-1 key-set of=client-1/1 until=10.001s
2ms client-1 acquire ok until=10s
1s client-2 acquire invoke
4s client-1 release invoke
9s client-1 release ok
10.001s redis-1 key-gone of=client-1/1 why=expired
`, []string{"Let the release delete"}, nil, []string{"round trip"}},
	// A client is waiting behind a key set by one of its own earlier requests. The answer to that request may have been
	// lost, and the client may not have asked again since.
	{"waits behind its own node", FaultTolerance, TooSlow, `
header clients=client-1 servers=zookeeper-1 quorum=1 ttl=10s bound=3s service=zookeeper measures=expiry end=60s
1s client-1 acquire invoke
1.1s zookeeper-1 key-set of=client-1/1 member=lock-1 until=never
1.2s zookeeper-1 key-set of=client-1/1 member=lock-2 until=never
`, []string{"look for an existing node", "undo what it may have done"},
		[]string{"A key that client-1 itself had set at 1.100 s on zookeeper-1"}, []string{"timeout"}},
	{"asks again after its own key was set", FaultTolerance, TooSlow, `
header clients=client-1 servers=redis-1 quorum=1 ttl=10s bound=3s service=redis measures=expiry asked=client-1@3s end=60s
1s client-1 acquire invoke
1.1s redis-1 key-set of=client-1/1 until=11.1s
`, []string{"undo what it may have done"}, []string{"client-1 asked again"}, []string{"timeout"}},
	{"does not ask again after its own key was set", FaultTolerance, TooSlow, `
header clients=client-1 servers=redis-1 quorum=1 ttl=10s bound=3s service=redis measures=expiry asked=client-1@1100ms end=60s
1s client-1 acquire invoke
1.1s redis-1 key-set of=client-1/1 until=11.1s
`, []string{"timeout far below the TTL"}, nil, []string{"undo what it may"}},
	// The same token may come from two masters, or from a single master whose counter is shared by all grants.
	{"tokens of two masters", TokenOrder, TokenRepeated, `
header servers=redis-1,redis-2 shards=redis-1+redis-2 quorum=1 ttl=10s service=redis measures=expiry,grant-token
1s fault redis-1,redis-2: fail over redis-1 to redis-2 at 1s
2s client-1 acquire invoke
2.1s redis-1 key-set of=client-1/1 until=12s
2.2s client-1 acquire ok until=12s token=7 counted=redis-1
3s client-2 acquire invoke
3.1s redis-2 key-set of=client-2/1 until=13s
3.2s client-2 acquire ok until=13s token=7 counted=redis-2
`, []string{"consensus service"}, []string{"two masters issued tokens", "fail over redis-1"}, nil},
	{"tokens of one master", TokenOrder, TokenRepeated, `
header servers=redis-1,redis-2 shards=redis-1+redis-2 quorum=1 ttl=10s service=redis measures=expiry
2s client-1 acquire invoke
2.1s redis-1 key-set of=client-1/1 until=12s
2.2s client-1 acquire ok until=12s token=7 counted=redis-1
3s client-2 acquire invoke
3.1s redis-1 key-set of=client-2/1 until=13s
3.2s client-2 acquire ok until=13s token=7 counted=redis-1
`, []string{"Issue a token"}, nil, []string{"consensus service"}},
}

func TestRemediesFollowWhatHappened(t *testing.T) {
	var checker Checker
	for _, c := range deciding {
		t.Run(c.name, func(t *testing.T) {
			h := fromLog(t, c.text)
			if len(h.Header.Locks) == 0 {
				h.Header.Locks = []history.Lock{"orders", "stock"}
			}
			f := checker.CheckOnly(h, []Law{c.law}).Findings[0]
			var needed []int // indexes of all faults
			for i := range h.Events {
				if e := &h.Events[i]; e.Process == history.Nemesis && e.Type == history.Invoke {
					needed = append(needed, i)
				}
			}
			f = checker.CheckKnowing(h, &f, Known{Needed: needed})
			if f.Outcome != Violated || f.Cause.Kind != c.cause {
				t.Fatalf("%v by %v, want violated by %s\n%s", f.Outcome, f.Cause, c.cause, f.Explanation)
			}
			for _, words := range c.gives {
				if !strings.Contains(f.Remedy, words) {
					t.Errorf("%q is not advised: %s", words, f.Remedy)
				}
			}
			for _, words := range c.lacks {
				if strings.Contains(f.Remedy, words) {
					t.Errorf("%q is advised: %s", words, f.Remedy)
				}
			}
			for _, words := range c.says {
				if !strings.Contains(f.Explanation, words) {
					t.Errorf("%q is not said: %s", words, f.Explanation)
				}
			}
		})
	}
}
