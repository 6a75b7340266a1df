package store

import (
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// All changes to strings and to whole keys are made by the few functions below. This ensures that each change is
// recorded and logged, and that transactions that are watching the key are notified.

// timeUntil returns the time from now until end (both in ns), or zero if end has passed.
func timeUntil(end, now int64) time.Duration { return time.Duration(max(end-now, 0)) }

// SetString sets a key to a string. The key may have had any type before.
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

// Duplicate copies one key's value, owners and deadline to another.
func (d *Data) Duplicate(to, from string, k *Entry) {
	t := d.Find(to)
	was := history.Attempt("")
	if t != nil {
		was = t.of
		d.overwrite(to, t, k.members != nil)
		d.drop(to, t)
		d.births++
		t.born = d.births // Redis deletes the key and creates it again
		d.Notify(Made, "new", to)
	} else {
		t = d.add(to, k.of, k.Text)
	}
	t.of, t.Text, t.members = k.of, k.Text, maps.Clone(k.members)
	t.Value, t.lent = k.Value, false
	switch {
	case k.Text:
	case d.Type(from) == "stream":
		entries, _ := d.DB.Stream(from) // no error, since the key has this type
		for _, e := range entries {     // Copy would let both streams write to the same memory
			_, _ = d.DB.XAdd(to, e.ID, e.Values)
		}
	default:
		_ = d.mini.Copy(0, from, 0, to) // fails if the source does not exist in miniredis
		d.copyTimers(to, t, k)
	}
	d.expireAt(to, t, k.When)
	d.node.Changed(to, false)
	d.recordSet(to, t.Value, t, was)
	if d.Type(to) == "list" {
		d.node.ListMade(to)
	}
}

// Rename gives a key a new name. k is the key's entry.
func (d *Data) Rename(to, from string, k *Entry) {
	d.Duplicate(to, from, k)
	d.drop(from, k)
	d.dropEntry(from, k, history.Deleted, d.Attempt)
}

// SetNumber sets the value of a counter. The effect must already have been logged. k is the counter's entry, or nil if
// the counter does not exist. An existing counter keeps its owner and its deadline.
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

// Remove deletes an existing key. attempt is the attempt whose request deletes the key, or empty if no request does.
func (d *Data) Remove(name string, why history.Why, attempt history.Attempt) {
	k := d.keys[name]
	d.drop(name, k)
	d.dropEntry(name, k, why, attempt)
	d.node.Log(Effect{Op: OpDel, Key: name})
	if why == history.Evicted {
		d.Notify(evicted, "evicted", name)
		return
	}
	d.Notify(Generic, "del", name)
}

// Overdue deletes an existing key because its new deadline has already passed. Replicas receive only a deletion. Two
// events are recorded: the deadline was moved, and the key then expired.
func (d *Data) Overdue(name string, when int64) {
	k := d.keys[name]
	d.recordProlonged(name, k, k.When, when)
	d.Remove(name, history.Expired, "")
}

// Flush removes all data at a client's or an operator's request.
func (d *Data) Flush(why history.Why) {
	for _, name := range slices.Sorted(maps.Keys(d.keys)) {
		d.recordGone(name, d.keys[name], why, d.Attempt)
	}
	d.DropAll()
	d.node.Log(Effect{Op: OpFlush})
}

// DropAll removes all data without recording the removal.
func (d *Data) DropAll() {
	d.node.Flushed()
	d.Clear()
}

// dropEntry records that a key was removed from miniredis, and removes its entry.
func (d *Data) dropEntry(name string, k *Entry, why history.Why, by history.Attempt) {
	d.node.Changed(name, false)
	d.recordGone(name, k, why, by)
	d.forget(name, k)
}

// MoveDeadline sets or removes an existing key's deadline.
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
		return // nothing to record, because the deadline is the same
	}
	from := k.When
	d.expireAt(name, k, when)
	d.recordProlonged(name, k, from, when)
}

// recordSet records that a key, or each of its members, was created or overwritten. previous is the key's previous
// owner.
func (d *Data) recordSet(name, value string, k *Entry, previous history.Attempt) {
	if d.isSilent() {
		return
	}
	if k.members != nil {
		for _, m := range d.members(name, k) {
			d.recordMember(name, m, k, "")
		}
		return
	}
	d.write(&history.Event{F: history.KeySet, Lock: history.Lock(name), Of: k.of, By: d.Attempt,
		Checked: d.checked(d.Attempt, name, "", previous), Value: value, Until: d.Until(k.When)})
}

// isSilent reports whether the node must not write records. Replayed effects have already been recorded, and a
// replica's changes are recorded by its master.
func (d *Data) isSilent() bool { return d.Loading || d.node.Replica() }

// Record records an event concerning a key, unless isSilent reports that the node must not write records.
func (d *Data) Record(e history.Event) {
	if d.isSilent() {
		return
	}
	d.write(&e)
}

func (d *Data) write(e *history.Event) {
	e.Type = history.OK
	if e.By != "" {
		e.Sent = d.Sent
	}
	d.Onlooker.Record(*e)
}
