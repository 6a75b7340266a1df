package store

import "github.com/fencepost-sim/fencepost/checker/history"

// look is a key, or a member of one, that the current script has read or the current transaction watches.
type look struct {
	name, member string          // an empty member means the key as a whole
	of           history.Attempt // owner of the member at that time
	check        history.Check
	absent       bool
}

// Command begins a command. check is what the command looks at before it changes its key. CheckNotRecorded means that
// records of the change do not state that.
func (d *Data) Command(check history.Check) { d.check = check }

// Depends adds a check that the current command makes before its change, once its arguments show it.
func (d *Data) Depends(on history.Check) { d.check = max(d.check, on) }

// Look records that later commands of the current script or transaction may depend on a key, or on one member of it.
func (d *Data) Look(name, member string, check history.Check) {
	l := look{name: name, member: member, check: check}
	if k := d.keys[name]; k != nil {
		l.of = k.members[member]
	} else {
		l.absent = true
	}
	d.looks = append(d.looks, l)
}

// Looks returns the number of calls of Look that Forget has not undone.
func (d *Data) Looks() int { return len(d.looks) }

// Forget drops all looks except the first n.
func (d *Data) Forget(n int) { d.looks = d.looks[:n] }

// checked returns what a request has looked at before it changes a key, or a member of it. by is the attempt of the
// request, and of the owner. A look at another member of the same owner counts too.
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

// lapse remembers the owner of a key that has expired.
func (d *Data) lapse(name string, k *Entry) {
	if k.of == "" || k.members != nil {
		return
	}
	if d.lapsed == nil {
		d.lapsed = map[string]history.Attempt{}
	}
	d.lapsed[name] = k.of
}
