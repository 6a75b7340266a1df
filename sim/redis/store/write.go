package store

import (
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Every change of the data goes through these few functions, so that its record, its entry in the log and the
// transactions that watch the key cannot be forgotten.

// timeUntil is the time from now to at (ns), zero if at has passed.
func timeUntil(at, now int64) time.Duration { return time.Duration(max(at-now, 0)) }

// SetString makes name a string, whatever it was.
func (d *Data) SetString(name, value string, when int64) {
	k := d.Find(name)
	was := history.Attempt("")
	switch {
	case k == nil:
		k = d.add(name, d.Attempt, true)
	case !k.Text:
		d.overwrite(name, k, false)
		d.drop(name, k)
		k.Text, k.lent = true, false
	default:
		was = k.of
	}
	k.of = d.Attempt
	d.put(name, k, value)
	d.expireAt(name, k, when)
	d.node.Log(Effect{Op: OpSet, Key: name, Value: value, When: when})
	d.node.Changed(name, false)
	d.recordSet(name, value, k, was)
	d.Notify(String, "set", name)
}

// Duplicate makes to what the key from is: value, owner and deadline.
func (d *Data) Duplicate(to, from string, k *Entry) {
	t := d.Find(to)
	was := history.Attempt("")
	if t != nil {
		was = t.of
		d.overwrite(to, t, k.members != nil)
		d.drop(to, t)
		d.Notify(Made, "new", to)
	} else {
		t = d.add(to, k.of, k.Text)
	}
	t.of, t.Text, t.members = k.of, k.Text, maps.Clone(k.members)
	if t.Value, t.lent = k.Value, false; !k.Text {
		_ = d.mini.Copy(0, from, 0, to) // fails only without the source
	}
	d.expireAt(to, t, k.When)
	d.node.Changed(to, false)
	d.recordSet(to, t.Value, t, was)
	if d.Type(to) == "list" {
		d.node.ListMade(to)
	}
}

// Rename makes to what the key from is, and ends that.
func (d *Data) Rename(to, from string, k *Entry) {
	d.Duplicate(to, from, k)
	d.drop(from, k)
	d.gone(from, k, history.Deleted, d.Attempt)
}

// SetNumber gives a counter its value; the effect has been logged. The owner and the deadline of one that is there
// stay; k is nil if there is none.
func (d *Data) SetNumber(name, value string, k *Entry) {
	made := k == nil
	if made {
		k = d.add(name, d.Attempt, true)
	}
	d.put(name, k, value)
	d.node.Changed(name, false)
	if made {
		d.recordSet(name, value, k, "")
	}
}

// Remove deletes an existing key. by is empty unless a request did it.
func (d *Data) Remove(name string, why history.Why, by history.Attempt) {
	k := d.keys[name]
	d.drop(name, k)
	d.gone(name, k, why, by)
	d.node.Log(Effect{Op: OpDel, Key: name})
	d.Notify(Generic, "del", name)
}

// Flush empties the data because the current request says so.
func (d *Data) Flush() {
	for _, name := range slices.Sorted(maps.Keys(d.keys)) {
		d.recordGone(name, d.keys[name], history.Flushed, d.Attempt)
	}
	d.DropAll()
	d.node.Log(Effect{Op: OpFlush})
}

// DropAll empties the data without a record.
func (d *Data) DropAll() {
	d.node.Flushed()
	d.Clear()
}

// gone notes that a key has left miniredis.
func (d *Data) gone(name string, k *Entry, why history.Why, by history.Attempt) {
	d.node.Changed(name, false)
	d.recordGone(name, k, why, by)
	d.forget(name, k)
}

// MoveDeadline gives an existing key another deadline, or none.
func (d *Data) MoveDeadline(name string, k *Entry, when int64) {
	event := "expire"
	if when == Never {
		event = "persist"
		d.node.Log(Effect{Op: OpPersist, Key: name})
	} else {
		d.node.Log(Effect{Op: OpExpire, Key: name, When: when})
	}
	d.node.Changed(name, false)
	d.Notify(Generic, event, name)
	if k.When == when {
		return // a record says that a deadline moved
	}
	from := k.When
	d.expireAt(name, k, when)
	d.recordProlonged(name, k, from, when)
}

// recordSet records that k was created or overwritten, with all its members if it has any; was is who owned it before.
func (d *Data) recordSet(name, value string, k *Entry, was history.Attempt) {
	if d.silent() {
		return
	}
	if k.members != nil {
		for _, m := range d.members(name, k) {
			d.recordMember(name, m, k, "")
		}
		return
	}
	d.write(&history.Event{F: history.KeySet, Lock: history.Lock(name), Of: k.of, By: d.Attempt,
		Checked: d.checked(d.Attempt, name, "", was), Value: value, Until: d.Until(k.When)})
}

// silent reports whether nothing is recorded: what a file is replayed for has been recorded before, and what a replica
// does its master has recorded.
func (d *Data) silent() bool { return d.Loading || d.node.Replica() }

// Record writes a record of a key, unless the node is silent.
func (d *Data) Record(e history.Event) {
	if d.silent() {
		return
	}
	d.write(&e)
}

// write writes a record of a node that is not silent.
func (d *Data) write(e *history.Event) {
	e.Type = history.OK
	if e.By != "" {
		e.Sent = d.Sent
	}
	d.Onlooker.Record(*e)
}
