package zookeeper

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tracker is the leader's record of which sessions are alive. Deadlines are rounded up to the next tick and checked
// once a tick (ExpiryQueue), on the monotonic clock. The tracker is not replicated: a new leader gives every session
// its whole timeout again.
type tracker struct {
	tick     time.Duration
	sessions []tracked // in the order in which they were first seen
	// next is the next tick at which deadlines are checked.
	next time.Duration
}

type tracked struct {
	id      SessionID
	expires time.Duration // always a tick
	due     history.Time  // true time without the rounding; for records only
	closing bool          // the session was found expired: nothing revives it
}

// begin clears the tracker. It is called when a reign begins.
func (t *tracker) begin(tick, now time.Duration) {
	t.tick = tick
	t.sessions = t.sessions[:0]
	t.next = t.after(now)
}

// after returns the first tick later than at.
func (t *tracker) after(at time.Duration) time.Duration { return (at/t.tick + 1) * t.tick }

// touch records a sign of life of a session, and adds a new session.
func (t *tracker) touch(s *session, now time.Duration, due history.Time) {
	expires := t.after(now + s.timeout)
	for i := range t.sessions {
		if x := &t.sessions[i]; x.id == s.id {
			if !x.closing {
				x.expires, x.due = expires, due
			}
			return
		}
	}
	t.sessions = append(t.sessions, tracked{id: s.id, expires: expires, due: due})
}

// due returns the true time at which a session was due to expire, counted from its last sign of life.
func (t *tracker) due(id SessionID) history.Time {
	for i := range t.sessions {
		if t.sessions[i].id == id {
			return t.sessions[i].due
		}
	}
	return 0
}

func (t *tracker) forget(id SessionID) {
	t.sessions = slices.DeleteFunc(t.sessions, func(x tracked) bool { return x.id == id })
}

// expired advances by one tick. It returns the sessions that expire by that tick, including those found earlier whose
// end has not been committed yet.
func (t *tracker) expired() []tracked {
	var ended []tracked
	for i := range t.sessions {
		if x := &t.sessions[i]; x.expires <= t.next {
			x.closing = true
			ended = append(ended, *x)
		}
	}
	t.next += t.tick
	return ended
}
