package zookeeper

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tracker is the leader's account of which sessions live. Deadlines are rounded up to the next tick and looked at once
// a tick (ExpiryQueue), on the monotonic clock. It is not replicated: a new leader gives every session its whole
// timeout anew.
type tracker struct {
	tick     time.Duration
	sessions []tracked // in the order in which they were first heard of
	// next is the tick at which sessions are looked at next. A leader that was paused looks at the ticks it missed one
	// by one, so that what it was told between two of them counts.
	next time.Duration
}

type tracked struct {
	id      SessionID
	expires time.Duration // a tick
	due     history.Time  // true time, without the rounding; for records only
	closing bool          // found expired: nothing revives it
}

// begin forgets all; ticks are counted from now on.
func (t *tracker) begin(tick, now time.Duration) {
	t.tick = tick
	t.sessions = t.sessions[:0]
	t.next = t.after(now)
}

// after is the first tick later than at.
func (t *tracker) after(at time.Duration) time.Duration { return (at/t.tick + 1) * t.tick }

// touch notes that a session was heard of, and adds one that is new.
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

// due is when a session was due to expire as of what was last heard of it.
func (t *tracker) due(id SessionID) history.Time {
	for i := range t.sessions {
		if t.sessions[i].id == id {
			return t.sessions[i].due
		}
	}
	return 0
}

func (t *tracker) forget(id SessionID) {
	for i := range t.sessions {
		if t.sessions[i].id == id {
			t.sessions = append(t.sessions[:i], t.sessions[i+1:]...)
			return
		}
	}
}

// expired moves on by one tick and gives the sessions that end with it, and those found before whose end the log has
// not brought yet.
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
