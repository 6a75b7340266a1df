package store

import "github.com/fencepost-sim/fencepost/checker/history"

// Apply carries out an effect on the data, as a replica or a node that loads its file does: by no clock, and without
// a record or a trace in the log.
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
