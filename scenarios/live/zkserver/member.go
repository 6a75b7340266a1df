package zkserver

import (
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// member is a member of a real ensemble, in a simulated world. Package sim calls its methods on the world's goroutine.
type member struct {
	*fleet.Lives
	name     sim.ProcessID
	ensemble *ensemble
	// the member's number; if several members have the latest data, the one with the highest number becomes leader
	number int

	host                     string // IP address at which the process listens
	client, quorum, election int    // ports of the process

	// Only the world's goroutine uses the fields below.
	life     *life // the latest one
	excluded bool  // whether the member has lost its disk
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*member)(nil)

// life is the period from a member's start to its next stop. In each life the member has a new process.
type life struct {
	*fleet.Life
	m     *member
	links map[uint64]*link // by the client's connection; only the world's goroutine uses it
	eye   *observer
}

// Start starts the member. The first time, its process has already been launched; later, Start launches a new process.
// If a member's disk is lost, the member stays out of the ensemble, as in package raft, because it may have made
// promises that it no longer remembers.
func (m *member) Start(h sim.Host) {
	x := &life{Life: m.Begin(h), m: m, links: map[uint64]*link{}}
	x.eye = newObserver(x)
	m.life = x
	start := m.Daemon.Start
	if m.excluded {
		start = func() error { return fleet.ErrOver }
	}
	go x.run(start)
}

// run starts the process once the previous one has ended.
func (x *life) run(start func() error) {
	switch err := x.Boot(start); {
	case errors.Is(err, fleet.ErrOver):
	case err != nil:
		x.Fail(err)
	default:
		go x.eye.run()
		x.Watch()
	}
}

// Serve sends a request to the process, on the connection that corresponds to the client's connection. The first
// request on a connection must ask for a session.
func (m *member) Serve(r *sim.Incoming) {
	x, args := m.life, slices.Clone(r.Args)
	l := x.links[r.ConnID]
	switch {
	case m.excluded:
		r.Reply([]byte(raft.Unavailable))
		return
	case len(args) == 0, (l == nil) != enters(args), args[0] == zookeeper.ReqTorn:
		r.Reply([]byte(zookeeper.ClosedReply))
		return
	}
	c := &call{Incoming: r, args: args, attempt: r.Attempt}
	if l == nil {
		l = newLink(x, r.ConnID, r.Client, c)
		x.links[r.ConnID] = l
		go l.run(c)
		return
	}
	l.add(c)
}

// Closed is called when a client's connection ends. It closes the corresponding connection to the member's process.
func (m *member) Closed(conn uint64) {
	if l := m.life.links[conn]; l != nil {
		delete(m.life.links, conn)
		l.over = true
		l.close()
	}
}

// Fault ends a client's sessions. Every member receives the fault, but only the ensemble's first member ends the
// sessions.
func (m *member) Fault(f sim.ServerFault) {
	if f.Kind == sim.ExpireSession && m == m.ensemble.members[0] {
		go m.ensemble.expire(history.Process(f.To))
	}
}

// Stop stops the member.
func (m *member) Stop(how sim.Stop) {
	m.excluded = m.excluded || how == sim.LoseAllState
	m.life.Stop(how, func() error { return m.end(how) })
}
