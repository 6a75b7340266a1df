// Package locktest tests a lock library written in Go, unchanged, against simulated servers (Redis, etcd, ZooKeeper or
// Kubernetes). It reports whether the lock excludes. A test of ten lines says how to open the library and which laws it
// must keep:
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Config{
//			Servers: locktest.Redis(5), TTL: 8 * time.Second, Faults: locktest.Pauses,
//			New: func(c *locktest.Client) (locktest.Lock, error) {
//				var pools []redis.Pool
//				for _, addr := range c.Addrs {
//					pools = append(pools, goredis.NewPool(goredislib.NewClient(
//						&goredislib.Options{Addr: addr, Dialer: c.DialContext})))
//				}
//				mutex := redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(8*time.Second))
//				return lock{mutex}, nil
//			},
//		})
//	}
//
// Here lock has the methods of [Lock]. If the library can do more, the Lock shows it by implementing [Expiring],
// [LossNotifier], [Fenced], [Extender] or [io.Closer]. [Precautions] says how the user of the lock protects itself.
//
// The test begins with a trial run without faults ([RunTrial] makes it alone). It checks whether the lock can be
// acquired, whether it is released, whether it waits while another client has it, which keys it uses, and whether
// anything keeps running after the end. If something is wrong, the test says so and makes no other run.
//
// Then several clients acquire the lock, work, write to a resource and release the lock, while faults strike at random.
// There is one run for each seed. Package checker judges each run, as it judges every run of Fencepost. For each way in
// which a law is broken, the test fails with the smallest run that shows it, as text with a timeline. It names a folder
// with the plan, the scenario and a page, and two commands that repeat the run. A table of the laws and an index of the
// findings come first. The findings begin with faults in the lock's own code and end with what no lock with a lease
// survives.
//
// # Every single fault
//
// With Config.EachFault no fault is drawn at random. Instead, each single fault of one run is tried, as fencepost
// verify --requests does; the run is that of seed 1 without faults. Each request and each answer is lost, and is late.
// Each client and each server is paused, crashed and cut off after each of its events, as far as Config.Faults and
// Without permit. Each such fault ends at several times, soon after whatever it can outlast. The log says what was
// enumerated, in how many runs, and what was left out: other seeds, two faults at once, kinds that cannot be
// enumerated. Two clients that acquire the lock twice make some thousand runs; clients that try again often while they
// wait make many more. The name of a subtest has the number of a fault: fault=168 stands for one start and target of
// the fault, with all its lengths. With -short the first 20 are tried.
//
// If two runs without faults differ, the log says so. Then only faults that name a message are tried, and the others
// are counted.
//
// # Flags
//
// The flags of go test mean what they usually do. -run 'TestMyLock/seed=168' makes one run, without the trial run.
// -short makes at most 20 runs. -v prints the outcome of each law and, for a single run that breaks nothing, the
// timeline. -locktest.plan FILE runs the plan that a failure has saved. -race reports a race as a failure of the seed
// that shows it, in full. -cover counts the code covered in the processes of the runs, except in processes that the
// lock's code ended or left goroutines in. -timeout ends the runs after four fifths of its time, and the test says how
// many were made. -parallel runs tests at the same time; they share one process per core for their runs. -fuzz is
// refused: another process could not run an input of the fuzzer, since such an input has no name.
//
// # What a pause can stop
//
// A paused client does nothing. Its requests, dials and closes wait, and so do its reads, even if answers arrive. When
// the pause ends, the answers and the read deadlines that have passed are all there at once, and the seed decides which
// the client sees first. After a SIGSTOP, chance decides that. A pause strikes at any time, or between an answer and
// the client's next request ("pause client-1 for 10s after the answer to its GET"). So it finds a lock that first
// checks and then acts.
//
// A pause cannot strike in a window that has no request or answer at either end, that is, between two instructions,
// such as a look at the clock and the return of Lock. Also, timers that the library itself sets (time.After,
// context.WithTimeout) fire during a pause; what follows from them waits at the next use of a connection. A lock that
// breaks only in such a window is not found.
//
// # Determinism
//
// The test executes its own binary again, in one single-threaded process per core. Goroutines in it run in a bubble of
// testing/synctest; package sim/bubble says what remains random then. Each of these processes also executes the code
// that stands before Run in the test, with the test's own flags and -short. They end with the test, however it ends.
// crypto/rand and math/rand are seeded for each run. Each seed that fails is run twice; if the two runs differ, the
// failure says so.
//
// Virtual time stands still while a goroutine runs. It also stands still while a goroutine is blocked by anything but a
// channel or a timer of the run, a mutex, a sync.Cond or WaitGroup, or a connection of the client: for example, by a
// real socket or a channel from outside. A run is killed if it takes a minute of processor time (five seconds in the
// trial run), or if it does nothing for three seconds. The report names the goroutine that holds it up, and the other
// seeds go on. Config.IgnoredGoroutines names goroutines of a library that are known to do so; their runs are counted
// but not judged. For virtual time to pass while a goroutine waits for a mutex, the processes of the runs change a
// table of Go's runtime (package sim/bubble). That works with Go 1.26 and 1.27. With another version, the test ends at
// the first run that a mutex stops, and says so.
//
// A goroutine that a run leaves behind cannot affect another run: its connections are closed, and every dial fails.
// When there are many such goroutines, the process ends, and another goes on with the remaining seeds. On Linux (amd64,
// arm64) the processes of the runs cannot connect to anything outside. A lock that does not use the client's
// DialContext therefore reaches no server of this host.
//
// # Compatibility
//
// The exported names of this package follow semantic versions. Before 1.0 an exported name may change in a minor
// version, and the release notes say so. From 1.0 on, none changes within a major version. Fields may be added to
// structs in any minor version, so a test should write a Config with the names of its fields.
//
// Runs of equal seeds are equal only within one version of this module: another version may draw other faults for a
// seed. The text of reports, stories and errors is not part of the promise either: a test that needs a result takes it
// from [Report], not from text.
package locktest
