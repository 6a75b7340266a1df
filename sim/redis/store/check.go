package store

import "github.com/fencepost-sim/fencepost/checker/history"

// look describes a key or member that the current script has read, or that the current transaction is watching.
type look struct {
	name, member string          // names of the key and the member; an empty member means the whole key
	of           history.Attempt // owner of the key or member at that time
	check        history.Check
	absent       bool
}

// Command begins a command. check is what the command checks before it changes its key, or CheckNotRecorded if that
// should not be recorded.
func (d *Data) Command(check history.Check) { d.check = check }

// Depends adds a check that the current command's arguments tell it to make before its change.
func (d *Data) Depends(check history.Check) { d.check = max(d.check, check) }

// Look records that the current script or transaction has read a key or member, or is watching it, because its later
// commands may depend on this.
func (d *Data) Look(name, member string, check history.Check) {
	l := look{name: name, member: member, check: check}
	if k := d.keys[name]; k != nil {
		l.of = k.members[member]
	} else {
		l.absent = true
	}
	d.looks = append(d.looks, l)
}

// Looks returns how many reads and watches of keys and members have been recorded (see Look).
func (d *Data) Looks() int { return len(d.looks) }

// Forget keeps only the first n of the reads and watches that have been recorded.
func (d *Data) Forget(n int) { d.looks = d.looks[:n] }

// checked returns what a request checked before it changes a key or member. attempt is the request's attempt. owner is
// the attempt that owns the key or member. Reads and watches of the owner's other members count too.
func (d *Data) checked(attempt history.Attempt, name, member string, owner history.Attempt) history.Check {
	c := d.check
	if c == history.CheckNotRecorded || attempt == "" {
		return history.CheckNotRecorded
	}
	for i := range d.looks {
		l := &d.looks[i]
		switch {
		case l.name == name && (l.member == "" || member == "" || l.member == member || owner != "" && l.of == owner):
			c = max(c, l.check)
		case l.name != name && l.absent && owner != "" && d.lapsed[l.name] == owner:
			return history.CheckedLapse
		}
	}
	if c == history.CheckedNothing && d.node.Watches(name) {
		return history.CheckedWatched
	}
	return c
}

// lapse stores an expired string key's owner.
func (d *Data) lapse(name string, k *Entry) {
	if k.of == "" || k.members != nil {
		return
	}
	if d.lapsed == nil {
		d.lapsed = map[string]history.Attempt{}
	}
	d.lapsed[name] = k.of
}
