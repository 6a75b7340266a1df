package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// cronEvery is the time between two background cycles (hz 10). In each cycle, Redis looks for expired keys and finds
// nearly all of them.
const cronEvery = 100 * time.Millisecond

// armTimer makes sure that a master is woken at the earliest deadline. A timer that fires too early does no harm,
// because the node finds that nothing is due and sets the next timer.
func (n *Node) armTimer() {
	n.armCron()
	if n.repl.master != "" {
		return
	}
	if when := n.data.NextDeadline(); when < n.armed {
		n.armed = when
		n.timer++
		n.host.WakeAtWall(store.EndOf(when), wakeExpiry|n.timer)
	}
}

// armCron makes sure that a master is woken for the next background cycle that has something to delete.
func (n *Node) armCron() {
	if n.cron || !n.data.HasHidden() || n.repl.master != "" {
		return
	}
	n.cron = true
	since := n.host.Monotonic() - n.born
	n.host.WakeAfter(cronEvery-since%cronEvery, wakeCron)
}
