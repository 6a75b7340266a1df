package redis

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Wake checks all nodes, and then chooses a random time for the next check.
func (s *Sentinel) Wake(uint64) {
	now := s.host.Monotonic()
	if now-s.lastLook > tiltTrigger {
		s.tiltUntil = now + tiltPeriod
	}
	s.lastLook = now
	for _, g := range s.groups {
		s.look(g, now)
	}
	hz := leastHz + s.host.Rand("look", s.round(now))%leastHz
	s.host.WakeAfter(time.Duration(1000/hz)*time.Millisecond, 0)
}

// look checks whether a group's nodes reply, starting with the master. If a failover is in progress, it performs the
// next step.
func (s *Sentinel) look(g *group, now time.Duration) {
	s.visit(g, g.master, now)
	if now >= s.tiltUntil {
		s.failOver(g, now)
	}
	for _, w := range g.nodes {
		if w != g.master {
			s.visit(g, w, now)
		}
	}
	switch {
	case now < s.tiltUntil:
	case g.stage == reconfiguring && s.allFollow(g, now):
		s.switched(g, now)
	case g.stage == idle:
		s.reconfigure(g, now)
	}
}

// visit sends a node the pings and INFO requests that are due, and determines whether the node has been silent for too
// long.
func (s *Sentinel) visit(g *group, w *watched, now time.Duration) {
	s.ask(g, w, now)
	if now < s.tiltUntil {
		return
	}
	silent := time.Duration(0)
	switch {
	case w.waiting:
		silent = now - w.pinged
	case !w.linked:
		silent = now - w.lastPong
	}
	down := silent > s.cfg.DownAfter || w == g.master && w.wrong && now-w.wrongSince > s.cfg.DownAfter+2*infoPeriod
	if down && !w.down {
		w.downAt = now
	}
	w.down = down
	if !s.reachable(w, now) {
		w.wrong = w.wrong && w == g.master // other nodes must be reachable again for a while first
	}
}

// ask sends a node the PING and INFO requests that are due. If there is no connection yet, it connects first.
func (s *Sentinel) ask(g *group, w *watched, now time.Duration) {
	if !w.linked {
		if now-w.dialed < s.cfg.PingEvery {
			return
		}
		w.linked, w.dialed, w.asked = true, now, now-2*closeInfoPeriod
		s.ping(w, now)
	}
	period := infoPeriod
	if w != g.master && (g.master.down || g.stage != idle || w.linkDown > 0) {
		period = closeInfoPeriod
	}
	if (!w.informed || now-w.info > period) && now-w.asked > closeInfoPeriod {
		w.asked = now
		s.host.Send(w.name, phaseInfo, s.round(now), probe{Key: s.round(now), Info: true})
	}
	if every := min(s.cfg.PingEvery, s.cfg.DownAfter); now-w.lastPong > every && now-w.lastPing > every/2 {
		s.ping(w, now)
	}
}

func (s *Sentinel) ping(w *watched, now time.Duration) {
	if w.lastPing = now; !w.waiting {
		w.waiting, w.pinged = true, now
	}
	s.host.Send(w.name, phasePing, s.round(now), probe{Key: s.round(now)})
}

// round returns the time on the Sentinel's clock in units of 50 ms, which is slightly less than the shortest interval
// between two checks. It is used in the keys of random draws (see sim.Key). So when a later check sends the same
// message again, the key is different, and the message can have a different delay.
func (s *Sentinel) round(now time.Duration) sim.Key {
	return sim.Key(now / (time.Second / (2 * leastHz)))
}

// assign orders a node to follow the given master. If the node itself is that master, assign orders it to become a
// master.
func (s *Sentinel) assign(w, master *watched, now time.Duration) {
	s.host.Send(w.name, phaseOrder, s.round(now).Text(string(master.name)), order{master.name})
}

// reachable reports whether a node has answered recently.
func (s *Sentinel) reachable(w *watched, now time.Duration) bool {
	return w.informed && w.linked && now-w.lastPong <= 5*s.cfg.PingEvery
}

