package recorder

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Attempt is one request for a lock, together with the hold that may result from it. Call its methods in the same order
// as the events: Acquiring, Extending and Releasing before the action, the other methods once its outcome is known. The
// methods do not return write errors, so that a service keeps running even if its record cannot be written; see
// Recorder.Err.
type Attempt struct {
	r      *Recorder
	lock   history.Lock
	name   history.Attempt
	called int64 // when the attempt or its latest extension was called, in ns since 1970
}

// Acquiring begins an attempt. Call it just before requesting the lock.
func (r *Recorder) Acquiring(lock history.Lock) Attempt { return r.acquiring(lock, false) }

// AcquiringShared begins an attempt to acquire a shared (read) hold. Call it just before requesting the lock.
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
	r.agree()
	_ = r.write(a.called)
	return a
}

// Name returns the attempt's name in the history. If a service stores it as the lock's value, the servers' records can
// be matched to attempts.
func (a Attempt) Name() history.Attempt { return a.name }

// Acquired records that the lock is held. Call it before the work under the lock begins. until is when the validity
// reported by the library ends, or the zero Time if the library does not report one. token is the fencing token, or 0
// if there is none. If the library reports a validity, counted lists the servers that it counted as having granted the
// lock, as far as they are known. If Options.Header lists servers, only these may be counted.
func (a Attempt) Acquired(until time.Time, token history.Token, counted ...history.Process) {
	a.record(history.Acquire, history.OK, until, token, counted...)
}

// NotAcquired records that the lock is not held (history.Fail), or that it may be held (history.Info), for example
// after a timeout.
func (a Attempt) NotAcquired(outcome history.Type) {
	a.record(history.Acquire, outcome, time.Time{}, 0)
}

// Extending records that the lock is about to be extended. Call Extended or NotExtended on the Attempt that it returns.
func (a Attempt) Extending() Attempt {
	a.record(history.Extend, history.Invoke, time.Time{}, 0)
	a.called = time.Now().UnixNano()
	return a
}

// Extended records that the lock was extended until the given time. counted lists the servers that granted the
// extension. Call Extended on the result of Extending.
func (a Attempt) Extended(until time.Time, counted ...history.Process) {
	a.record(history.Extend, history.OK, until, 0, counted...)
}

// NotExtended records that the lock was not extended (history.Fail), or that it may have been extended (history.Info).
func (a Attempt) NotExtended(outcome history.Type) {
	a.record(history.Extend, outcome, time.Time{}, 0)
}

// Lost records that the holder found out it had lost the lock, and stopped its work.
func (a Attempt) Lost() { a.record(history.Lost, history.Info, time.Time{}, 0) }

// Releasing records that the work under the lock is over. Call it before releasing the lock.
func (a Attempt) Releasing() { a.record(history.Release, history.Invoke, time.Time{}, 0) }

// Released records the outcome of the release: history.OK; history.Fail if the holder no longer held the lock;
// history.Info if the outcome is unknown.
func (a Attempt) Released(outcome history.Type) {
	a.record(history.Release, outcome, time.Time{}, 0)
}

// record writes an event for the attempt. An invalid outcome is recorded as unknown (history.Info).
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
		called := min(a.called, now) // the clock may have been set back since the attempt was called
		r.grant = history.Grant{Since: history.Time(called - r.start), Granted: history.Time(now - r.start),
			Until: history.Time(until.UnixNano() - r.start), Counted: counted}
		r.event.Grant = &r.grant
	}
	r.agree()
	_ = r.write(now)
}

// agree makes r.event agree with the header, because otherwise the recording could not be read. If they contradict each
// other, it removes the list of servers that a grant counted and the mark of a shared hold.
func (r *Recorder) agree() {
	if err := r.header.Refuses(&r.event); err != nil {
		r.leftOut = cmp.Or(r.leftOut, fmt.Errorf("recorder: %s: %w", r.event.Attempt, err))
		r.event.Shared, r.grant.Counted = false, nil
	}
}
