package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// replay carries out effects in their order, as a node does that loads its file or gets them from its master.
//
// Invariant: nothing is hidden meanwhile. Effects act on all data, whatever the clock says; a DEL that did not find a
// hidden key would leave it behind, to be shown one day over what was set after it.
func (n *Node) replay(list []effect) {
	n.data.unveil()
	for i := range list {
		switch e := &list[i]; e.op {
		case opPublish, opShardPublish:
			n.publish(int(e.op-opPublish), e.key, e.value)
		default:
			n.data.apply(e)
		}
	}
	n.data.attempt, n.data.out = "", n.data.out[:0]
}

// replaying reports whether what is executed are effects: by no clock, as nothing expires on the way.
func (n *Node) replaying() bool { return n.data.loading || n.repl.applying }

// hooks are what the data asks of its node.
type hooks Node

func (h *hooks) Replica() bool                    { return h.repl.master != "" }
func (h *hooks) Record(e history.Event)           { h.host.Record(e) }
func (h *hooks) Due(d time.Duration) history.Time { return h.host.Due(d) }
func (h *hooks) Log(e effect)                     { (*Node)(h).log(e) }
func (h *hooks) LogCommand(args []string)         { (*Node)(h).logCommand(args) }
func (h *hooks) Changed(name string)              { (*Node)(h).changed(name) }
func (h *hooks) Do(args []string)                 { (*Node)(h).dispatch(args) }

// log notes an effect of the current turn, for the file and for the replicas.
func (n *Node) log(e effect) {
	if n.data.loading || n.cfg.Persistence == None && !n.repl.involved {
		return
	}
	e.attempt = n.data.attempt
	if n.cfg.Persistence != None && e.op < opPublish {
		n.aof.add(e, n.mono)
	}
	if n.repl.involved && n.repl.master == "" {
		n.repl.pending = append(n.repl.pending, e)
	}
}

// logCommand notes a command as it was executed.
func (n *Node) logCommand(args []string) {
	if n.data.loading || n.cfg.Persistence == None && !n.repl.involved {
		return
	}
	name := findCommand(args[0]).name // in one spelling
	if n.repl.involved {
		n.log(effect{op: opCommand, args: append([]string{name}, args[1:]...)}) // replicas keep it
		return
	}
	n.log(effect{op: opCommand, args: n.aof.keep(name, args[1:])})
}
