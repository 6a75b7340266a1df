package live

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// yes is a server's grant to an attempt: a key of the lock that a request of the attempt has set there. A master and
// its replicas count as one: the latest counts.
type yes struct {
	server sim.ProcessID
	seat   sim.ProcessID // of the server
	values [2]string     // of the key and its member
	sent   sim.Time      // when the request left the client
	came   sim.Time      // when the reply arrived at the client's machine
	until  sim.Time      // when the key is due to expire
	said   bool          // the reply has arrived
}

// keep is called for each event. It keeps track of the owners of keys, and keeps the events that concern the locks of
// the scenario.
func (st *stage) keep(e *history.Event) bool {
	switch e.F {
	case history.KeySet, history.KeyProlonged, history.KeyGone, history.KeyCopied, history.CopyGone:
	default:
		if st.Command != "" && e.Process == history.Probe {
			e.Token = 0 // the counter of the scenario's protocol is not that of the user's client
		}
		e.Value = recordable(e.Value)
		return true
	}
	if !slices.Contains(st.locks, e.Lock) {
		return false
	}
	at := place{e.Process, e.Lock, e.Member}
	switch e.F {
	case history.KeySet:
		st.standing[at] = e.Value
	case history.KeyGone:
		delete(st.standing, at)
	}
	for _, k := range st.clients {
		k.keyed(e)
	}
	e.Value, e.Member = recordable(e.Value), recordable(e.Member)
	return true
}

// place is the place of a key.
type place struct {
	server sim.ProcessID
	lock   history.Lock
	member string
}

// stands reports whether a key of a lock exists on a server with an owner value.
func (st *stage) stands(server sim.ProcessID, lock history.Lock, value string) bool {
	for at, v := range st.standing {
		if at.server == server && at.lock == lock && (v == value || at.member == value) {
			return true
		}
	}
	return false
}

// keyed records a key that an attempt of the client has set.
func (k *client) keyed(e *history.Event) {
	h := k.holds[e.Lock]
	if h == nil || h.attempt == "" {
		return
	}
	seat := k.stage.seat(e.Process)
	at := slices.IndexFunc(h.yes, func(y *yes) bool { return y.seat == seat })
	switch {
	case e.F == history.KeySet && e.Of == h.attempt:
		if at >= 0 {
			h.yes = slices.Delete(h.yes, at, at+1)
		}
		y := &yes{server: e.Process, seat: seat, values: [2]string{e.Value, e.Member}, until: e.Until}
		h.yes = append(h.yes, y)
		for _, value := range y.values {
			if value != "" {
				h.values = append(h.values, value)
			}
		}
	case at < 0:
	case e.F == history.KeyProlonged && e.By == h.attempt:
		y := h.yes[at]
		y.server, y.until, y.said = e.Process, e.Until, false
	case e.F == history.KeyGone && e.By == h.attempt && h.step == acquiring && h.yes[at].server == e.Process:
		// given back, to try again
		h.yes = slices.Delete(h.yes, at, at+1)
	}
}

// seat is the first of the servers that hold the same data; a server alone is its own.
func (st *stage) seat(server sim.ProcessID) sim.ProcessID {
	for _, group := range st.groups {
		if slices.Contains(group, server) {
			return group[0]
		}
	}
	return server
}

// settle drops the grants of owner values other than that of the lock: they are of earlier tries, which the client
// believes to have failed.
func (h *hold) settle(value string) {
	is := func(y *yes) bool { return slices.Contains(y.values[:], value) }
	if slices.ContainsFunc(h.yes, is) {
		h.yes = slices.DeleteFunc(h.yes, func(y *yes) bool { return !is(y) })
	}
}

// answered records that the reply to a request of an attempt has arrived; the request left the client at sent.
func (h *hold) answered(server sim.ProcessID, sent, now sim.Time) {
	for _, y := range h.yes {
		if y.server == server && !y.said {
			y.said, y.came = true, now
			if y.sent == 0 {
				y.sent = max(sent, 1)
			}
		}
	}
}

// grant is what the servers have granted by now; ok is false if none has. The client may have decided as soon as a
// quorum had granted it.
func (h *hold) grant(w *sim.World, quorum int, r *report) (g sim.Grant, ok bool) {
	var since, until sim.Time = history.Never, history.Never
	var came []sim.Time
	for _, y := range h.yes {
		if !y.said {
			continue
		}
		since, until = min(since, y.sent), min(until, y.until)
		came = append(came, y.came)
		g.Counted = append(g.Counted, y.server)
	}
	if len(g.Counted) == 0 {
		return g, false
	}
	slices.Sort(came)
	granted := came[min(quorum, len(came))-1]
	if r.stated {
		until = granted + history.Of(r.validity)
	}
	g.Since, g.Granted = w.Mark(since), w.Mark(granted)
	g.Until = sim.Deadline{Clock: sim.Monotonic, At: until.Duration()}
	return g, true
}
