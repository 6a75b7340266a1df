package margin

import "github.com/fencepost-sim/fencepost/checker/history"

// requests measures how close in time each attempt's last request came to reaching a server while another attempt had
// its key there. A late request always counts as closer than none, even if it did not find a key, or compared the owner
// and did not change anything.
func (r *Reader) requests(lock history.Lock) {
	for i := range r.holds {
		h := &r.holds[i]
		if r.t.ProcessOf(lock, h.of) == history.Probe || h.gone == history.Never {
			continue
		}
		value, after := 2.0, history.Never
		at := r.latest[h.of]
		switch {
		case h.byOwner():
			if h.due != history.Never {
				value = 1 + r.share(h.due-h.gone)
			}
		case h.overtaken == none:
			value = 0.999
		case at == 0:
			value = 0.98
		default:
			set := r.holds[h.overtaken].set
			after = set - at
			if value = 0.01 + 0.98*r.share(after); at >= set {
				value = 0.9 // the late request compared the owner and did not change the key
			}
		}
		r.take(Requests, value, func(c *Call) {
			c.Holder, c.Attempt, c.Called = r.t.ProcessOf(lock, h.of), h.of, h.set
			c.From, c.To, c.At, c.After = h.set, min(h.due, h.gone), at, after
			c.Units, c.Standing = r.units, []history.Process{h.server}
			if h.overtaken != none {
				c.NextAttempt = r.holds[h.overtaken].of
				c.Next = r.t.ProcessOf(lock, c.NextAttempt)
				c.Contended = true
			}
		})
	}
}

// readLatest finds when each attempt's last request reached a server.
func (r *Reader) readLatest() {
	if r.latest == nil {
		r.latest = map[history.Attempt]history.Time{}
	}
	clear(r.latest)
	for i := range r.sent {
		if s := &r.sent[i]; s.Attempt != "" {
			r.latest[s.Attempt] = max(r.latest[s.Attempt], history.Time(s.Arrived))
		}
	}
}
