package store

import "github.com/fencepost-sim/fencepost/checker/history"

// look is something that the current script has read, or that the current transaction watches.
type look struct {
	name, member string          // an empty member: the key as a whole
	of           history.Attempt // whose the member was
	check        history.Check
	absent       bool
}

// Command begins a command: check is what makes it refuse to change its key. Records of what no command does say
// nothing about that.
func (d *Data) Command(check history.Check) { d.check = check }

// Depends states what the current command makes its change depend on, once its arguments show it.
func (d *Data) Depends(on history.Check) { d.check = max(d.check, on) }

// Look notes that what follows in the current script, or transaction, may depend on a key, or on one member of it.
func (d *Data) Look(name, member string, check history.Check) {
	l := look{name: name, member: member, check: check}
	if k := d.keys[name]; k != nil {
		l.of = k.members[member]
	} else {
		l.absent = true
	}
	d.looks = append(d.looks, l)
}

// Looks is how many there are.
func (d *Data) Looks() int { return len(d.looks) }

// Forget drops all but the first n.
func (d *Data) Forget(n int) { d.looks = d.looks[:n] }

// checked is what a request of an attempt has looked at by the time at which it changes a key, or a member of it, that
// belongs to another: that, or another member of the same owner.
func (d *Data) checked(by history.Attempt, name, member string, of history.Attempt) history.Check {
	c := d.check
	if c == history.CheckNotRecorded || by == "" {
		return history.CheckNotRecorded
	}
	for i := range d.looks {
		l := &d.looks[i]
		switch {
		case l.name == name && (l.member == "" || member == "" || l.member == member || of != "" && l.of == of):
			c = max(c, l.check)
		case l.name != name && l.absent && of != "" && d.lapsed[l.name] == of:
			return history.CheckedLapse
		}
	}
	return c
}

// lapse remembers who owned a key that has expired.
func (d *Data) lapse(name string, k *Entry) {
	if k.of == "" || k.members != nil {
		return
	}
	if d.lapsed == nil {
		d.lapsed = map[string]history.Attempt{}
	}
	d.lapsed[name] = k.of
}
