package store

import (
	"maps"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// A hash field may have its own deadline (HPEXPIRE, HSETEX). After the deadline, the field is hidden, like an expired
// key: commands do not see it. It still exists until a command accesses it or the background cycle deletes it. Until
// then, HLEN counts the field, and a hash with only hidden fields still exists. A replica waits for its master's HDEL.
// HSET, HMSET, and HSETEX without KEEPTTL remove the deadline of a field that they set; HINCRBY does not.

// timer is a field's deadline.
type timer struct {
	when int64  // in ms on the wall clock
	seq  uint64 // number of the field's entry in the heap of deadlines
}

// HiddenField is a field that has expired but still exists. Its value is stored here instead of in miniredis.
type HiddenField struct {
	Member
	ended bool // the field's expiry has been recorded
}

// Timed reports whether any of a hash's fields has a deadline or is hidden.
func (k *Entry) Timed() bool { return len(k.timers)+len(k.past) > 0 }

// FieldDeadline returns a field's deadline, even if the field is hidden. It returns Never if the field does not have
// one.
func (k *Entry) FieldDeadline(field string) int64 {
	if t, is := k.timers[field]; is {
		return t.when
	}
	if i := k.pastAt(field); i >= 0 {
		return k.past[i].When
	}
	return Never
}

// HasField reports whether a hash has a field that is not hidden.
func (k *Entry) HasField(field string) bool {
	_, has := k.members[field]
	return has
}

// IsPast reports whether a field is hidden.
func (k *Entry) IsPast(field string) bool { return k.pastAt(field) >= 0 }

// Past returns how many fields are hidden.
func (k *Entry) Past() int { return len(k.past) }

func (k *Entry) pastAt(field string) int {
	return slices.IndexFunc(k.past, func(f HiddenField) bool { return f.Name == field })
}

// endOf returns when a member expires: at its own deadline or at when, the key's deadline, whichever is earlier.
func (k *Entry) endOf(member string, when int64) int64 {
	if t, is := k.timers[member]; is {
		return min(when, t.when)
	}
	return when
}

// untimed drops all hidden fields and all field deadlines, because another value is replacing the hash.
func (d *Data) untimed(name string, k *Entry) {
	k.timers = nil
	d.setPast(name, k, nil)
}

// setPast sets a hash's hidden fields.
func (d *Data) setPast(name string, k *Entry, list []HiddenField) {
	k.past = list
	switch {
	case len(list) == 0:
		delete(d.worn, name)
	case d.worn == nil:
		d.worn = map[string]bool{name: true}
	default:
		d.worn[name] = true
	}
}

// setTimer sets an existing field's deadline.
func (d *Data) setTimer(name string, k *Entry, field string, when int64) {
	delete(k.timers, field)
	if when == Never {
		return
	}
	if k.timers == nil {
		k.timers = map[string]timer{}
	}
	d.seq++
	k.timers[field] = timer{when, d.seq}
	if when <= LastTimed {
		d.push(deadline{when: when, seq: d.seq, name: name, field: field, key: k})
	}
}

// MoveFieldDeadline sets or removes a field's deadline. If the field is hidden, it becomes visible again.
func (d *Data) MoveFieldDeadline(name string, k *Entry, field string, when int64) {
	if i := k.pastAt(field); i >= 0 {
		f := k.past[i]
		d.setPast(name, k, slices.Delete(slices.Clone(k.past), i, i+1))
		f.When = when
		d.showField(name, k, f)
		d.recordMember(name, f.Member, k, f.Owner)
		return
	}
	from := k.endOf(field, k.When)
	d.setTimer(name, k, field, when)
	to := k.endOf(field, k.When)
	if d.isSilent() || from == to {
		return
	}
	moved := history.Event{F: history.KeyProlonged, Lock: history.Lock(name), Member: field, Of: k.members[field],
		By: d.Attempt, Until: d.Until(to)}
	moved.Checked = d.checked(moved.By, name, field, moved.Of)
	d.write(&moved)
}

// ReplaceField prepares a write to a field. It removes the field's deadline and makes a hidden field visible. It
// reports whether the field was hidden. The caller must then set the field in miniredis and call Settle.
func (d *Data) ReplaceField(name string, k *Entry, field string) (hidden bool) {
	delete(k.timers, field)
	i := k.pastAt(field)
	if i >= 0 {
		d.setPast(name, k, slices.Delete(slices.Clone(k.past), i, i+1))
	}
	return i >= 0
}

// SetPastValue sets a hidden field's value. The field stays hidden.
func (d *Data) SetPastValue(k *Entry, field, value string) {
	f := &k.past[k.pastAt(field)]
	f.Value, f.Owner = value, d.Attempt
}

// FindField looks up a field in a hash. If the field is hidden (it has expired but still exists) and the node is a
// master, FindField deletes the field and returns true. The caller must then publish "hexpired" and call EndFields.
func (d *Data) FindField(name string, k *Entry, field string) (expired bool) {
	if k == nil || d.isSilent() {
		return false
	}
	i := k.pastAt(field)
	if i >= 0 {
		d.reapField(name, k, i)
	}
	return i >= 0
}

// reapField deletes a hidden field. No attempt is recorded as the cause.
func (d *Data) reapField(name string, k *Entry, i int) {
	d.logDeletion(name, k.past[i].Name, "")
	d.setPast(name, k, slices.Delete(slices.Clone(k.past), i, i+1))
}

// wornKeys returns the sorted names of the keys that have hidden fields. If there are no such keys, it does not
// allocate memory.
func (d *Data) wornKeys() []string {
	if len(d.worn) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(d.worn))
}

