package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func init() { register("resource-safety", (*reading).resourceSafety) }

// resourceSafety looks for accepted writes that break the law: a read or write of a later grant was accepted before
// them, or they lose an update. If there are none, the law is judged only if all effects can be ordered.
func (r *reading) resourceSafety() Finding {
	if r.permits() > 1 { // several holders may write at once
		return Finding{Outcome: Unchecked}
	}
	writes, ranked, ordered := 0, false, true
	var broken []Breach
	for i := range r.Events {
		e := &r.Events[i]
		if !r.accepted(i) || e.Op != history.Write {
			continue
		}
		writes++
		if j := r.supersededBefore(i); j >= 0 {
			broken = append(broken, Breach{[]int{j, i}, "superseded holder took effect", e.Time})
		} else if j := r.lostBy(i); j >= 0 {
			broken = append(broken, Breach{[]int{j, i}, "update lost", e.Time})
		}
		if s := r.grantOf(e); s != nil {
			ranked = ranked || s.lease != nil || s.token != 0
			ordered = ordered && r.comparableBefore(s, i)
		}
	}
	if writes == 0 || !ranked || !ordered {
		return Finding{Outcome: Unchecked, Breaches: broken}
	}
	return Finding{Outcome: Holds, Judged: writes, Breaches: broken}
}

// comparableBefore reports whether times or tokens order s relative to each grant that took effect before position i.
func (r *reading) comparableBefore(s *section, i int) bool {
	for j := range i {
		if !r.accepted(j) || r.Events[j].Lock != s.lock {
			continue
		}
		o := r.grantOf(&r.Events[j])
		if o == nil || o == s || o.shared && s.shared {
			continue
		}
		if times, tokens := o.lease != nil && s.lease != nil, o.token != 0 && s.token != 0; !times && !tokens {
			return false
		}
	}
	return true
}

func (r *reading) accepted(i int) bool {
	e := &r.Events[i]
	return e.F == history.Apply && e.Type == history.OK && slices.Contains(r.locks, e.Lock)
}

// grantOf returns the grant under which a client called the resource, or nil if the lock has no such grant.
func (r *reading) grantOf(e *history.Event) *section {
	for _, s := range slices.Backward(r.sections) {
		if e.Of != "" && s.attempt == e.Of && s.lock == e.Lock {
			return s
		}
	}
	return nil
}

// supersededBefore implements part (a) of the law. It looks for a read or write that was accepted before i and belongs
// to a later grant than the write at i. It returns the first such position, or -1 if there is none.
func (r *reading) supersededBefore(i int) int {
	a := r.grantOf(&r.Events[i])
	if a == nil {
		return -1
	}
	for j := range i {
		if r.accepted(j) && r.Events[j].Lock == r.Events[i].Lock {
			if b := r.grantOf(&r.Events[j]); b != nil && a != b && r.earlier(a, b) {
				return j
			}
		}
	}
	return -1
}

// earlier reports whether grant a comes before grant b: a.granted < b.since. If these times do not order the grants,
// their tokens do. If a grant has no token or the tokens are equal, earlier returns false. If a grant has no times, the
// acquire's call takes the place of since, and its return that of granted. Two shared grants are never in order.
func (r *reading) earlier(a, b *section) bool {
	if a.shared && b.shared {
		return false
	}
	since := func(s *section) history.Time {
		if s.lease != nil {
			return s.lease.Since
		}
		return r.time(s.call)
	}
	granted := func(s *section) history.Time {
		if s.lease != nil {
			return s.lease.Granted
		}
		return r.time(s.ok)
	}
	if granted(a) < since(b) || granted(b) < since(a) {
		return granted(a) < since(b)
	}
	return a.token != 0 && b.token != 0 && a.token < b.token
}

// lostBy implements part (b) of the law. If the write at position i loses an update, it returns the position at which
// the writer learned the value from which it computed the write. Otherwise it returns -1. A write loses an update if it
// was not computed from the value that it overwrites.
func (r *reading) lostBy(i int) int {
	at, asked, value := r.basis(i)
	lost := -1 // the previous write, whose value is overwritten
	for j := range i {
		if r.accepted(j) && r.Events[j].Op == history.Write && r.Events[j].Lock == r.Events[i].Lock {
			lost = j
		}
	}
	switch {
	case at < 0 || lost < 0 || r.Events[lost].Value == value:
		return -1
	case asked > lost && !r.writtenByAnybody(r.Events[i].Lock, value) && r.firstValue(i) != value:
		return -1 // somebody outside the history had already overwritten the value
	}
	return at
}

func (r *reading) writtenByAnybody(lock history.Lock, value string) bool {
	return slices.ContainsFunc(r.Events, func(e history.Event) bool {
		return (e.F == history.Write || e.F == history.Apply && e.Op == history.Write) && e.Lock == lock &&
			e.Value == value
	})
}

// firstValue returns the initial value of the data changed by the write at position i. This is the value that the first
// accepted read returned, or "" if the first access was a write.
func (r *reading) firstValue(i int) string {
	for j := range i {
		if o := &r.Events[j]; r.accepted(j) && o.Lock == r.Events[i].Lock {
			if o.Op == history.Read {
				return o.Value
			}
			return ""
		}
	}
	return ""
}

// basis returns the value from which the accepted write at position i was computed. If the history records the call of
// the write, this is the value that the client knew then (see known). Otherwise, it is the value of the attempt's last
// accepted read or write. at is the position at which the client learned the value, or -1 if it read nothing. asked is
// the position at which it requested the value.
func (r *reading) basis(i int) (at, asked int, value string) {
	e := &r.Events[i]
	if e.Of == "" {
		return -1, -1, ""
	}
	for j := i - 1; j >= 0; j-- {
		if o := &r.Events[j]; o.F == history.Write && o.Type == history.Invoke && o.Attempt == e.Of &&
			o.Lock == e.Lock && o.Value == e.Value {
			return r.known(e.Of, j)
		}
	}
	own, read := -1, false
	for j := range i {
		if o := &r.Events[j]; r.accepted(j) && o.Of == e.Of && o.Lock == e.Lock {
			read = read || o.Op == history.Read
			own = j
		}
	}
	if !read {
		return -1, -1, ""
	}
	return own, own, r.Events[own].Value
}

// known returns the value that a client knew when it made the write call at position i. This is the value of its last
// read or, if a write was confirmed after that read, the value of that write. at and asked are the positions at which
// the client learned and requested the value. If the outcome of a write since the last read is unknown, at is -1.
func (r *reading) known(of history.Attempt, i int) (at, asked int, value string) {
	at, asked = -1, -1
	writing, reading := "", -1
	for j := range i {
		o := &r.Events[j]
		if o.Attempt != of || o.Lock != r.Events[i].Lock {
			continue
		}
		switch {
		case o.F == history.Read && o.Type == history.Invoke:
			reading = j
		case o.F == history.Read && o.Type == history.OK:
			at, asked, value, reading = j, reading, o.Value, -1
		case o.F == history.Write && o.Type == history.Invoke:
			writing = o.Value
		case o.F == history.Write && o.Type == history.OK && at >= 0:
			at, asked, value = j, j, writing
		case o.F == history.Write && o.Type == history.Info:
			at = -1
		}
	}
	return at, asked, value
}