// failOver begins a failover if the master is down or a fault has ordered one. If a failover is in progress, it
// performs one step (sentinelFailoverStateMachine).
func (s *Sentinel) failOver(g *group, now time.Duration) {
	if g.stage == idle {
		s.beginFailover(g, now)
	}
	switch g.stage {
	case starting:
		g.enter(selecting, now)
	case selecting:
		if g.promoting == nil {
			g.promoting = s.chooseReplica(g, now)
		}
		if g.promoting == nil {
			g.abort()
			return
		}
		g.enter(ordering, now)
	case ordering:
		if g.promoting.linked {
			s.assign(g.promoting, g.promoting, now)
			g.enter(awaiting, now)
		}
		fallthrough
	case awaiting:
		if now-g.since > s.cfg.FailoverTimeout {
			g.abort()
		}
	case reconfiguring:
		s.sendNext(g, now)
	}
}

// beginFailover begins a failover if there is a reason for it, and if enough time has passed since the last failed
// failover. If a fault has ordered the failover, it begins without this delay.
func (s *Sentinel) beginFailover(g *group, now time.Duration) {
	if g.wanted == g.master {
		g.wanted = nil
	}
	ordered := g.wanted != nil && s.selectable(g, g.wanted, now)
	if !ordered && (!g.master.down || g.attempted && now-g.began < 2*s.cfg.FailoverTimeout) {
		return
	}
	if ordered {
		g.promoting = g.wanted
	}
	late := time.Duration(s.host.Rand("failover", s.round(now))%1000) * time.Millisecond
	g.attempted, g.began = true, now+late
	g.enter(starting, now)
}

func (g *group) enter(next stage, now time.Duration) { g.stage, g.since = next, now }

func (g *group) abort() { g.stage, g.promoting = idle, nil }

// noteLinks records how long the replicas' links have been down.
func (g *group) noteLinks(silent []silence) {
	for _, w := range g.nodes {
		w.linkDown = 0
		if i := slices.IndexFunc(silent, func(s silence) bool { return s.replica == w.name }); i >= 0 {
			w.linkDown = silent[i].down
		}
	}
}

// selectable reports whether a replica may be promoted (sentinelSelectSlave). It must have answered a ping and an INFO
// recently. Also, its link to the master must not have been down for longer than ten times DownAfter, not counting the
// time during which the master itself has been down.
func (s *Sentinel) selectable(g *group, w *watched, now time.Duration) bool {
	fresh := 3 * infoPeriod
	if g.master.down {
		fresh = 5 * s.cfg.PingEvery
	}
	return w != g.master && !w.down && s.reachable(w, now) && now-w.info <= fresh && w.linkDown <= 10*s.cfg.DownAfter
}

// chooseReplica returns the replica to promote, or nil if there is none. It chooses the selectable replica with the
// highest offset in its last INFO. In case of a tie, it chooses the first in the group's order.
func (s *Sentinel) chooseReplica(g *group, now time.Duration) *watched {
	var best *watched
	for _, w := range g.nodes {
		if s.selectable(g, w, now) && (best == nil || w.last.Offset > best.last.Offset) {
			best = w
		}
	}
	return best
}

// sendNext orders the next replica to follow the new master, unless another replica is still switching to it
// (parallel-syncs 1). It stops waiting for a replica that is taking too long (sentinelFailoverReconfNextSlave).
func (s *Sentinel) sendNext(g *group, now time.Duration) {
	for _, w := range g.nodes {
		w.follows = w.follows || w.sentAfter && now-w.sentAt > reconfTimeout
	}
	if slices.ContainsFunc(g.nodes, func(w *watched) bool { return w.sentAfter && !w.follows }) {
		return
	}
	for _, w := range g.otherReplicas() {
		if !w.follows && w.linked {
			w.sentAfter, w.sentAt = true, now
			s.assign(w, g.promoting, now)
			return
		}
	}
}

