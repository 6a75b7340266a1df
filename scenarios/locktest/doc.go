// Package locktest tests a lock library written in Go, unchanged, on simulated servers, Redis or etcd, and reports
// whether it excludes. A test of ten lines says how the library is opened and which laws it must keep:
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
// First comes a trial run without faults ([Try] makes it alone): can the lock be acquired, is it released, does it wait
// while it is taken, which keys does it use, does anything keep running? If something is wrong there, the test says so
// and makes no other run.
//
// Then several clients take the lock, work, write to a resource and give the lock back, while faults strike at random:
// one run for each seed. A run is judged as every run of Fencepost is (package checker). For each way in which a law is
// broken the test fails with the smallest run that shows it, as text with a timeline; plan, scenario and a page lie in
// the folder that it names, and two commands repeat it. A table of the laws and an index come before the stories: what
// is wrong with the lock's code first, and last what no lock with a lease survives.
//
// # Every single fault
//
// With Config.Every: 1 no fault is drawn. The run of seed 1 without faults is taken apart, and each single fault of it
// tried, as fencepost verify --requests does: each request and each answer lost, and late; each client and each server
// paused, crashed and cut off after each of its events, as far as Config.Faults and Without admit it; each with ends
// that come soon after what they can outlast. The log says what was enumerated, in how many runs, and what was not:
// other seeds, two faults at once, kinds that cannot be enumerated. Two clients that take the lock twice make some
// thousand runs; clients that try again often while they wait make many more. A subtest is named by the number of a
// fault, fault=168, which stands for all its lengths. With -short the first 20 are tried.
//
// If two runs without faults differ, the log says so; only faults that name a message are tried then, and the others
// are counted.
//
// # Flags
//
// go test's own flags do what they say. -run 'TestMyLock/seed=168' makes one run, without the trial. -short makes 20
// runs at most. -v prints how each law came out and, of a single run that breaks nothing, the timeline. -locktest.plan
// FILE runs a plan that a failure has left. -race reports a race as a failure of the seed that shows it, in full.
// -cover counts what the processes of the runs have covered, those excepted that the lock's code brought down or left
// goroutines in. -timeout ends the runs when four fifths of its time are over, and says how many were made. -parallel
// lets tests run at the same time; one process a core makes the runs of all. -fuzz is refused: an input that the fuzzer
// makes has no name by which another process could run it.
//
// # What a pause can stop
//
// A paused client does nothing: its requests, dials and closes wait, and so do its reads, although answers arrive. When
// the pause ends, it finds those and the read deadlines that have passed at once, and the seed decides which it sees
// first, as chance does after SIGSTOP. A pause strikes at any time, or between an answer and the client's next request
// ("pause client-1 for 10s after the answer to its GET"), so that a lock is found that checks and then acts.
//
// Out of reach are windows without a request or an answer at either end: between two instructions, such as a look at
// the clock and the return of Lock. And timers that the library itself sets (time.After, context.WithTimeout) fire
// during a pause; what they lead to waits at the next act on a connection. A lock that only such a window breaks is not
// found.
//
// # Determinism
//
// The test executes its own binary again, one single-threaded process a core, in which goroutines run inside a bubble
// of testing/synctest (package sim/bubble says what that leaves random). Whatever
// stands before Run in the test is executed in each of these processes, with the test's own flags and -short; they end
// with the test, however that ends. crypto/rand and math/rand are seeded for each run. Each seed that fails is run
// twice; if the two runs differ, the failure says so.
//
// Virtual time stands still while a goroutine runs, or is blocked by something other than a channel, a timer, a mutex,
// a sync.Cond or WaitGroup, or a connection of the client: a real socket, a channel from outside. A run that takes a
// minute of processor time (five seconds in the trial), or does nothing for three seconds, is killed. The goroutine
// that holds it up is named; the other seeds go on. Config.Tolerated names those of a library that are known to do so:
// their runs are not judged, but counted. That a wait for a mutex lets time pass takes a change of a table in Go's
// runtime, in the processes that make the runs (package sim/bubble), and works with Go 1.26 and 1.27. With a version
// that is not known there, the test ends at the first run that a mutex stops, and says so.
//
// A goroutine that a run leaves behind can reach no other run: its connections are closed, and every dial fails. When
// there are many, the process is ended and another goes on with the seeds that are left. On Linux (amd64, arm64) the
// processes of the runs can connect to nothing outside: a lock that is not given the client's DialContext reaches no
// server of this host.
package locktest
