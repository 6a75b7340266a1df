package etcdserver

import (
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
)

// member is a real etcd member in a simulated world. Package sim calls its methods on the world's goroutine.
type member struct {
	*fleet.Lives
	name    sim.ProcessID
	cluster *cluster
	services
	number int64 // the member's ID, assigned by etcd
	life   *life // the latest life
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*member)(nil)

// Start starts the member. The first time, its process has already been launched; after that, Start launches a new
// process. Requests that arrive before the process is ready wait.
func (m *member) Start(h sim.Host) {
	m.life = &life{Life: m.Begin(h), m: m, conns: map[uint64]*connection{}, streams: map[uint64]*stream{}}
	go m.life.run(m.cluster.records.upTo + 1)
}

// Serve passes a request to the process.
func (m *member) Serve(r *sim.Incoming) {
	if len(r.Args) == 2 && r.Args[0] == bytesPassed {
		m.life.pass(r)
		return
	}
	m.life.connection(r.ConnID).serve(r)
}

// Closed ends the streams of a client's connection. Pending requests are still carried out.
func (m *member) Closed(conn uint64) { m.life.close(conn) }

// Stop stops the member.
func (m *member) Stop(how sim.Stop) {
	m.life.Stop(how, func() error {
		m.Daemon.ShutDown(fleet.Patience, fleet.Patience) // if asked a second time, etcd would end immediately
		return nil
	})
}
