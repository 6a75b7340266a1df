package etcdserver

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// member is a real etcd in a simulated world. The kernel calls it on the world's goroutine.
type member struct {
	*relay.Lives
	name    sim.ProcessID
	fleet   *Fleet
	gateway gateway
	number  string // etcd's ID of it

	// The fields below are the world's goroutine's.
	host sim.Host
	life *life // nil between lives
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*member)(nil)

// Start starts a life: the first with the process that the fleet has started, each later one with a new process.
// Requests that arrive before it is ready wait.
func (m *member) Start(h sim.Host) {
	m.host = h
	x := &life{Life: m.Begin(h), m: m, ready: make(chan struct{}), conns: map[uint64]*connection{}}
	m.life = x
	go x.run(m.fleet.records.upTo + 1)
}

// Receive receives what another member has sent.
func (m *member) Receive(_ sim.ProcessID, body any) { m.Port.Receive(body) }

// Serve sends a request to the process, after the earlier ones of the same connection.
func (m *member) Serve(r *sim.Incoming) {
	m.life.connection(r.ConnID).add(&request{Incoming: r, member: m, conn: r.ConnID, attempt: r.Attempt,
		args: slices.Clone(r.Args)})
}

// Closed ends the watches of a connection. Its requests go on.
func (m *member) Closed(conn uint64) { m.life.close(conn) }

// Wake does nothing: it sets no timer.
func (m *member) Wake(uint64) {}

// ClockChanged does nothing: its clocks are the host's, and clock faults on them are refused.
func (m *member) ClockChanged() {}

// Fault does nothing: the faults of this kind are refused.
func (m *member) Fault(sim.ServerFault) {}

// patience is how long processes may take to start, to agree and to end: many times what they need.
const patience = 30 * time.Second

// Stop ends the life.
func (m *member) Stop(how sim.Stop) {
	x := m.life
	m.life = nil
	x.Stop(how, func() error {
		m.Daemon.ShutDown(patience, patience) // asked twice, etcd ends at once
		return nil
	})
}
