package store

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Op is the kind of an effect. The few kinds that locks use are stored without an argument list, which saves memory.
type Op uint8

const (
	OpSet          Op = iota + 1 // SET key value [PXAT when]
	OpDel                        // DEL key
	OpExpire                     // PEXPIREAT key when
	OpPersist                    // PERSIST key
	OpFlush                      // FLUSHALL
	OpCommand                    // args: a command with the same result whenever it is executed on the same data
	OpPublish                    // PUBLISH key value; for replicas only
	_                            // there are no patterns to publish to
	OpShardPublish               // SPUBLISH key value; for replicas only
)

// Effect is one change of the data as the append-only file stores it: with an absolute time and a certain outcome, and
// with the attempt on whose behalf it was made. Replaying a node's effects in order gives its data.
type Effect struct {
	Op      Op
	Key     string
	Value   string // OpSet
	When    int64  // OpSet, OpExpire: deadline in ms on the wall clock; Never without expiry
	Args    []string
	Attempt history.Attempt
	At      int64 // when it was made, ns on the node's monotonic clock
}

// Apply carries out an effect on the data, for a replica or a node that loads its file. It uses no clock, and no
// records are written.
func (d *Data) Apply(e *Effect) {
	d.Attempt = e.Attempt
	k := d.keys[e.Key]
	switch e.Op {
	case OpSet:
		d.SetString(e.Key, e.Value, e.When)
		if e.When != Never {
			d.Notify(Generic, "expire", e.Key)
		}
	case OpFlush:
		d.DropAll()
		d.node.Log(Effect{Op: OpFlush})
	case OpCommand:
		d.Out = d.Out[:0]
		d.node.Do(e.Args)
	case OpDel, OpExpire, OpPersist:
		if k == nil {
			return
		}
		switch e.Op {
		case OpDel:
			d.Remove(e.Key, history.Deleted, e.Attempt)
		case OpExpire:
			d.MoveDeadline(e.Key, k, e.When)
		default:
			d.MoveDeadline(e.Key, k, Never)
		}
	}
}

// Remake appends the effects that create the key again.
func (k *Key) Remake(list []Effect) []Effect {
	if k.Type == "string" {
		return append(list, Effect{Op: OpSet, Key: k.Name, Value: k.Value, When: k.Deadline, Attempt: k.Owner})
	}
	if k.Type == "list" {
		list = k.pushAll(list)
	} else {
		for _, m := range k.Members {
			list = append(list, Effect{Op: OpCommand, Args: k.add(m), Attempt: m.Owner})
		}
	}
	if k.Deadline != Never {
		list = append(list, Effect{Op: OpExpire, Key: k.Name, When: k.Deadline, Attempt: k.Owner})
	}
	return list
}

// pushAll appends the effects that create a list again, element by element, each for its owner.
func (k *Key) pushAll(list []Effect) []Effect {
	owners := map[string]history.Attempt{}
	for _, m := range k.Members {
		owners[m.Name] = m.Owner
	}
	all := resp.Bulks(k.Value)
	for i, name := range elements(all) {
		list = append(list, Effect{Op: OpCommand, Args: []string{"rpush", k.Name, all[i]}, Attempt: owners[name]})
	}
	return list
}

// add returns the command that creates a member again.
func (k *Key) add(m Member) []string {
	switch k.Type {
	case "hash":
		return []string{"hset", k.Name, m.Name, m.Value}
	case "set":
		return []string{"sadd", k.Name, m.Name}
	}
	return []string{"zadd", k.Name, m.Value, m.Name}
}
