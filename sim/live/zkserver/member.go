package zkserver

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consensus"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// member is a real member in a simulated world. The kernel calls it on the world's goroutine.
type member struct {
	name    sim.ProcessID
	cfg     *settings
	program *program

	// The fields below are the scribe's.
	log     logReader
	unread  []txn // of its log, that are not recorded
	reached int64 // it is known to have carried out this zxid

	// The fields below are the world's goroutine's.
	host     sim.Host
	life     *life         // nil between lives
	ended    chan struct{} // closed once the last life's process has ended; nil before the first life has
	excluded bool          // its disk is gone

	failed sync.Once
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*member)(nil)

// life is one life of a member's process.
type life struct {
	m       *member
	over    chan struct{}    // closed when it ends
	started chan struct{}    // closed when its process has been started, or will not be
	links   map[uint64]*link // the world's goroutine's
	eye     *observer
}

// isOver reports whether the life has ended.
func (x *life) isOver() bool {
	select {
	case <-x.over:
		return true
	default:
		return false
	}
}

// end ends the life here; the process is another matter.
func (x *life) end() {
	close(x.over)
	for _, l := range x.links {
		l.close()
	}
}

// do has f done on the world's goroutine, unless the life is over then.
func (x *life) do(f func()) {
	x.m.cfg.loop.Do(func() {
		if x.m.life == x {
			x.m.program.gate.Drain() // what it has sent before it said this
			f()
		}
	})
}

// Start begins a life: the first with the process that has been launched, each later one with a new process. One whose
// disk is gone stays out of the ensemble, as in package consensus: it may have promised what it no longer knows.
func (m *member) Start(h sim.Host) {
	m.host = h
	x := &life{m: m, over: make(chan struct{}), started: make(chan struct{}), links: map[uint64]*link{}}
	x.eye = newObserver(x)
	m.life = x
	m.program.gate.Up(h, x.started)
	before := m.ended
	m.ended = make(chan struct{})
	if m.excluded {
		close(x.started)
		return
	}
	go func() {
		if err := m.boot(x, before); err != nil && !x.isOver() {
			m.fail(err)
		}
	}()
}

// boot has a process run, once the one before has ended.
func (m *member) boot(x *life, before <-chan struct{}) error {
	if err := m.restart(x, before); err != nil {
		return err
	}
	go x.eye.run()
	select {
	case <-m.program.Ended():
		return m.program.Died()
	case <-x.over:
		return nil
	}
}

// restart starts a process if there has been one before.
func (m *member) restart(x *life, before <-chan struct{}) error {
	defer close(x.started)
	if before == nil {
		return nil
	}
	<-before
	if x.isOver() {
		return nil
	}
	return m.program.spawn()
}

// fail reports, once, why the run cannot go on.
func (m *member) fail(err error) { m.failed.Do(func() { m.cfg.Failed(err) }) }

// Receive takes what another member has sent.
func (m *member) Receive(_ sim.ProcessID, body any) { m.program.gate.Receive(body) }

// Serve says a request to the process, on the connection that stands for its client's. The first there must ask for a
// session.
func (m *member) Serve(r *sim.Incoming) {
	x, args := m.life, slices.Clone(r.Args)
	l := x.links[r.ConnID]
	switch {
	case m.excluded:
		r.Reply([]byte(consensus.Unavailable))
		return
	case len(args) == 0, (l == nil) != (args[0] == zookeeper.ReqConnect):
		r.Reply([]byte(zookeeper.Closed))
		return
	}
	c := &call{Incoming: r, args: args, attempt: r.Attempt}
	if l == nil {
		l = newLink(x, r.ConnID, r.Client, c)
		x.links[r.ConnID] = l
		go l.run(c)
		return
	}
	if l.visit != nil {
		l.visit.heard(m.host.Due(l.visit.timeout), m.host.Due(0))
	}
	l.add(c)
}

// Closed closes the connection that stands for a client's.
func (m *member) Closed(conn uint64) {
	if l := m.life.links[conn]; l != nil {
		delete(m.life.links, conn)
		l.over = true
		l.close()
	}
}

// Wake does nothing: it sets no timer.
func (m *member) Wake(uint64) {}

// ClockChanged has the process's wall clock show what the world's does.
func (m *member) ClockChanged() {
	if err := m.program.shim.SetClocks(m.host); err != nil {
		m.fail(fmt.Errorf("setting the clocks of %s: %w", m.name, err))
	}
}

// Fault ends the sessions of a client. All members are told, and one sees to it.
func (m *member) Fault(f sim.ServerFault) {
	if f.Kind == sim.ExpireSession && m == m.cfg.scribe.members[0] {
		go m.cfg.expire(history.Process(f.To))
	}
}

// Pause stops the process.
func (m *member) Pause() { m.hold(true) }

// Resume lets it go on.
func (m *member) Resume() { m.hold(false) }

func (m *member) hold(on bool) {
	if err := m.program.Hold(on); err != nil {
		m.fail(fmt.Errorf("pausing %s: %w", m.name, err))
	}
}

// Stop ends the life.
func (m *member) Stop(how sim.Stop) {
	x := m.life
	m.life = nil
	x.end()
	m.excluded = m.excluded || how == sim.LoseAllState
	if how != sim.ShutDown {
		m.program.gate.Off()
		m.program.Kill()
	}
	ended := m.ended
	go func() {
		defer close(ended)
		<-x.started // so the process that is ended is this life's
		if err := m.program.end(how); err != nil {
			m.fail(fmt.Errorf("ending %s: %w", m.name, err))
		}
	}()
}