// otherReplicas returns all replicas except the one that is being promoted.
func (g *group) otherReplicas() []*watched {
	return slices.DeleteFunc(slices.Clone(g.nodes), func(w *watched) bool { return w == g.master || w == g.promoting })
}

// allFollow reports whether every replica that is up is following the new master. It returns false while the new master
// is down. After FailoverTimeout, it stops waiting for replicas: it tells the remaining ones to follow the new master,
// and returns true (sentinelFailoverDetectEnd).
func (s *Sentinel) allFollow(g *group, now time.Duration) bool {
	if g.promoting.down {
		return false
	}
	late := now-g.since > s.cfg.FailoverTimeout
	for _, w := range g.otherReplicas() {
		switch {
		case w.follows || w.down && !late:
		case !late:
			return false
		case !w.sentAfter && w.linked:
			s.assign(w, g.promoting, now)
		}
	}
	return true
}

// Receive handles a node's answer, or a notification that a node has closed the connection.
func (s *Sentinel) Receive(from sim.ProcessID, body any) {
	now := s.host.Monotonic()
	for _, g := range s.groups {
		w := g.node(from)
		if w == nil {
			continue
		}
		switch m := body.(type) {
		case leave:
			w.linked = false
		case pong:
			if w == g.master && m.Master == "" {
				g.noteLinks(m.Silent)
			}
			if m.Info {
				s.informed(g, w, m, now)
			} else {
				w.waiting, w.lastPong = false, now
			}
			w.linked = true
		}
	}
}

// informed records what a node reports in reply to INFO.
func (s *Sentinel) informed(g *group, w *watched, m pong, now time.Duration) {
	w.informed, w.info, w.last = true, now, m
	s.note(g, w, now)
	switch {
	case now < s.tiltUntil:
	case g.stage == awaiting && w == g.promoting && m.Master == "":
		g.enter(reconfiguring, now)
	case g.stage == reconfiguring && w.sentAfter && m.Master == g.promoting.name && m.Linked:
		w.follows = true
	}
}

// current returns the node that the Sentinel names when clients ask for the master. A promoted replica counts as the
// master even before the switch has been announced.
func (g *group) current() *watched {
	if g.stage == reconfiguring {
		return g.promoting
	}
	return g.master
}

// switched announces that a group has a new master, and starts monitoring the group from scratch.
func (s *Sentinel) switched(g *group, now time.Duration) {
	old, w := g.master, g.promoting
	g.master = w
	s.meet(g, now)
	notice := switchMaster + " " + string(old.name) + " " + string(w.name)
	for _, conn := range s.subscribers {
		s.host.Push(conn, s.round(now).Text(notice), []byte(notice))
	}
	if s.face != nil {
		s.face.announce("+"+switchMaster,
			strings.Join([]string{g.name, string(old.name), resp.Port, string(w.name), resp.Port}, " "))
	}
}

// note records when a node was first seen following the wrong master. If it is now following the right one, note clears
// the record.
func (s *Sentinel) note(g *group, w *watched, now time.Duration) {
	wrong := w.last.Master != g.master.name
	if w == g.master {
		wrong = w.last.Master != ""
	}
	if wrong && !w.wrong {
		w.wrongSince = now
	}
	w.wrong = wrong
}

// reconfigure makes nodes follow the master if they are following the wrong one or none. While the master is down or
// has not reported that it is a master, reconfigure does nothing. A node must have been reachable in the wrong state
// for some time: a replica of another node for FailoverTimeout, and a node that is itself a master for
// ReconfigureAfter.
func (s *Sentinel) reconfigure(g *group, now time.Duration) {
	if m := g.master; m.down || !m.informed || m.last.Master != "" {
		return
	}
	for _, w := range g.nodes {
		patience := s.cfg.ReconfigureAfter
		if w.last.Master != "" {
			patience = s.cfg.FailoverTimeout
		}
		if w.wrong && !w.down && now-w.wrongSince >= patience {
			w.wrong = false
			s.assign(w, g.master, now)
		}
	}
}
