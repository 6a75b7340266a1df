package store

import "github.com/fencepost-sim/fencepost/checker/history"

// look describes a key or a member that the current script has read, or that the current transaction watches.
type look struct {
	name, member string          // names of the key and the member; an empty member means the whole key
	of           history.Attempt // owner of the key or member at that time
	check        history.Check
	absent       bool
}

// Command begins a command. check is what the command checks before it changes its key, or CheckNotRecorded if that
// must not be recorded.
func (d *Data) Command(check history.Check) { d.check = check }

// Depends adds a check that the current command makes before its change because of its arguments.
func (d *Data) Depends(check history.Check) { d.check = max(d.check, check) }

// Look records that the current script or transaction has read or watches a key or member. Later commands of the script
// or transaction may depend on the key or member.
func (d *Data) Look(name, member string, check history.Check) {
	l := look{name: name, member: member, check: check}
	if k := d.keys[name]; k != nil {
		l.of = k.members[member]
	} else {
		l.absent = true
	}
	d.looks = append(d.looks, l)
}

// Looks returns the number of recorded looks (see look).
func (d *Data) Looks() int { return len(d.looks) }

// Forget keeps only the first n recorded looks.
func (d *Data) Forget(n int) { d.looks = d.looks[:n] }

// checked returns what a request has checked before it changes a key or a member. attempt is the request's attempt, and
// owner is the owner of the key or member. A look at another member of the same owner counts too.
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

// lapse stores the owner of a string key that has expired.
func (d *Data) lapse(name string, k *Entry) {
	if k.of == "" || k.members != nil {
		return
	}
	if d.lapsed == nil {
		d.lapsed = map[string]history.Attempt{}
	}
	d.lapsed[name] = k.of
}
