package redis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// load replays the file. Nothing expires meanwhile.
func (n *Node) load() {
	n.data.Quietly(func() { n.replay(n.aof.All()) })
}

// compare hides what the wall clock has ended while the node was down, and records how the data differs from what it
// was at the stop. A replica does neither: it takes all its data from its master.
func (n *Node) compare() {
	was := n.before
	n.before = nil
	switch {
	case was == nil:
	case n.repl.master == "":
		n.compareWith(n.stood, n.lost)
		n.stood = nil
	case n.repl.recorded != nil && n.repl.had == nil:
		n.repl.had = was
	}
}

// compareWith hides what has expired, and records how the data differs from what stands by the records. A key that is
// gone and that would have expired meanwhile has expired. A key that is there in another state (other value, owner or
// deadline) is lost and set.
func (n *Node) compareWith(before []store.Holding, lost history.Why) {
	n.data.Quietly(n.data.ExpireDue) // the records depend on what was
	store.Pair(before, n.data.Snapshot().Holdings(), func(old, now *store.Holding) {
		n.compareOne(old, now, lost)
	})
	n.data.NoteEnds()
}

// compareOne does it for a key or a member; before or after is nil where there is none.
func (n *Node) compareOne(before, after *store.Holding, lost history.Why) {
	if before != nil && before.Ended {
		before = nil
	}
	if after != nil && n.data.Now > after.Deadline {
		if (before == nil || before.Owner != after.Owner) && n.stands(after) { // set while the node was deposed
			n.data.Record(after.Gone(history.Expired))
		}
		after = nil
	}
	if before != nil && after != nil && *before == *after {
		return
	}
	if before != nil {
		why := lost
		if n.data.Now > before.Deadline {
			why = history.Expired
		}
		if !n.lostBefore(before) {
			n.cfg.Group.note(before, why)
		}
		n.data.Record(before.Gone(why))
	}
	if after != nil {
		set := history.Event{F: history.KeySet, Lock: history.Lock(after.Name), Member: after.Member, Of: after.Owner,
			By: n.data.Attempt, Until: n.data.Until(after.Deadline)}
		if after.Text {
			set.Value = after.Value
		}
		n.data.Record(set)
	}
}
