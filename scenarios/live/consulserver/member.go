package consulserver

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// member is a real Consul server in a simulated world. Package sim calls its methods on the world's goroutine.
type member struct {
	*fleet.Lives
	name    sim.ProcessID
	cluster *cluster
	gossip  int         // the port for gossip
	life    *fleet.Life // the latest life
}

var _ interface {
	sim.Peer
	sim.Pauser
} = (*member)(nil)

// rpc returns the address at which the process listens for other servers.
func (m *member) rpc() netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(m.Port.Own()), uint16(m.Port.Number()))
}

// Start starts the server. The first time, its process has already been launched; after that, Start launches a new
// process. Requests that arrive before the process is ready wait.
func (m *member) Start(h sim.Host) {
	m.life = m.Begin(h)
	go m.run(m.life)
}

// run starts the process once the previous one has ended, and watches all keys until the life ends.
func (m *member) run(x *fleet.Life) {
	if err := x.Boot(m.Daemon.Start); err != nil {
		x.Fail(err)
		return
	}
	go x.Watch()
	listens := func() error {
		_, err := m.status(x.Context)
		return err
	}
	if !x.Accept(listens) {
		return
	}
	var index string
	look := func() (err error) {
		index, err = m.look(x, "stale=&index="+index)
		return err
	}
	for x.Insist(look) == nil {
	}
}

// Serve passes a request to the process. A reply to a client is passed on once everything that it may show is recorded.
func (m *member) Serve(r *sim.Incoming) {
	request, ok := http1.Read(r.Args)
	if !ok {
		r.Reply(http1.Reply(http.StatusBadRequest, []byte("400 Bad Request")))
		return
	}
	x, p := m.life, consul.PurposeOf(&request)
	m.cluster.records.ask(p, r.Attempt)
	go func() {
		if !x.Accepts(x.Context) {
			return
		}
		a, err := m.ask(x.Context, &request)
		switch {
		case err != nil:
			a.reply = http1.Reply(http.StatusInternalServerError, []byte("fencepost: "+err.Error()))
		case a.Code < http.StatusInternalServerError:
			_ = x.Insist(func() error {
				_, err := m.look(x, p.Mode)
				return err
			})
		}
		x.Do(func() {
			if p.Creates {
				m.cluster.records.created(a.Session(), session{r.Client, p.TTL})
			}
			r.Reply(a.reply)
		})
	}()
}

// look reads all keys and records who holds them. It returns the keys' index.
func (m *member) look(x *fleet.Life, options string) (index string, err error) {
	list, n, err := m.keys(x.Context, options)
	if err == nil {
		x.Do(func() { m.cluster.records.take(m.Host, list, n) })
	}
	return fmt.Sprint(n), err
}

// Fault ends a client's sessions, as the client itself could. Every server receives the fault, but only the first one
// acts on it. It sends the requests to any server that answers.
func (m *member) Fault(f sim.ServerFault) {
	if f.Kind != sim.ExpireSession || m != m.cluster.members[0] {
		return
	}
	for _, id := range m.cluster.records.of(history.Process(f.To)) {
		go m.cluster.end(id)
	}
}

// Stop stops the server.
func (m *member) Stop(how sim.Stop) {
	m.life.Stop(how, func() error {
		m.Daemon.ShutDown(fleet.Patience, fleet.Patience)
		return nil
	})
}

// answers is how long a running server may take to answer the run's own requests.
const answers = 2 * time.Second
