package store

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Op is a kind of effect. Kinds that locks often use are stored without an argument list, which saves memory.
type Op uint8

const (
	OpSet          Op = iota + 1 // SET key value [PXAT when]
	OpDel                        // DEL key
	OpExpire                     // PEXPIREAT key when
	OpPersist                    // PERSIST key
	OpFlush                      // FLUSHALL
	OpCommand                    // the command in args, which always has the same result on the same data
	OpPublish                    // PUBLISH key value; only for replicas
	_                            // unused: there is no publishing to patterns
	OpShardPublish               // SPUBLISH key value; only for replicas
)

// Effect is a single change to the data, in the form in which it is stored in the append-only file. It uses absolute
// times and has a fixed outcome, so replaying all of a node's effects in order produces the node's data. It also names
// the attempt that made the change.
type Effect struct {
	Op      Op
	Key     string
	Value   string // for OpSet: the value
	When    int64  // for OpSet, OpExpire: deadline in ms on the wall clock; Never if there is none
	Args    []string
	Attempt history.Attempt
	At      int64 // when the change was made, in ns on the node's monotonic clock
}

// Apply applies an effect on a replica, or on a node that is loading its append-only file. It neither uses a clock nor
// writes records.
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

// Remake appends to list the effects that recreate the key.
func (k *Key) Remake(list []Effect) []Effect {
	if k.Type == "string" {
		return append(list, Effect{Op: OpSet, Key: k.Name, Value: k.Value, When: k.Deadline, Attempt: k.Owner})
	}
	switch k.Type {
	case "list":
		list = k.pushAll(list)
	case "stream":
		for _, e := range k.Entries {
			list = append(list, Effect{Op: OpCommand, Args: append([]string{"xadd", k.Name, e.ID}, e.Values...),
				Attempt: k.Owner})
		}
	default:
		for _, m := range k.Members {
			list = append(list, Effect{Op: OpCommand, Args: k.add(m), Attempt: m.Owner})
		}
		for _, f := range k.Past {
			list = append(list, Effect{Op: OpCommand, Args: k.add(f.Member), Attempt: f.Owner})
		}
		for _, m := range k.Members {
			if m.When != 0 {
				list = append(list, Effect{Op: OpCommand, Args: k.timeField(m), Attempt: m.Owner})
			}
		}
		for _, f := range k.Past {
			list = append(list, Effect{Op: OpCommand, Args: k.timeField(f.Member), Attempt: f.Owner})
		}
	}
	if k.Deadline != Never {
		list = append(list, Effect{Op: OpExpire, Key: k.Name, When: k.Deadline, Attempt: k.Owner})
	}
	return list
}

// pushAll appends to list the effects that recreate a list key: one effect per element, with the element's owner.
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

// add returns a command that recreates a member.
func (k *Key) add(m Member) []string {
	switch k.Type {
	case "hash":
		return []string{"hset", k.Name, m.Name, m.Value}
	case "set":
		return []string{"sadd", k.Name, m.Name}
	}
	return []string{"zadd", k.Name, m.Value, m.Name}
}
