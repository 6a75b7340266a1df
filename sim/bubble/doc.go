// Package bubble lets Go code that was not written for the simulator run as a client of a simulated world. The code,
// such as a lock library, uses goroutines, timers and net.Conn as usual. It runs inside a testing/synctest bubble, with
// the same servers, network and faults as modeled clients. A client that runs such code is called a guest.
//
// The goroutine that called [testing/synctest.Test] drives the world. It sleeps on the bubble's clock until the world's
// next event is due, or until a guest has written or dialed. It then waits until all guests are blocked, and passes
// their actions to the world in an order that does not depend on how the guests were scheduled: client by client and,
// for each client, first the returns of calls, then the dials, then the writes, connection by connection. Finally, it
// executes one of the world's events.
//
// # What stays random
//
// The same seed gives the same run if the tested program is deterministic, but Go's runtime makes random choices: which
// of several ready cases a select takes, the order in which timers that are due at the same instant fire, the iteration
// order of a map, and the random numbers of math/rand/v2. Goroutines on more than one CPU are not deterministic either.
// Run with GOMAXPROCS=1, and seed crypto/rand (testing/cryptotest). Before you report a failing seed, run it twice and
// compare the digests. There is one more source of randomness: if a goroutine has waited for a mutex for more than a
// millisecond of real time, Go hands the mutex to that goroutine and not to the next one that asks.
//
// # Mutexes
//
// While a goroutine is waiting for a sync.Mutex or RWMutex, virtual time must keep advancing. Some libraries hold a
// mutex while they are waiting for the network, and the library's other goroutines wait for that mutex; go-redis's
// PubSub does this while it dials. But Go does not count a goroutine that is waiting for a mutex as durably blocked.
// Therefore a Driver changes three table entries in the Go runtime's memory, until the process ends. A bubble then
// counts as idle while its goroutines are waiting for a mutex. This works with Go 1.26 and 1.27. With other versions,
// or if no table with the known contents is found, nothing is changed, and a goroutine that is waiting for a mutex
// stops the clock. A program that is not a test never reaches this code.
//
// # What a fault cannot do
//
// Faults that strike servers, links and messages have the same effects as for modeled clients. Faults that strike a
// guest are limited:
//   - A pause stops each goroutine of the guest at its next action on a connection: a read, a write, a dial, the
//     setting of a deadline, or a close. The return of a call to the client's work waits as well. When the pause ends,
//     the guest finds the bytes that have arrived and the deadlines of its connections that have passed, in an order
//     that the seed decides. A pause that strikes when an answer arrives stops the guest after the read, before the
//     next request.
//   - Timers that the guest itself has set (for example, with time.After or the deadline of a context) fire on time
//     during a pause, because all guests share one clock. The code then runs until its next action on a connection, and
//     waits there. It can therefore read the clock in the middle of a pause, as if the pause had begun later. A pause
//     cannot strike between two instructions unless there is an action on a connection between them.
//   - A crash stops a guest in the same way, permanently. After the end of the run, its calls return errors, so that it
//     unwinds.
//   - Its clocks are the bubble's, which neither jump nor drift. Let the servers' clocks jump or drift in the opposite
//     direction instead.
//
// # Connections
//
// Connections behave like TCP connections on Linux with the settings of Go's net.Dialer. See sim/tcp.go for what is
// retransmitted, when an unanswered dial or connection fails, and how an idle connection is probed.
package bubble
