package etcdserver

import (
	"maps"
	"slices"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// life is the period from one start of a member's process to its next stop.
type life struct {
	*fleet.Life
	m *member

	// Only the world's goroutine uses the fields below.
	conns   map[uint64]*connection
	streams map[uint64]*stream
}

// run starts the process once the previous one has ended, and records the changes that it reports, starting with the
// given revision.
func (x *life) run(from int64) {
	if err := x.Boot(x.m.start); err != nil {
		x.Fail(err)
		return
	}
	go x.Watch()
	leads := func() error { // a process accepts requests once it knows a leader
		_, err := x.m.services.read(x.Context, etcd.AskStatus())
		return err
	}
	if !x.Accept(leads) {
		return
	}
	if err := x.look(from); err != nil {
		x.Explain(err)
	}
}

// look records all changes that the member reports, starting with the given revision.
func (x *life) look(from int64) error {
	return x.m.services.follow(x.Context, etcd.Watch{Key: "\x00", End: "\x00", From: from}, func(r *etcd.Response) {
		revisions := map[int64][]change{}
		for _, e := range r.Events {
			revisions[e.Mod] = append(revisions[e.Mod], change{WatchEvent: e})
		}
		if x.m.cluster.passes.Load() {
			x.m.services.learn(x.Context, revisions)
		}
		x.Do(func() {
			for _, n := range slices.Sorted(maps.Keys(revisions)) {
				x.m.cluster.records.take(x.m, n, revisions[n])
			}
		})
	})
}

// close ends all streams on a client's connection.
func (x *life) close(id uint64) {
	if s := x.streams[id]; s != nil {
		s.over = true
		delete(x.streams, id)
		s.close()
	}
	if c := x.conns[id]; c != nil {
		c.stop()
		delete(x.conns, id)
	}
}
