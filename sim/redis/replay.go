package redis

import (
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// replay carries out effects in their order, as a node does that loads its file or gets them from its master.
//
// Invariant: nothing is hidden meanwhile. Effects act on all data, whatever the clock says; a DEL that did not find a
// hidden key would leave it behind, to be shown one day over what was set after it.
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

// replaying reports whether what is executed are effects: by no clock, as nothing expires on the way.
func (n *Node) replaying() bool { return n.data.Loading || n.repl.applying }

// hooks are what the data asks of its node.
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

// Log notes an effect of the current turn, for the file and for the replicas.
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

// LogCommand notes a command as it was executed.
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
