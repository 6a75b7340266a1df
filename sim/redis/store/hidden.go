package store

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// An expired key is hidden: commands do not see it, but it exists until it is deleted. A master deletes a hidden key
// either when a command accesses it or in its background cycle. If the master's clock is set back while the key is
// hidden, the key can become visible again. A replica does not delete a hidden key, but waits for its master's DEL.
// Effects from the master apply to hidden keys too.
//
// A master records what its clients can see. When a key becomes hidden, the master records it as gone. When the key
// becomes visible again, the master records it as set again.

// hiddenKey is a key that still exists but is not visible. Its value is stored here rather than in miniredis.
type hiddenKey struct {
	Key
	born uint64 // see Entry
}

// ExpireDue hides each key and field whose deadline has passed at time d.Now, in deadline order.
func (d *Data) ExpireDue() {
	for len(d.deadlines) > 0 {
		top := d.deadlines[0]
		if stands(top) && d.Now <= top.when {
			return
		}
		d.deadlines.pop()
		switch {
		case !stands(top):
		case top.ofKey():
			d.hide(top.name)
		default:
			d.hideField(top.name, top.key, top.field)
		}
	}
}

func (d *Data) hide(name string) {
	k := d.keys[name]
	h := hiddenKey{d.look(name), k.born}
	h.ended = !d.isSilent()
	d.recordGone(name, k, history.Expired, "")
	d.lapse(name, k)
	d.drop(name, k)
	d.forget(name, k)
	d.hidden = append(d.hidden, h)
}

// Revive makes hidden keys and fields visible again if they are no longer expired because the clock has been set back.
func (d *Data) Revive() {
	dead := slices.DeleteFunc(slices.Clone(d.hidden), func(h hiddenKey) bool { return d.Now <= h.Deadline })
	alive := slices.DeleteFunc(d.hidden, func(h hiddenKey) bool { return d.Now > h.Deadline })
	d.hidden = dead
	for i := range alive {
		h := &alive[i]
		d.show(h)
		if h.ended {
			d.Attempt = ""
			k := d.keys[h.Name]
			d.recordSet(h.Name, k.Value, k, "")
		}
	}
	d.reviveFields()
}

// show makes a hidden key visible without recording the change. The caller must remove the key from d.hidden.
func (d *Data) show(h *hiddenKey) {
	d.Quietly(func() {
		for _, e := range h.Remake(nil) {
			d.Apply(&e)
		}
	})
	d.keys[h.Name].born = h.born
	d.hideAgain(h.Name, h.Past)
}

// Unveil makes all hidden keys and fields visible.
func (d *Data) Unveil() {
	all := d.hidden
	d.hidden = nil
	for i := range all {
		d.show(&all[i])
	}
	d.unveilFields()
}

// NoteEnds notes, for every hidden key and field, that its expiry has already been recorded.
func (d *Data) NoteEnds() {
	for i := range d.hidden {
		d.hidden[i].ended = true
	}
	for name := range d.worn {
		past := d.keys[name].past
		for i := range past {
			past[i].ended = true
		}
	}
}

// Find returns a key's entry, or nil if the key does not exist or is hidden. On a master, it deletes a hidden key. It
// does so before the current command makes any changes, so the deletion is logged first.
func (d *Data) Find(name string) *Entry {
	if len(d.hidden) > 0 && !d.node.Replica() {
		if i := d.hiddenAt(name); i >= 0 {
			d.reap(i, i+1)
		}
	}
	return d.keys[name]
}

// hiddenAt returns the index of the hidden key with the given name, or -1 if there is none.
func (d *Data) hiddenAt(name string) int {
	return slices.IndexFunc(d.hidden, func(h hiddenKey) bool { return h.Name == name })
}

// reap deletes the hidden keys with indexes in [from, to).
func (d *Data) reap(from, to int) {
	gone := slices.Clone(d.hidden[from:to])
	d.hidden = slices.Delete(d.hidden, from, to)
	asking := d.Attempt
	d.Attempt = "" // the deletion does not belong to an attempt
	for i := range gone {
		d.node.Changed(gone[i].Name, true)
		d.node.Log(Effect{Op: OpDel, Key: gone[i].Name})
		d.Notify(Expired, "expired", gone[i].Name)
	}
	d.Attempt = asking
}

// RemoveHidden deletes an expired key because the current request explicitly deletes it. It reports whether there was
// such a key.
func (d *Data) RemoveHidden(name string) bool {
	i := d.hiddenAt(name)
	if i < 0 {
		return false
	}
	d.hidden = slices.Delete(d.hidden, i, i+1)
	d.node.Changed(name, true)
	d.node.Changed(name, false) // also notifies those that have already seen the key as expired
	d.node.Log(Effect{Op: OpDel, Key: name})
	d.Notify(Generic, "del", name)
	return true
}

// ReapAll deletes all hidden keys and fields (those that have expired but still exist), like Redis's background cycle.
func (d *Data) ReapAll() {
	d.reapFields()
	d.reap(0, len(d.hidden))
}

// HasHidden reports whether any key or field is hidden, that is, has expired but still exists.
func (d *Data) HasHidden() bool { return len(d.hidden)+len(d.worn) > 0 }

// FindHidden calls Find for each hidden key with a matching name.
func (d *Data) FindHidden(matches func(name string) bool) {
	for _, h := range slices.Clone(d.hidden) {
		if matches(h.Name) {
			d.Find(h.Name)
		}
	}
}

// IsHidden reports whether a key exists but is not visible.
func (d *Data) IsHidden(name string) bool {
	return d.hiddenAt(name) >= 0
}
