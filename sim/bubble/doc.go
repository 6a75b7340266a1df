// Package bubble lets Go code that knows nothing of the simulator be a client of a simulated world: goroutines, timers
// and net.Conn as a lock library uses them, inside a bubble of testing/synctest, before the same servers, network and
// faults as modelled clients.
//
// The goroutine that called [testing/synctest.Test] drives the world. It sleeps on the bubble's clock until the next
// event of the world, or until a guest has written or dialled; it waits until all guests are blocked, passes what they
// have done to the world in an order that does not depend on how they were scheduled (clients in order; returns, dials,
// writes by connection), and lets one event happen.
//
// # What stays random
//
// Equal seeds give equal runs if the program that is tested is deterministic, which a stock runtime does not promise:
// which of several ready cases a select takes, in what order timers of one instant fire, the order of a map and
// math/rand/v2 are drawn anew each time. So are goroutines on more than one processor. Run with GOMAXPROCS=1, and seed
// crypto/rand (testing/cryptotest); before reporting a failing seed, run it twice and compare the digests. A mutex that
// somebody has waited for longer than a millisecond, of real time, is handed over to him, and not to who asks first.
//
// # Mutexes
//
// A goroutine that waits for a sync.Mutex or RWMutex lets virtual time pass. Libraries wait for the network with a
// mutex held that their other goroutines want: go-redis' PubSub does while it dials. Go does not count such a goroutine
// as durably blocked. Therefore a Driver changes a table of Go's runtime, in memory, for the rest of the process: three
// of its entries say from then on that a bubble is idle whose goroutines wait for a mutex. This works with Go 1.26 and
// 1.27. In another version, or if the table is not found as it is known there, nothing is changed, and a goroutine that
// waits for a mutex stops the clock. A program that is no test never comes here.
//
// # What a fault cannot do
//
// All faults of servers, links and messages are those of modelled clients. Of a guest:
//   - A pause stops each goroutine of the guest at its next act on a connection: a read, a write, a dial, a deadline
//     that it sets, a close. What returns to the client's work waits as well. When the pause ends, the guest finds what
//     has arrived, and the deadlines of its connections that have passed, in an order that the seed decides. A pause
//     that strikes as an answer arrives stops it after the read, before the next request.
//   - Timers that the guest itself has set (time.After, a context's) fire on time in a pause, since all guests have one
//     clock. The code runs to its next act on a connection, and waits there. It can therefore read the clock in the
//     middle of a pause, as if that had begun later. A pause cannot strike between two instructions with no act on a
//     connection between them.
//   - A crash stops it in the same way, for good. It is unwound, by errors, when the run is over.
//   - Its clocks are the bubble's. They neither jump nor drift: let the servers' do so, the other way.
//
// # Connections
//
// They are TCP's, as Linux and Go's net.Dialer set it up: see sim/tcp.go for what is sent again, when a dial or a
// connection fails that nobody answers, and how a connection without traffic is probed.
package bubble
