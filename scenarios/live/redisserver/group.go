package redisserver

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// group is the onlooker of a master and its replicas: it says what a failover has lost, as that of the simulated nodes
// does (redis.Group). It belongs to the world's goroutine.
type group struct {
	members []*Server
	master  *Server // the one promoted last
	lost    map[store.Title]history.Why
	past    *past // a new master has what others have set
}

// promoted records how the data of a new master differs from what stands by the records of the old one.
func (g *group) promoted(s *Server, keys []store.Key) {
	old := g.master
	r := &s.records
	if old != s {
		if f := s.cfg.Promoted; f != nil {
			f(old.name, s.name)
		}
		g.master = s
		r.before = old.records.standing()
		old.records.told = map[store.Title]bool{}
		for i := range r.before {
			old.records.told[r.before[i].Title()] = true
		}
	}
	r.known, r.replica, r.lost, r.told = false, false, history.LostInFailover, nil
	r.survey(s.host.Wall(), keys)
}

// demoted records what a deposed master loses by taking its new master's data in place of its own: what it was told
// since it was deposed, and what the failover has lost.
func (g *group) demoted(s *Server, keys []store.Key) {
	r := &s.records
	r.data.Begin(s.host.Wall())
	for _, h := range r.standing() {
		of, there := g.master.records.data.OwnerOf(&h)
		if there && of == h.Owner {
			continue
		}
		why := g.lost[h.Title()]
		if why == "" && !r.told[h.Title()] {
			why = history.LostInFailover
		}
		if why != "" && r.data.Now > h.Deadline {
			why = history.Expired
		}
		if why != "" {
			r.data.Record(h.Gone(why))
		}
	}
	r.replica, r.told, r.before = true, nil, nil
	r.survey(s.host.Wall(), keys)
}

// standing is what stands by the records of a server.
func (r *records) standing() []store.Holding {
	if !r.known {
		return r.before
	}
	return r.data.Snapshot().Holdings()
}
