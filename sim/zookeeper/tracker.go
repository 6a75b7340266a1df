package zookeeper

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// tracker holds the leader's deadlines for all sessions. Deadlines are rounded up to the next tick and checked once per
// tick (ExpiryQueue), by the monotonic clock. The tracker is not replicated: a new leader gives each session its full
// timeout again.
type tracker struct {
	tick     time.Duration
	sessions []tracked // in the order in which they were first seen
	// next is the next tick at which deadlines are checked.
	next time.Duration
}

type tracked struct {
	id      SessionID
	expires time.Duration // a multiple of the tick
	due     history.Time  // the deadline in true time, without rounding; only for records
	closing bool          // the session has been found expired and can no longer be extended
}

// begin clears the tracker. It is called when the member becomes leader.
func (t *tracker) begin(tick, now time.Duration) {
	t.tick = tick
	t.sessions = t.sessions[:0]
	t.next = t.nextTick(now)
}

// nextTick returns the first tick after the given time.
func (t *tracker) nextTick(at time.Duration) time.Duration { return (at/t.tick + 1) * t.tick }

// touch records activity in a session and postpones its deadline. If the session is new, touch adds it.
func (t *tracker) touch(s *session, now time.Duration, due history.Time) {
	expires := t.nextTick(now + s.timeout)
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

// due returns the true time at which a session should expire, counted from its last activity.
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

// expired moves on to the next tick, and returns the sessions whose deadlines have passed. A session is returned at
// every tick until its end has been committed.
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
