package redis

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// replay applies effects in order, when a node loads its file or gets effects from its master.
//
// Invariant: no key is hidden meanwhile. Effects apply to all data, whatever the clock says. Otherwise a DEL would not
// find a hidden key, and the key could reappear later in place of what was set after it.
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

// replaying reports whether effects are being applied. Nothing expires meanwhile.
func (n *Node) replaying() bool { return n.data.Loading || n.repl.applying }

// hooks implements what the data needs of its node.
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

// Log records an effect of the current turn, for the file and for the replicas.
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

// LogCommand records a command as it was executed.
func (h *hooks) LogCommand(args []string) {
	if h.data.Loading || h.cfg.Persistence == store.None && !h.repl.involved {
		return
	}
	name := (*Node)(h).find(args[0]).Name // in one spelling
	if h.repl.involved {
		h.Log(store.Effect{Op: store.OpCommand, Args: append([]string{name}, args[1:]...)}) // replicas keep it
		return
	}
	h.Log(store.Effect{Op: store.OpCommand, Args: h.aof.Keep(name, args[1:])})
}

// load replays the file. Nothing expires meanwhile.
func (n *Node) load() {
	n.data.Quietly(func() { n.replay(n.aof.All()) })
}

// compare hides what has expired while the node was down, and records how the data differs from the data at the last
// stop. A replica does neither, since it gets all its data from its master.
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

// compareWith hides what has expired, and records how the data differs from what existed before according to the
// records. A key that is gone, and whose deadline has passed, is recorded as expired. A key with another value, owner
// or deadline is recorded as gone and set.
func (n *Node) compareWith(before []store.Holding, lost history.Why) {
	n.data.Quietly(n.data.ExpireDue) // the records depend on what existed before
	store.Pair(before, n.data.Snapshot().Holdings(), func(old, now *store.Holding) {
		n.compareOne(old, now, lost)
	})
	n.data.NoteEnds()
}

// compareOne does this for one key or member. before or after is nil if it did not exist then.
func (n *Node) compareOne(before, after *store.Holding, lost history.Why) {
	if before != nil && before.Ended {
		before = nil
	}
	if after != nil && n.data.Now > after.Deadline {
		if (before == nil || before.Owner != after.Owner) && n.stands(after) { // it was set while the node was deposed
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
