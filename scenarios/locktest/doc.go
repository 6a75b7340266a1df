// Package locktest tests an unmodified lock library, written in Go, against simulated servers (Redis, etcd, ZooKeeper,
// Kubernetes or Consul). It reports whether the lock upholds its laws, such as mutual exclusion. A ten-line test
// specifies how to open the library and which laws the lock must uphold:
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
// Here lock has the methods of [Lock]. If the library can do more, the lock also implements [Expiring], [LossNotifier],
// [Fenced], [Sharer], [Extender], [TaskLock] or [io.Closer]. [Precautions] describes how the client protects itself.
//
// The test begins with a fault-free trial run ([RunTrial] performs only this run). It checks whether the lock can be
// acquired, whether it is released, whether it waits while another client holds it, which keys it uses, and whether
// anything keeps running afterwards. If something is wrong, the test reports it and stops there.
//
// Then several clients acquire the lock, work, write to a resource and release the lock, while faults strike at random.
// There is one run for each seed. Package checker judges each run, as it judges every Fencepost run. For each distinct
// violation, the test fails and prints the smallest run that shows it, with a timeline. It names a folder that contains
// the plan, the scenario and an HTML page, and two commands that repeat the run. The output begins with a table of the
// laws and an index of the findings. In the index, failures of the lock's own code come first, and violations that no
// lock with a lease can prevent come last.
//
// # Every single fault
//
// With Config.EachFault, no faults are drawn at random. Instead, the test adds each possible fault to the fault-free
// run with seed 1, one fault per run, like fencepost verify --requests. Each request and each answer is lost and, in
// another run, delayed. Each client and each server is paused, crashed and cut off after each of its events, as far as
// Config.Faults and Config.Without permit it. Each such fault is tried with several durations: it ends soon after each
// timeout or lease that it can outlast. The log says what was enumerated, in how many runs, and what was left out:
// other seeds, two faults at once, and kinds of faults that cannot be enumerated. If two clients acquire the lock twice
// each, this takes a few thousand runs. If clients retry often while they are waiting, it takes many more. A subtest's
// name contains a fault number: fault=168 stands for a fault with one particular start and target, and with all its
// durations. With -short, only the first 20 are tried.
//
// If two fault-free runs differ, the log says so. Then only faults that name a message are tried, and the others are
// counted.
//
// # Flags
//
// The go test flags have their usual meanings. -run 'TestMyLock/seed=168' performs one run, without the trial run. With
// -short, there are at most 20 runs. -v prints each law's outcome and, for a single run that breaks nothing, the
// timeline. -locktest.plan FILE runs a plan that was saved after a failure. -race reports each race in full, as a
// failure of the seed that shows it. -cover includes the code that is executed in the processes that perform the runs.
// It omits a process if the lock's code ended it or left goroutines behind. The runs end after 80% of the time set by
// -timeout, and the test reports how many runs it made. -parallel runs tests at the same time; they share one process
// per core for their runs. -fuzz is rejected, because the runs take place in other processes, which cannot repeat the
// fuzzer's inputs.
//
// # What a pause can stop
//
// A paused client does nothing. Its requests, dials and closes wait, and so do its reads, even if answers arrive. When
// the pause ends, all answers and all read deadlines that have passed take effect at once, and the seed decides which
// the client sees first. On a real machine, the order after a SIGSTOP is random. A pause begins at a random time, or
// between an answer and the client's next request ("pause client-1 for 10s after the answer to its GET"). A pause of
// the second kind exposes a lock that first checks and then acts.
//
// A pause cannot begin between two instructions if there is no request or answer between them, for example between
// reading the clock and returning from Lock. A lock that fails only if it is paused there is not found. Also, timers
// that the library itself sets (time.After, context.WithTimeout) fire during a pause. The code that they start then
// waits when it next uses a connection.
//
// # Determinism
//
// The test executes its own binary again, in one single-threaded process per core. A run's goroutines are in a
// testing/synctest bubble; package sim/bubble says what remains random in such a bubble. Each of these processes also
// executes the code that precedes Run in the test, with the test's own flags and -short. The processes end when the
// test ends, even if it ends abnormally. crypto/rand and math/rand are seeded for each run. Each seed that fails is run
// twice; if the two runs differ, the failure says so.
//
// Virtual time stands still while a goroutine is running. It also stands still while a goroutine is blocked by anything
// other than one of the run's channels or timers, a mutex, a sync.Cond or WaitGroup, or one of the client's
// connections: for example, by a real socket or a channel that was created outside the run. A run is killed if it takes
// a minute of processor time (five seconds in the trial run), or if it does nothing for three seconds. The report names
// the goroutine that is blocking it, and the other seeds continue. Config.IgnoredGoroutines names a library's
// goroutines that are known to block; their runs are counted but not judged. To let virtual time pass while a goroutine
// is waiting for a mutex, the processes that perform the runs modify a table in Go's runtime (package sim/bubble). That
// works with Go 1.26 and 1.27. With other versions, the test ends at the first run in which waiting for a mutex stops
// virtual time, and says why.
//
// A goroutine that a run leaves behind cannot affect another run: its connections are closed, and every dial fails.
// When there are many such goroutines, the process ends, and another one continues with the remaining seeds. On Linux
// (amd64, arm64), the processes that perform the runs cannot connect to anything outside. So a lock that does not use
// the client's DialContext cannot reach a server on this host.
//
// # Compatibility
//
// This package's exported names follow semantic versioning. Before 1.0, an exported name may change in a minor version,
// and the release notes say so. From 1.0 on, exported names do not change within a major version. Fields may be added
// to structs in any minor version, so a test should write a Config with field names.
//
// Runs with the same seed are the same only within one version of this module: another version may draw other faults
// for a seed. The wording of reports, stories and errors is not covered either: a test that needs a result should take
// it from [Report], not from text.
package locktest
