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
// crypto/rand (testing/cryptotest); before reporting a failing seed, run it twice and compare the digests.
//
// # What a fault cannot do
//
// All faults of servers, links and messages are those of modelled clients. Of a guest:
//   - A pause holds what it sends, receives, dials, and what returns to the client's work, until it ends. Its timers
//     fire on time and its code runs to its next read, write or dial: a possible schedule, hence no false alarm, but no
//     stop of the whole process at one instant. It cannot be paused between two instructions. - A crash freezes it in
//     the same way. It is unwound, by errors, when the run is over. - Its clocks are the bubble's. They neither jump
//     nor drift: let the servers' do so, the other way.
package bubble
