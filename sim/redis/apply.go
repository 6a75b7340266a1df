package redis

import "github.com/fencepost-sim/fencepost/checker/history"

// apply carries out an effect on the data, as a replica or a node that loads its file does: by no clock, and without
// a record or a trace in the log.
func (d *dataset) apply(e *effect) {
	d.attempt = e.attempt
	k := d.keys[e.key]
	switch e.op {
	case opSet:
		d.setString(e.key, e.value, e.when)
	case opFlush:
		d.dropAll()
		d.node.Log(effect{op: opFlush})
	case opCommand:
		d.out = d.out[:0]
		d.node.Do(e.args)
	case opDel, opExpire, opPersist:
		if k == nil {
			return
		}
		switch e.op {
		case opDel:
			d.remove(e.key, history.Deleted, e.attempt)
		case opExpire:
			d.moveDeadline(e.key, k, e.when)
		default:
			d.moveDeadline(e.key, k, never)
		}
	}
}
