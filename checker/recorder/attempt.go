package recorder

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Attempt is one request for a lock, and the hold that may result. Its methods are called in the order of events:
// Acquiring, Extending and Releasing before the act, the others after its outcome is known. Write errors are reported
// by Recorder.Err: a service continues without its record.
type Attempt struct {
	r      *Recorder
	lock   history.Lock
	name   history.Attempt
	called int64 // ns since 1970
}

// Acquiring begins an attempt, just before the lock is requested.
func (r *Recorder) Acquiring(lock history.Lock) Attempt { return r.acquiring(lock, false) }

// AcquiringShared begins an attempt at a shared (read) hold.
func (r *Recorder) AcquiringShared(lock history.Lock) Attempt { return r.acquiring(lock, true) }

func (r *Recorder) acquiring(lock history.Lock, shared bool) Attempt {
	if r == nil {
		return Attempt{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts++
	var room [64]byte
	name := append(append(room[:0], r.process...), '/')
	a := Attempt{r: r, lock: valid(lock), name: history.Attempt(strconv.AppendInt(name, r.attempts, 10)),
		called: time.Now().UnixNano()}
	r.event = history.Event{Type: history.Invoke, F: history.Acquire, Lock: a.lock, Attempt: a.name, Shared: shared}
	_ = r.write(a.called)
	return a
}

// Name is the attempt's name in the history. Used as the lock's own value, it makes the records of the servers
// attributable to attempts.
func (a Attempt) Name() history.Attempt { return a.name }

// Acquired records that the lock is held, before the work under it begins. Until is the end of the validity that the
// library states, the zero Time if it states none; token is the fencing token, 0 if there is none. Counted are the
// servers whose grants the library counted, if it states a validity and they are known.
func (a Attempt) Acquired(until time.Time, token history.Token, counted ...history.Process) {
	a.record(history.Acquire, history.OK, until, token, counted...)
}

// NotAcquired records that the lock is not held (history.Fail), or that it may be (history.Info), as after a timeout.
func (a Attempt) NotAcquired(outcome history.Type) {
	a.record(history.Acquire, outcome, time.Time{}, 0)
}

// Extending records that the lock is about to be extended.
func (a Attempt) Extending() Attempt {
	a.record(history.Extend, history.Invoke, time.Time{}, 0)
	a.called = time.Now().UnixNano()
	return a
}

// Extended records until when the lock is valid now, and which servers granted that. It is called on the result of
// Extending.
func (a Attempt) Extended(until time.Time, counted ...history.Process) {
	a.record(history.Extend, history.OK, until, 0, counted...)
}

// NotExtended records that the lock was not extended (history.Fail), or that it may have been (history.Info).
func (a Attempt) NotExtended(outcome history.Type) {
	a.record(history.Extend, outcome, time.Time{}, 0)
}

// Lost records that the holder has learned that it no longer holds the lock, and has stopped its work.
func (a Attempt) Lost() { a.record(history.Lost, history.Info, time.Time{}, 0) }

// Releasing records that the work under the lock is over. It is called before the lock is released.
func (a Attempt) Releasing() { a.record(history.Release, history.Invoke, time.Time{}, 0) }

// Released records the outcome of the release: history.OK, history.Fail if the lock was no longer the holder's,
// history.Info if that is not known.
func (a Attempt) Released(outcome history.Type) {
	a.record(history.Release, outcome, time.Time{}, 0)
}

// record writes what the attempt does. An invalid outcome counts as unknown.
func (a Attempt) record(f history.F, outcome history.Type, until time.Time, token history.Token,
	counted ...history.Process) {
	r := a.r
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UnixNano()
	if outcome < history.Invoke || outcome > history.Info {
		outcome = history.Info
	}
	r.event = history.Event{Type: outcome, F: f, Lock: a.lock, Attempt: a.name, Token: token}
	if !until.IsZero() {
		called := min(a.called, now) // the clock may have been set back since
		r.grant = history.Grant{Since: history.Time(called - r.start), Granted: history.Time(now - r.start),
			Until: history.Time(until.UnixNano() - r.start), Counted: counted}
		r.event.Grant = &r.grant
	}
	_ = r.write(now)
}
