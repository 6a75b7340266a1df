package redis

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// op is the kind of an effect. The few that locks live on are held without an argument list, which costs no memory.
type op uint8

const (
	opSet          op = iota + 1 // SET key value [PXAT when]
	opDel                        // DEL key
	opExpire                     // PEXPIREAT key when
	opPersist                    // PERSIST key
	opFlush                      // FLUSHALL
	opCommand                    // args, a command that does the same whenever it is executed on the same data
	opPublish                    // PUBLISH key value; for replicas only
	_                            // there are no patterns to publish to
	opShardPublish               // SPUBLISH key value; for replicas only
)

// effect is one change of the data as the append-only file holds it: absolute in time, certain in outcome, and with
// the attempt on whose behalf it was made. Replaying the effects of a node in order gives its data.
type effect struct {
	op      op
	key     string
	value   string // opSet
	when    int64  // opSet, opExpire: deadline in ms on the wall clock; never without
	args    []string
	attempt history.Attempt
	at      int64 // when it was made, ns on the node's monotonic clock
}

// command is the effect as Redis would write it.
func (e *effect) command() []string {
	switch e.op {
	case opSet:
		if e.when == never {
			return []string{"SET", e.key, e.value}
		}
		return []string{"SET", e.key, e.value, "PXAT", strconv.FormatInt(e.when, 10)}
	case opDel:
		return []string{"DEL", e.key}
	case opExpire:
		return []string{"PEXPIREAT", e.key, strconv.FormatInt(e.when, 10)}
	case opPersist:
		return []string{"PERSIST", e.key}
	case opFlush:
		return []string{"FLUSHALL"}
	case opPublish:
		return []string{"PUBLISH", e.key, e.value}
	case opShardPublish:
		return []string{"SPUBLISH", e.key, e.value}
	}
	return e.args
}

// replay carries out effects in their order, as a node does that loads its file or gets them from its master.
//
// Invariant: nothing is hidden meanwhile. Effects act on all data, whatever the clock says; a DEL that did not find a
// hidden key would leave it behind, to be shown one day over what was set after it.
func (n *Node) replay(list []effect) {
	n.unveil()
	for i := range list {
		n.apply(&list[i])
	}
	n.attempt, n.out = "", n.out[:0]
}

// replaying reports whether what is executed are effects: by no clock, as nothing expires on the way.
func (n *Node) replaying() bool { return n.loading || n.repl.applying }

// apply carries out an effect on the data, as a replica or a node that loads its file does: by no clock, and without
// a record or a trace in the log.
func (n *Node) apply(e *effect) {
	n.attempt = e.attempt
	k := n.data.keys[e.key]
	switch e.op {
	case opSet:
		n.setString(e.key, e.value, e.when)
	case opPublish, opShardPublish:
		n.publish(int(e.op-opPublish), e.key, e.value)
	case opFlush:
		n.dropAll()
		n.log(effect{op: opFlush})
	case opCommand:
		n.out = n.out[:0]
		n.dispatch(e.args)
	case opDel, opExpire, opPersist:
		if k == nil {
			return
		}
		switch e.op {
		case opDel:
			n.remove(e.key, history.Deleted, e.attempt)
		case opExpire:
			n.moveDeadline(e.key, k, e.when)
		default:
			n.moveDeadline(e.key, k, never)
		}
	}
}

// log notes an effect of the current turn, for the file and for the replicas.
func (n *Node) log(e effect) {
	if n.loading || n.cfg.Persistence == None && !n.repl.involved {
		return
	}
	e.attempt, e.at = n.attempt, n.mono
	if n.cfg.Persistence != None && e.op < opPublish {
		n.aof.effects = append(n.aof.effects, e)
	}
	if n.repl.involved && n.repl.master == "" {
		n.repl.pending = append(n.repl.pending, e)
	}
}

// logCommand notes a command as it was executed.
func (n *Node) logCommand(args []string) {
	if n.loading || n.cfg.Persistence == None && !n.repl.involved {
		return
	}
	name := findCommand(args[0]).name // in one spelling
	if n.repl.involved {
		n.log(effect{op: opCommand, args: append([]string{name}, args[1:]...)}) // replicas keep it
		return
	}
	from := len(n.aof.words)
	n.aof.words = append(append(n.aof.words, name), args[1:]...)
	n.log(effect{op: opCommand, args: n.aof.words[from:len(n.aof.words):len(n.aof.words)]})
}
