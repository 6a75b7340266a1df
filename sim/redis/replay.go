package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/aof"
	"github.com/fencepost-sim/fencepost/sim/redis/keyspace"
)

// replay carries out effects in their order, as a node does that loads its file or gets them from its master.
//
// Invariant: nothing is hidden meanwhile. Effects act on all data, whatever the clock says; a DEL that did not find a
// hidden key would leave it behind, to be shown one day over what was set after it.
func (n *Node) replay(list []keyspace.Effect) {
	n.data.Unveil()
	for i := range list {
		switch e := &list[i]; e.Op {
		case keyspace.OpPublish, keyspace.OpShardPublish:
			n.publish(int(e.Op-keyspace.OpPublish), e.Key, e.Value)
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

func (h *hooks) Replica() bool                    { return h.repl.master != "" }
func (h *hooks) Record(e history.Event)           { h.host.Record(e) }
func (h *hooks) Due(d time.Duration) history.Time { return h.host.Due(d) }
func (h *hooks) Log(e keyspace.Effect)            { (*Node)(h).log(e) }
func (h *hooks) LogCommand(args []string)         { (*Node)(h).logCommand(args) }
func (h *hooks) Changed(name string)              { (*Node)(h).changed(name) }
func (h *hooks) Do(args []string)                 { (*Node)(h).dispatch(args) }

// log notes an effect of the current turn, for the file and for the replicas.
func (n *Node) log(e keyspace.Effect) {
	if n.data.Loading || n.cfg.Persistence == aof.None && !n.repl.involved {
		return
	}
	e.Attempt = n.data.Attempt
	if n.cfg.Persistence != aof.None && e.Op < keyspace.OpPublish {
		n.aof.Add(e, n.mono)
	}
	if n.repl.involved && n.repl.master == "" {
		n.repl.pending = append(n.repl.pending, e)
	}
}

// logCommand notes a command as it was executed.
func (n *Node) logCommand(args []string) {
	if n.data.Loading || n.cfg.Persistence == aof.None && !n.repl.involved {
		return
	}
	name := findCommand(args[0]).Name // in one spelling
	if n.repl.involved {
		n.log(keyspace.Effect{Op: keyspace.OpCommand, Args: append([]string{name}, args[1:]...)}) // replicas keep it
		return
	}
	n.log(keyspace.Effect{Op: keyspace.OpCommand, Args: n.aof.Keep(name, args[1:])})
}
