// Package locktest puts a lock library written in Go, unchanged, before simulated Redis servers and reports whether it
// excludes. A test of ten lines says how the library is opened and what it must keep:
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Config{
//			Servers: locktest.Redis(5), TTL: 8 * time.Second, Faults: locktest.Pauses,
//			New: func(c *locktest.Client) locktest.Lock {
//				var pools []redis.Pool
//				for _, addr := range c.Addrs {
//					pools = append(pools, goredis.NewPool(goredislib.NewClient(
//						&goredislib.Options{Addr: addr, Dialer: c.DialContext})))
//				}
//				return mutex{redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(8*time.Second))}
//			},
//		})
//	}
//
// where mutex has the methods Lock and Unlock of [Lock], with a context. What else the library can do, the Lock says by
// implementing [Untiler], [Loser], [Tokener], [Extender] or [Closer]; what its user does about the lock is [Care].
//
// Several clients take the lock, work, write to a resource and give the lock back, while faults strike at random: one
// run for each seed. A run is judged as every run of Fencepost is (package checker). For each way in which a law is
// broken the test fails with the smallest run that shows it, as text with a timeline; plan, scenario and a page lie in
// the folder that it names, and two commands repeat it.
//
// # Flags
//
// go test's own flags do what they say. -run 'TestMyLock/seed=168' makes one run. -short makes 20 runs at most. -v
// prints how each law came out. -locktest.plan FILE runs a plan that a failure has left. -race reports a race as a
// failure of the seed that shows it. -cover counts what the processes of the runs have covered, those excepted that the
// lock's code brought down. -timeout ends the runs when four fifths of its time are over, and says how many were made.
// -parallel lets tests run at the same time; one process a core makes the runs of all. -fuzz is refused: an input that
// the fuzzer makes has no name by which another process could run it.
//
// # Determinism
//
// The test executes its own binary again, one single-threaded process a core, in which goroutines run inside a bubble
// of testing/synctest (package sim/bubble says what that leaves random, and what a pause or a crash can stop). Whatever
// stands before Run in the test is executed in each of these processes. crypto/rand and math/rand are seeded for each
// run. Each seed that fails is run twice; if the two runs differ, the failure says so.
//
// Virtual time stands still while a goroutine runs, or is blocked by something other than a channel, a timer, a
// sync.Cond or WaitGroup, or a connection of the client: a mutex, a real socket, a channel from outside. A run that
// takes a minute of processor time, or does nothing for three seconds, is killed, and the goroutines that hold it up
// are named; the other seeds go on.
package locktest