// reapFields deletes all hidden fields (those that have expired but still exist), as Redis's background cycle does.
func (d *Data) reapFields() {
	for _, name := range d.wornKeys() {
		k := d.keys[name]
		for len(k.past) > 0 {
			d.reapField(name, k, 0)
		}
		d.Notify(Hash, "hexpired", name)
		if d.EndFields(name, k) {
			d.Notify(Generic, "del", name)
		}
	}
}

// DropField deletes a field because the current request gives it a deadline that has passed. If overdue is true, the
// request specified an absolute time, and the field is recorded as expired. Otherwise, it is recorded as deleted by the
// request. If the field is hidden (it has expired but still exists), its end has already been recorded.
func (d *Data) DropField(name string, k *Entry, field string, when int64, overdue bool) {
	if i := k.pastAt(field); i >= 0 {
		d.reapField(name, k, i) // its end has been recorded
		return
	}
	gone := history.Event{F: history.KeyGone, Lock: history.Lock(name), Member: field, Of: k.members[field],
		By: d.Attempt, Why: history.Deleted}
	gone.Checked = d.checked(gone.By, name, field, gone.Of)
	if overdue {
		d.MoveFieldDeadline(name, k, field, when)
		gone.By, gone.Why, gone.Checked = "", history.Expired, history.CheckNotRecorded
	}
	d.logDeletion(name, field, gone.By)
	d.takeField(name, k, field)
	d.Record(gone)
	if gone.By != "" && gone.By == gone.Of {
		for _, m := range d.members(name, k) {
			if m.Owner == gone.By {
				d.disown(name, k, m)
			}
		}
	}
}

// logDeletion logs a field's deletion. attempt is the attempt that deleted the field, or empty if no attempt did.
func (d *Data) logDeletion(name, field string, attempt history.Attempt) {
	asking := d.Attempt
	d.Attempt = attempt
	d.node.LogCommand([]string{"hdel", name, field})
	d.Attempt = asking
}

// EndFields is called at the end of a command that has deleted fields. If this has left the hash empty, EndFields
// deletes the hash and returns true.
func (d *Data) EndFields(name string, k *Entry) (empty bool) {
	d.node.Changed(name, false)
	if len(k.members)+len(k.past) > 0 {
		return false
	}
	d.forget(name, k)
	return true
}

// takeField removes a visible field from the hash.
func (d *Data) takeField(name string, k *Entry, field string) {
	d.DB.HDel(name, field)
	if len(k.members) == 1 {
		d.DB.Del(name) // miniredis may keep a hash without fields
	}
	delete(k.members, field)
	delete(k.timers, field)
}

// hideField hides a field after its deadline has passed.
func (d *Data) hideField(name string, k *Entry, field string) {
	f := HiddenField{Member{field, d.DB.HGet(name, field), k.members[field], k.timers[field].when}, !d.isSilent()}
	d.Record(history.Event{F: history.KeyGone, Lock: history.Lock(name), Member: field, Of: f.Owner,
		Why: history.Expired})
	d.takeField(name, k, field)
	d.setPast(name, k, append(slices.Clone(k.past), f))
}

// showField makes a field visible. The caller must already have removed it from the hidden fields.
func (d *Data) showField(name string, k *Entry, f HiddenField) {
	d.DB.HSet(name, f.Name, f.Value)
	k.members[f.Name] = f.Owner
	d.setTimer(name, k, f.Name, f.When)
}

// reviveFields makes hidden fields visible again if they are no longer expired because the clock was set back.
func (d *Data) reviveFields() {
	for _, name := range d.wornKeys() {
		k := d.keys[name]
		list := k.past
		d.setPast(name, k, slices.DeleteFunc(slices.Clone(list), func(f HiddenField) bool { return d.Now <= f.When }))
		for _, f := range list {
			if d.Now > f.When {
				continue
			}
			d.showField(name, k, f)
			if f.ended {
				d.Attempt = ""
				d.recordMember(name, f.Member, k, "")
			}
		}
	}
}

// unveilFields makes all hidden fields visible.
func (d *Data) unveilFields() {
	for _, name := range d.wornKeys() {
		k := d.keys[name]
		list := k.past
		d.setPast(name, k, nil)
		for _, f := range list {
			d.showField(name, k, f)
		}
	}
}

// hideAgain hides fields in a key that has become visible again: the fields that were already hidden when the key was
// hidden.
func (d *Data) hideAgain(name string, list []HiddenField) {
	k := d.keys[name]
	for _, f := range list {
		d.Quietly(func() { d.hideField(name, k, f.Name) })
		k.past[len(k.past)-1].ended = f.ended
	}
}

// copyTimers copies the hidden fields and the field deadlines to another key.
func (d *Data) copyTimers(to string, t, k *Entry) {
	for _, field := range slices.Sorted(maps.Keys(k.timers)) {
		d.setTimer(to, t, field, k.timers[field].when)
	}
	d.setPast(to, t, slices.Clone(k.past))
}

// lendHollow gives miniredis a field for each hash with only hidden fields, so that the hash also exists in miniredis.
// It returns a function that removes these fields.
func (d *Data) lendHollow() (restore func()) {
	var names []string
	for name := range d.worn {
		if len(d.keys[name].members) == 0 {
			names = append(names, name)
			d.DB.HSet(name, "", "")
		}
	}
	return func() {
		for _, name := range names {
			d.DB.Del(name)
		}
	}
}

// timeField returns a command that gives a field its deadline.
func (k *Key) timeField(m Member) []string {
	return []string{"hpexpireat", k.Name, strconv.FormatInt(m.When, 10), "FIELDS", "1", m.Name}
}

// Obeys reports whether the node does not itself decide which fields expire: it is replaying changes, or it is a
// replica, whose master decides.
func (d *Data) Obeys() bool { return d.isSilent() }
