package redis

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

// setString makes name a string, whatever it was.
func (d *dataset) setString(name, value string, when int64) {
	k := d.find(name)
	switch {
	case k == nil:
		k = d.add(name, d.attempt, true)
	case !k.text:
		d.overwrite(name, k, false)
		d.DB.Del(name)
		k.text = true
	}
	k.of = d.attempt
	_ = d.DB.Set(name, value) // fails on other types only
	d.expireAt(name, k, when)
	d.node.Log(effect{op: opSet, key: name, value: value, when: when})
	d.node.Changed(name)
	d.recordSet(name, value, k)
}

// duplicate makes to what the key from is: value, owner and deadline.
func (d *dataset) duplicate(to, from string, k *key) {
	t := d.find(to)
	if t != nil {
		d.overwrite(to, t, k.members != nil)
		d.DB.Del(to)
	} else {
		t = d.add(to, k.of, k.text)
	}
	_ = d.mini.Copy(0, from, 0, to) // fails only without the source
	t.of, t.text, t.members = k.of, k.text, maps.Clone(k.members)
	d.expireAt(to, t, k.when)
	d.node.Changed(to)
	d.recordSet(to, d.valueOf(to, t), t)
}

// rename makes to what the key from is, and ends that.
func (d *dataset) rename(to, from string, k *key) {
	d.duplicate(to, from, k)
	d.DB.Del(from)
	d.gone(from, k, history.Deleted, d.attempt)
}

// replaceText changes the value of an existing string; its owner and deadline stay.
func (d *dataset) replaceText(name, value string) {
	_ = d.DB.Set(name, value)
	d.node.Changed(name)
}

// setNumber gives a counter its value; the effect has been logged.
func (d *dataset) setNumber(name, value string, k *key) {
	d.replaceText(name, value)
	if k == nil {
		d.recordSet(name, value, d.add(name, d.attempt, true))
	}
}

// remove deletes an existing key. by is empty unless a request did it.
func (d *dataset) remove(name string, why history.Why, by history.Attempt) {
	k := d.keys[name]
	d.DB.Del(name)
	d.gone(name, k, why, by)
	d.node.Log(effect{op: opDel, key: name})
}

// flush empties the data because the current request says so.
func (d *dataset) flush() {
	for _, name := range slices.Sorted(maps.Keys(d.keys)) {
		d.recordGone(name, d.keys[name], history.Flushed, d.attempt)
	}
	d.dropAll()
	d.node.Log(effect{op: opFlush})
}

// dropAll empties the data without a record.
func (d *dataset) dropAll() {
	for name := range d.keys {
		d.node.Changed(name)
	}
	for i := range d.hidden {
		d.node.Changed(d.hidden[i].Name)
	}
	d.clear()
}

// gone notes that a key has left miniredis.
func (d *dataset) gone(name string, k *key, why history.Why, by history.Attempt) {
	d.node.Changed(name)
	d.recordGone(name, k, why, by)
	d.forget(name, k)
}

// moveDeadline gives an existing key another deadline, or none.
func (d *dataset) moveDeadline(name string, k *key, when int64) {
	if when == never {
		d.node.Log(effect{op: opPersist, key: name})
	} else {
		d.node.Log(effect{op: opExpire, key: name, when: when})
	}
	d.node.Changed(name)
	if k.when == when {
		return // a record says that a deadline moved
	}
	from := k.when
	d.expireAt(name, k, when)
	d.recordProlonged(name, k, from, when)
}

// recordSet records that k came to be or was overwritten, with all its members if it has any.
func (d *dataset) recordSet(name, value string, k *key) {
	if d.silent() {
		return
	}
	if k.members != nil {
		for _, m := range d.members(name, k) {
			d.recordMember(name, m, k)
		}
		return
	}
	d.record(history.Event{F: history.KeySet, Lock: history.Lock(name), Of: k.of, By: d.attempt, Value: value, Until: d.until(k.when)})
}

// silent reports whether nothing is recorded: what a file is replayed for has been recorded before, and what a replica
// does its master has recorded.
func (d *dataset) silent() bool { return d.loading || d.node.Replica() }

func (d *dataset) record(e history.Event) {
	if d.silent() {
		return
	}
	e.Type = history.OK
	d.node.Record(e)
}
