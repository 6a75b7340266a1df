package redis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// replay applies effects in order. A node uses it when it loads its append-only file, and when it receives effects from
// its master.
//
// Invariant: no key is hidden during the replay. Effects apply to a key even if the clock says that it has expired.
// Otherwise a DEL would not find the expired key. The old key could then reappear later and replace a key that was set
// after the DEL.
func (n *Node) replay(list []store.Effect) {
	n.data.Unveil()
	for i := range list {
		switch e := &list[i]; e.Op {
		case store.OpPublish, store.OpShardPublish:
			n.publish(int(e.Op-store.OpPublish), e.Key, e.Value)
		default:
			n.data.Apply(e)
		}
	}
	n.data.Attempt, n.data.Out = "", n.data.Out[:0]
}

// replaying reports whether effects are being replayed. Nothing expires during a replay.
func (n *Node) replaying() bool { return n.data.Loading || n.repl.applying }

// hooks is a Node with the methods that the node's data calls (see [store.Server]).
type hooks Node

func (h *hooks) Replica() bool    { return h.repl.master != "" }
func (h *hooks) Do(args []string) { (*Node)(h).dispatch(args) }

func (h *hooks) Changed(name string, expired bool) {
	if h.data.Loading {
		return
	}
	if h.watchers > 0 {
		(*Node)(h).changed(name)
	}
	if h.tracking.active() {
		(*Node)(h).invalidate(name, expired)
	}
}

func (h *hooks) Watches(name string) bool {
	return h.c != nil && slices.ContainsFunc(h.c.watched, func(w watchedKey) bool { return w.name == name })
}

func (h *hooks) ListMade(name string) {
	if !h.data.Loading {
		(*Node)(h).listMade(name)
	}
}

func (h *hooks) Publish(channel, message string) { (*Node)(h).publish(toChannels, channel, message) }

func (h *hooks) Flushed() {
	if h.data.Loading {
		return
	}
	(*Node)(h).flushed()
	(*Node)(h).invalidateAll()
}

// Log adds an effect to those of the current event-loop turn, for the append-only file and the replicas.
func (h *hooks) Log(e store.Effect) {
	if h.data.Loading || h.cfg.Persistence == store.None && !h.repl.involved {
		return
	}
	e.Attempt = h.data.Attempt
	if h.cfg.Persistence != store.None && e.Op < store.OpPublish {
		h.aof.Add(e, h.mono)
	}
	if h.repl.involved && h.repl.master == "" {
		h.repl.pending = append(h.repl.pending, e)
	}
}

// LogCommand logs a command as an effect.
func (h *hooks) LogCommand(args []string) {
	if h.data.Loading || h.cfg.Persistence == store.None && !h.repl.involved {
		return
	}
	name := (*Node)(h).find(args[0]).Name // the name as it is written in the table of commands
	if h.repl.involved {
		// Copy the arguments, since replicas keep them.
		h.Log(store.Effect{Op: store.OpCommand, Args: append([]string{name}, args[1:]...)})
		return
	}
	h.Log(store.Effect{Op: store.OpCommand, Args: h.aof.Keep(name, args[1:])})
}

// load replays the append-only file. Nothing expires during the replay.
func (n *Node) load() {
	n.data.Quietly(func() { n.replay(n.aof.All()) })
}

// compare hides keys that expired while the node was down. It also records how the data differs from what the process
// had when it stopped. A replica does neither, because it gets all its data from its master.
func (n *Node) compare() {
	was := n.before
	n.before = nil
	switch {
	case was == nil:
	case n.repl.master == "":
		n.compareWith(n.stood, n.lost)
		n.stood = nil
	case n.repl.recorded != nil && n.repl.ownData == nil:
		n.repl.ownData = was
	}
}

// compareWith hides expired keys, and records how the data differs from the recorded data (before). A key that has
// disappeared is recorded as expired if its deadline has passed. A key whose value, owner or deadline has changed is
// recorded as gone and then set again.
func (n *Node) compareWith(before []store.Holding, lost history.Why) {
	n.data.Quietly(n.data.ExpireDue) // without records, because these depend on what existed before
	store.Pair(before, n.data.Snapshot().Holdings(), func(old, now *store.Holding) {
		n.compareOne(old, now, lost)
	})
	n.data.NoteEnds()
}

// compareOne is compareWith for a single key or member. before is nil if the old data did not contain it, and after is
// nil if the new data does not.
func (n *Node) compareOne(before, after *store.Holding, lost history.Why) {
	if before != nil && before.Ended {
		before = nil
	}
	if after != nil && n.data.Now > after.Deadline {
		// The key was set while the node was deposed.
		if (before == nil || before.Owner != after.Owner) && n.stands(after) {
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
