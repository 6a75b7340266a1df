package etcdserver

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live/daemon"
	"github.com/fencepost-sim/fencepost/sim/live/relay"
)

// member is a real etcd in a simulated world. The kernel calls it on the world's goroutine.
type member struct {
	name    sim.ProcessID
	fleet   *Fleet
	program *daemon.Daemon
	port    *relay.Port
	gateway gateway
	number  string // by which etcd calls it

	// The fields below are the world's goroutine's.
	host  sim.Host
	life  *life         // nil between lives
	ended chan struct{} // closed once the last life's process has ended; nil before the first life has
	seen  int64         // the latest revision of which it has told
	unled sim.Time      // when it was last asked and did not say that it leads

	failed sync.Once
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*member)(nil)

// now is the world's time.
func (m *member) now() sim.Time { return m.host.Due(0) }

// Start begins a life: the first with the process that the fleet has started, each later one with a new process.
// Requests that arrive before it is ready wait.
func (m *member) Start(h sim.Host) {
	m.host = h
	x := newLife(m)
	m.life = x
	m.port.Up(h, x.started)
	before := m.ended
	m.ended = make(chan struct{})
	go x.run(before, m.seen+1)
}

// Receive takes what another member has sent.
func (m *member) Receive(_ sim.ProcessID, body any) { m.port.Receive(body) }

// Serve puts a request to the process, after those that came on the same connection before.
func (m *member) Serve(r *sim.Incoming) {
	q := &request{Incoming: r, member: m, life: m.life, conn: r.ConnID, attempt: r.Attempt, args: slices.Clone(r.Args)}
	m.life.connection(r.ConnID).add(q)
}

// Closed ends the watches of a connection. What it has asked goes on.
func (m *member) Closed(conn uint64) { m.life.close(conn) }

// Wake does nothing: it sets no timer.
func (m *member) Wake(uint64) {}

// ClockChanged does nothing: its clocks are the host's, and faults that strike them are refused.
func (m *member) ClockChanged() {}

// Fault does nothing: what it is told of is refused.
func (m *member) Fault(sim.ServerFault) {}

// Pause stops the process.
func (m *member) Pause() { m.hold(true) }

// Resume lets it go on.
func (m *member) Resume() { m.hold(false) }

func (m *member) hold(on bool) {
	if err := m.program.Hold(on); err != nil {
		m.fail(fmt.Errorf("pausing %s: %w", m.name, err))
	}
}

// patience is how long processes may take to start, to agree and to end: many times what they take.
const patience = 30 * time.Second

// Stop ends the life.
func (m *member) Stop(how sim.Stop) {
	x := m.life
	m.life = nil
	x.end()
	m.fleet.ledger.abandon(x)
	if how != sim.ShutDown {
		m.port.Off()
		m.program.Kill()
	}
	ended := m.ended
	go func() {
		defer close(ended)
		<-x.started                            // so the process that is ended is this life's
		m.program.ShutDown(patience, patience) // asked twice, etcd ends at once
	}()
}

// fail reports, once, why the run cannot go on.
func (m *member) fail(err error) { m.failed.Do(func() { m.fleet.Failed(err) }) }
