package zookeeper

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tracker is the leader's record of which sessions live. Deadlines are rounded up to the next tick and checked once a
// tick (ExpiryQueue), on the monotonic clock. It is not replicated: a new leader gives every session its whole timeout
// anew.
type tracker struct {
	tick     time.Duration
	sessions []tracked // in the order in which they were first seen
	// note notifies the driver that a guest has done something. It is called with mu held.
	next time.Duration
}

type tracked struct {
	id      SessionID
	expires time.Duration // a tick
	due     history.Time  // true time, without the rounding; for records only
	closing bool          // found expired: nothing revives it
}

// begin clears the tracker; ticks are counted from now on.
func (t *tracker) begin(tick, now time.Duration) {
	t.tick = tick
	t.sessions = t.sessions[:0]
	t.next = t.after(now)
}

// after is the first tick later than at.
func (t *tracker) after(at time.Duration) time.Duration { return (at/t.tick + 1) * t.tick }

// touch records a sign of life of a session, and adds a new one.
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

// due is when a session was due to expire as of its last sign of life.
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

// expired advances by one tick and returns the sessions that end with it, and those found before whose end has not been
// committed yet.
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
