package live

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// keyGrant is a grant from one server to an attempt: one of the attempt's requests set a key of the lock on that
// server. A master and its replicas count as one server, and only the latest grant from them counts.
type keyGrant struct {
	server sim.ProcessID
	seat   sim.ProcessID // first server of the group to which the server belongs
	values [2]string     // the value of the key and that of its member
	sent   sim.Time      // when the request left the client
	came   sim.Time      // when the reply arrived at the client's machine
	until  sim.Time      // when the key is due to expire
	said   bool          // whether the reply has arrived
}

// keep is called for each event, and reports whether the event should be in the history. It tracks key owners, and
// drops events about keys that do not belong to the scenario's locks.
func (st *stage) keep(e *history.Event) bool {
	switch e.F {
	case history.KeySet, history.KeyProlonged, history.KeyGone, history.KeyCopied, history.CopyGone:
	default:
		if st.Command != "" && e.Process == history.Probe {
			e.Token = 0 // the probe's token comes from a counter that only the scenario's own protocol keeps
		}
		e.Value = recordable(e.Value)
		return true
	}
	if st.callers != nil && st.Scenario.Servers.KeysOnPaths() {
		e.Lock = st.lockOf(e.Member)
	}
	if !slices.Contains(st.locks, e.Lock) {
		return false
	}
	at := place{e.Process, e.Lock, e.Member}
	switch e.F {
	case history.KeySet:
		st.standing[at] = owned{e.Value, e.Of}
	case history.KeyGone:
		delete(st.standing, at)
	}
	for _, k := range st.clients {
		k.keyed(e)
	}
	e.Value, e.Member = recordable(e.Value), recordable(e.Member)
	return true
}

// lockOf returns the lock that a key belongs to, or "" if there is none. It expects the key names that libraries use:
// the lock's name is the whole key, or the part before the key's last slash. In both cases, a path may precede the
// name.
func (st *stage) lockOf(key string) history.Lock {
	folder := key[:max(strings.LastIndexByte(key, '/'), 0)]
	for _, lock := range st.locks {
		for _, path := range []string{key, folder} {
			if strings.HasSuffix("/"+path, "/"+string(lock)) {
				return lock
			}
		}
	}
	return ""
}

// place identifies a key by its server, its lock and its member.
type place struct {
	server sim.ProcessID
	lock   history.Lock
	member string
}

// stands reports whether a server has a key of the lock that has the given owner value and was set by the given
// attempt.
func (st *stage) stands(server sim.ProcessID, lock history.Lock, o owned) bool {
	for at, v := range st.standing {
		if at.server == server && at.lock == lock && v.of == o.of && (v.value == o.value || at.member == o.value) {
			return true
		}
	}
	return false
}

// keyed updates the client's grants after its current attempt has set, extended or removed a key. If instead a late
// request of an earlier attempt has set a key, keyed stores the key's owner value with that attempt.
func (k *client) keyed(e *history.Event) {
	h := k.holds[e.Lock]
	if h == nil || h.attempt == "" {
		return
	}
	seat := k.stage.seat(e.Process)
	at := slices.IndexFunc(h.yes, func(y *keyGrant) bool { return y.seat == seat })
	switch {
	case e.F == history.KeySet && e.Of == h.attempt:
		if at >= 0 {
			h.yes = slices.Delete(h.yes, at, at+1)
		}
		y := &keyGrant{server: e.Process, seat: seat, values: [2]string{e.Value, e.Member}, until: e.Until}
		h.yes = append(h.yes, y)
		for _, value := range y.values {
			if value != "" {
				h.values = append(h.values, value)
			}
		}
	case e.F == history.KeySet && strings.HasPrefix(string(e.Of), string(k.id)+"/"):
		for _, value := range []string{e.Value, e.Member} {
			if value != "" {
				h.remember(value, e.Of)
			}
		}
	case at < 0:
	case e.F == history.KeyProlonged && e.By == h.attempt:
		y := h.yes[at]
		y.server, y.until, y.said = e.Process, e.Until, false
	case e.F == history.KeyGone && e.By == h.attempt && h.step == acquiring && h.yes[at].server == e.Process:
		// the client released this key in order to try again
		h.yes = slices.Delete(h.yes, at, at+1)
	}
}

// seat returns the first server in a server's group, or the server itself if it is not in a group. All servers in a
// group hold the same data.
func (st *stage) seat(server sim.ProcessID) sim.ProcessID {
	for _, group := range st.groups {
		if slices.Contains(group, server) {
			return group[0]
		}
	}
	return server
}

// settle keeps only the grants with the given owner value, if there are any. The others belong to earlier rounds of
// requests, which the client believes to have failed. If no grant has this value, settle keeps them all.
func (h *hold) settle(value string) {
	is := func(y *keyGrant) bool { return slices.Contains(y.values[:], value) }
	if slices.ContainsFunc(h.yes, is) {
		h.yes = slices.DeleteFunc(h.yes, func(y *keyGrant) bool { return !is(y) })
	}
}

// answered records that a reply to one of the attempt's requests has arrived. sent is the time at which the client sent
// the request.
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

// agreed returns the grant of a lock that all servers grant together, because they keep a common log. Since is when the
// client began to request the lock, and Granted is the time of the client's report. The grant lasts for the validity
// that the client reported or, if it did not report one, as long as the session or the key's lease. ok is false if that
// is not known.
func (k *client) agreed(h *hold, r *report) (g sim.Grant, ok bool) {
	w := k.stage.world
	var until sim.Time
	var announced *sim.Time
	for _, y := range h.yes {
		until = max(until, y.until)
	}
	switch {
	case r.stated:
		until = w.Now() + history.Of(r.validity)
	case k.stage.Scenario.Service().Kind().Unrecorded:
		ends := k.heard + history.Of(k.config.Lock.TTL)
		h.ends, announced, until = &ends, &ends, history.Never
	case until == 0:
		return g, false
	case r.word == extended: // real members do not record extensions of leases
		until = max(until, h.asked+history.Of(k.config.Lock.TTL))
	}
	since, _ := k.caller.Try()
	return sim.Grant{Since: w.Mark(since), Granted: w.Mark(w.Now()), Counted: k.config.Lock.Servers,
		Until: sim.Deadline{Clock: sim.Monotonic, At: until.Duration(), Announced: announced}}, true
}

// follow records when the client sent each request that has been answered. If the client uses a ZooKeeper session that
// has not ended, such a request extends it until one TTL after the request was sent. The answer also tells the client
// which keys it has set.
func (st *stage) follow() {
	left := map[uint64]sim.Time{}
	st.world.Inspect(func(p sim.Passage) (none sim.Interference) {
		k := st.client(p.Client)
		switch {
		case k == nil || p.Server == history.Resource:
		case !p.Answer && !p.Arrives:
			left[p.Request] = p.At
		case p.Answer && p.Arrives:
			k.heard = max(k.heard, left[p.Request])
			for _, h := range k.holds {
				if h.attempt == p.Attempt {
					h.answered(p.Server, left[p.Request], p.At)
				}
				if h.ends != nil && p.At <= *h.ends {
					*h.ends = k.heard + history.Of(k.config.Lock.TTL)
				}
			}
			delete(left, p.Request)
		}
		return none
	})
}

// grant combines the servers' answers so far into one grant. The lock counts as granted once a quorum has agreed,
// because the client may then decide that it holds the lock. ok is false if no server has agreed.
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
