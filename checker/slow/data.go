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
		if j, value := r.basis(i); j >= 0 && value != r.valueBefore(i) {
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

// basis is what the accepted write at place i builds on, and where its client learned it; -1 if it read nothing. That is
// what the client knew when it called the write, or if the history does not tell, the last read accepted of its attempt, or
// what the attempt wrote since.
func (r *reading) basis(i int) (at int, value string) {
	e := &r.Events[i]
	for j := i - 1; j >= 0; j-- {
		if o := &r.Events[j]; e.Of != "" && o.F == history.Write && o.Type == history.Invoke && o.Attempt == e.Of && o.Lock == e.Lock && o.Value == e.Value {
			return r.known(e.Of, j)
		}
	}
	own, read := -1, false
	for j := range i {
		if o := &r.Events[j]; r.accepted(j) && o.Of == e.Of && e.Of != "" && o.Lock == e.Lock {
			read = read || o.Op == history.Read
			own = j
		}
	}
	if !read {
		return -1, ""
	}
	return own, r.Events[own].Value
}

// known is the value that a client knew of its data when it called the write at place i: that of its last read, or of the
// write confirmed since; none while the outcome of a write is unknown.
func (r *reading) known(of history.Attempt, i int) (at int, value string) {
	at, writing := -1, ""
	for j := range i {
		o := &r.Events[j]
		if o.Attempt != of || o.Lock != r.Events[i].Lock {
			continue
		}
		switch {
		case o.F == history.Read && o.Type == history.OK:
			at, value = j, o.Value
		case o.F == history.Write && o.Type == history.Invoke:
			writing = o.Value
		case o.F == history.Write && o.Type == history.OK && at >= 0:
			at, value = j, writing
		case o.F == history.Write && o.Type == history.Info:
			at = -1
		}
	}
	return at, value
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
