package redisserver

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// group records which server in a group is the master, and what has been lost in failovers, as redis.Group does for
// simulated nodes. Only the world's goroutine may use it.
type group struct {
	members []*Server
	master  *Server // the server that was promoted last
	lost    map[store.Title]history.Why
	past    *past // shared by the members, because a new master has values that clients have set on other members
}

// promoted makes s the master, and records how its data differs from what the old master's records say.
func (g *group) promoted(s *Server, keys []store.Key) {
	old := g.master
	r := &s.records
	if old != s {
		if f := s.cfg.Promoted; f != nil {
			f(old.name, s.name)
		}
		g.master = s
		r.before = old.records.standing()
		old.records.held = map[store.Title]bool{}
		for i := range r.before {
			old.records.held[r.before[i].Title()] = true
		}
	}
	r.known, r.replica, r.lost, r.held = false, false, history.LostInFailover, nil
	r.survey(s.Host.Wall(), keys)
}

// demoted records what a deposed master loses when it replaces its data with the new master's: writes that it received
// after it was deposed, and everything that was lost in the failover.
func (g *group) demoted(s *Server, keys []store.Key) {
	r := &s.records
	r.data.Begin(s.Host.Wall())
	for _, h := range r.standing() {
		of, there := g.master.records.data.OwnerOf(&h)
		if there && of == h.Owner {
			continue
		}
		why := g.lost[h.Title()]
		if why == "" && !r.held[h.Title()] {
			why = history.LostInFailover
		}
		if why != "" && r.data.Now > h.Deadline {
			why = history.Expired
		}
		if why != "" {
			r.data.Record(h.Gone(why))
		}
	}
	r.replica, r.held, r.before = true, nil, nil
	r.survey(s.Host.Wall(), keys)
}

// standing returns the values that a server has according to its records.
func (r *records) standing() []store.Holding {
	if !r.known {
		return r.before
	}
	return r.data.Snapshot().Holdings()
}
