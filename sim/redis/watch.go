package redis

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Wake is a look at all nodes, or an order that a fault gave.
func (s *Sentinel) Wake(tag uint64) {
	now := s.host.Monotonic()
	switch tag {
	case sentinelTick:
		if now-s.lastTick > s.cfg.PingEvery+tiltTrigger {
			s.tiltUntil = now + tiltPeriod
		}
		s.lastTick = now
		s.host.WakeAfter(s.cfg.PingEvery, sentinelTick)
		for _, sh := range s.groups {
			s.pingAll(sh, now)
		}
	case sentinelOrder:
		for _, to := range s.ordered {
			s.order(to, now)
		}
		s.ordered = nil
		return
	}
	for _, sh := range s.groups {
		s.look(sh, now)
	}
}

// pingAll pings the nodes of a group. The one that was to be promoted is ordered again: it may have been down.
func (s *Sentinel) pingAll(sh *group, now time.Duration) {
	for _, w := range sh.nodes {
		if !w.waiting {
			w.waiting, w.pinged = true, now
		}
		key := s.round(now)
		s.host.Send(w.name, phaseProbe, key, probe{Key: key})
	}
	if sh.promoting != nil && now > sh.since {
		s.assign(sh.promoting, sh.promoting, now)
	}
}

// round is how often the Sentinel could have pinged by its own time. It distinguishes what is sent again and again.
func (s *Sentinel) round(now time.Duration) sim.Key { return sim.Key(now / s.cfg.PingEvery) }

// assign orders a node to follow another, or to be master if that is itself.
func (s *Sentinel) assign(w, master *watched, now time.Duration) {
	key := s.round(now).Text(string(master.name))
	s.host.Send(w.name, phaseOrder, key, order{Master: master.name, Key: key})
}

// down reports whether a node has left a ping unanswered for too long.
func (s *Sentinel) down(w *watched, now time.Duration) bool {
	return w.waiting && now-w.pinged >= s.cfg.DownAfter
}

// abdicated reports whether the master has long said that it follows another.
func (s *Sentinel) abdicated(sh *group, now time.Duration) bool {
	return sh.master.wrong && now-sh.master.wrongSince >= s.cfg.DownAfter+2*infoPeriod
}

// reachable reports whether a node has answered of late.
func (s *Sentinel) reachable(w *watched, now time.Duration) bool {
	return w.answered && now-w.lastPong <= 5*s.cfg.PingEvery
}

// look fails a group over whose master is down, and puts right who follows whom.
func (s *Sentinel) look(sh *group, now time.Duration) {
	if now < s.tiltUntil {
		return
	}
	for _, w := range sh.nodes {
		if !s.reachable(w, now) {
			w.wrong = false // it must be reachable for a while anew
		}
	}
	if sh.promoting != nil && now-sh.since >= s.cfg.FailoverTimeout {
		sh.promoting = nil
	}
	switch {
	case sh.promoting != nil:
	case s.down(sh.master, now) || s.abdicated(sh, now):
		if best := s.best(sh, now); best != nil {
			s.promote(sh, best, now)
		}
	default:
		s.arrangeLook(sh.master, now)
		s.reconfigure(sh, now)
	}
}

// arrangeLook has the Sentinel look when the master's oldest ping has been unanswered for long enough, if that is
// before the next tick.
func (s *Sentinel) arrangeLook(w *watched, now time.Duration) {
	at := w.pinged + s.cfg.DownAfter
	if w.waiting && at != s.checked && at < s.lastTick+s.cfg.PingEvery {
		s.checked = at
		s.host.WakeAfter(at-now, wakeLook)
	}
}

// noteLinks keeps for how long the links of the replicas have been down.
func (sh *group) noteLinks(silent []silence) {
	for _, w := range sh.nodes {
		w.linkDown = 0
		if i := slices.IndexFunc(silent, func(s silence) bool { return s.replica == w.name }); i >= 0 {
			w.linkDown = silent[i].down
		}
	}
}

// stale reports that the link of a replica has been down for longer than the master has, and ten times DownAfter more
// (sentinelSelectSlave). That the master is down makes no difference: from then on both grow alike.
func (s *Sentinel) stale(w *watched) bool { return w.linkDown > 10*s.cfg.DownAfter }

// best is the replica that has come farthest of those that answer and are not stale, in the group's order among equals;
// nil if there is none.
func (s *Sentinel) best(sh *group, now time.Duration) *watched {
	var best *watched
	for _, w := range sh.nodes {
		if w != sh.master && s.reachable(w, now) && !s.stale(w) && (best == nil || w.last.Offset > best.last.Offset) {
			best = w
		}
	}
	return best
}

// promote orders a node to be master.
func (s *Sentinel) promote(sh *group, w *watched, now time.Duration) {
	sh.promoting, sh.since = w, now
	s.assign(w, w, now)
}

// order carries out a fault: its group fails over to the node named.
func (s *Sentinel) order(to sim.ProcessID, now time.Duration) {
	for _, sh := range s.groups {
		for _, w := range sh.nodes {
			if w.name == to && w != sh.master {
				s.promote(sh, w, now)
			}
		}
	}
}

// Receive takes the answer of a node.
func (s *Sentinel) Receive(from sim.ProcessID, body any) {
	m, ok := body.(pong)
	if !ok {
		return
	}
	now := s.host.Monotonic()
	for _, sh := range s.groups {
		i := slices.IndexFunc(sh.nodes, func(w *watched) bool { return w.name == from })
		if i < 0 {
			continue
		}
		w := sh.nodes[i]
		w.answered, w.waiting, w.lastPong, w.last = true, false, now, m
		if w == sh.master && m.Master == "" {
			sh.noteLinks(m.Silent)
		}
		if w == sh.promoting && m.Master == "" {
			s.switched(sh, w, now)
		}
		s.note(sh, w, now)
	}
}

// switched announces that a group has a new master.
func (s *Sentinel) switched(sh *group, w *watched, now time.Duration) {
	old := sh.master
	sh.master, sh.promoting = w, nil
	notice := switchMaster + " " + string(old.name) + " " + string(w.name)
	for _, conn := range s.subscribers {
		s.host.Push(conn, s.round(now).Text(notice), []byte(notice))
	}
	if s.face != nil {
		s.face.announce("+"+switchMaster,
			strings.Join([]string{sh.name, string(old.name), resp.Port, string(w.name), resp.Port}, " "))
	}
	for _, other := range sh.nodes {
		if other != w && other != old {
			s.assign(other, w, now)
		}
		s.note(sh, other, now)
	}
}

// note keeps since when a node says that it follows the wrong master.
func (s *Sentinel) note(sh *group, w *watched, now time.Duration) {
	wrong := w.answered && w.last.Master != sh.master.name
	if w == sh.master {
		wrong = w.answered && w.last.Master != ""
	}
	if wrong && !w.wrong {
		w.wrongSince = now
	}
	w.wrong = wrong
}

// reconfigure sends those after the master who have been reachable and wrong for long enough, while it is there to
// follow.
func (s *Sentinel) reconfigure(sh *group, now time.Duration) {
	if !sh.master.answered || sh.master.last.Master != "" {
		return
	}
	for _, w := range sh.nodes {
		if w.wrong && now-w.wrongSince >= s.cfg.ReconfigureAfter {
			w.wrong = false
			s.assign(w, sh.master, now)
		}
	}
}
