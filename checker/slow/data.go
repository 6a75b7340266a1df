package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// resourceSafety looks at every accepted write, at all that was accepted before it, and at its own read.
func (r *reading) resourceSafety() Finding {
	outcome := Unchecked
	for i := range r.Events {
		e := &r.Events[i]
		if !r.accepted(i) || e.Op != history.Write {
			continue
		}
		outcome = Holds
		if j := r.supersededBefore(i); j >= 0 {
			return Finding{Outcome: Violated, Events: []int{j, i}, Cause: "superseded holder took effect"}
		}
		if j := r.basis(i); j >= 0 && r.Events[j].Value != r.valueBefore(i) {
			return Finding{Outcome: Violated, Events: []int{j, i}, Cause: "update lost"}
		}
	}
	return Finding{Outcome: outcome}
}

func (r *reading) accepted(i int) bool {
	e := &r.Events[i]
	return e.F == history.Apply && e.Type == history.OK && slices.Contains(r.locks, e.Lock)
}

// grantOf is the grant on whose behalf the resource was asked, nil if there is none of that lock.
func (r *reading) grantOf(e *history.Event) *section {
	for _, s := range slices.Backward(r.sections) {
		if e.Of != "" && s.attempt == e.Of && s.lock == e.Lock {
			return s
		}
	}
	return nil
}

// supersededBefore is (a): the first read or write accepted before place i whose grant is the first later one than that
// of the write at i to have taken effect; -1 if there is none.
func (r *reading) supersededBefore(i int) int {
	a := r.grantOf(&r.Events[i])
	if a == nil {
		return -1
	}
	for j := range i {
		if r.accepted(j) && r.Events[j].Lock == r.Events[i].Lock {
			if b := r.grantOf(&r.Events[j]); b != nil && a != b && earlier(a, b) {
				return j
			}
		}
	}
	return -1
}

// earlier orders by token where both have one, else by A.granted < B.since. Equal tokens order nobody, so that the times
// must; holders that share a lock do not supersede each other.
func earlier(a, b *section) bool {
	if a.shared && b.shared {
		return false
	}
	if a.token != 0 && b.token != 0 && a.token != b.token {
		return a.token < b.token
	}
	return a.lease != nil && b.lease != nil && a.lease.Granted < b.lease.Since
}

// basis is what the write at place i builds on: the accepted read of its attempt that is the last before it, or what the
// attempt itself wrote since; -1 if it read nothing.
func (r *reading) basis(i int) int {
	e, own, read := &r.Events[i], -1, false
	for j := range i {
		if o := &r.Events[j]; r.accepted(j) && o.Of == e.Of && e.Of != "" && o.Lock == e.Lock {
			read = read || o.Op == history.Read
			own = j
		}
	}
	if !read {
		return -1
	}
	return own
}

// valueBefore is the value of the data just before place i: that of the last accepted write, else of the first read.
func (r *reading) valueBefore(i int) string {
	for j := i - 1; j >= 0; j-- {
		if o := &r.Events[j]; r.accepted(j) && o.Op == history.Write && o.Lock == r.Events[i].Lock {
			return o.Value
		}
	}
	for j := range i {
		if o := &r.Events[j]; r.accepted(j) && o.Lock == r.Events[i].Lock {
			return o.Value
		}
	}
	return ""
}
