package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// cronEvery is how often Redis looks for expired keys in the background (hz 10). It finds nearly all of them each time.
const cronEvery = 100 * time.Millisecond

// armTimer makes sure that the node is woken at the earliest deadline. A timer that fires early does no harm: it finds
// nothing due and sets the next one.
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

// armCron makes sure that a master is woken at the next background cycle that has something to delete.
func (n *Node) armCron() {
	if n.cron || !n.data.HasHidden() || n.repl.master != "" {
		return
	}
	n.cron = true
	since := n.host.Monotonic() - n.born
	n.host.WakeAfter(cronEvery-since%cronEvery, wakeCron)
}
