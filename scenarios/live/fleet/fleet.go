// Package fleet replaces a simulated world's servers with server processes on the host. It contains what redis-server,
// etcd, ZooKeeper and Consul have in common.
//
// A [Fleet] contains one run's servers. A server's [Lives] are its successive processes, all in the same folder. Other
// servers reach it at its [Port], so that everything that servers send each other travels over the world's links.
//
// A port has an address that belongs to the fleet and is the same for all callers, so that servers can name each other.
// The server's process listens on another address, its own loopback address. A caller is identified by the process that
// holds the socket. Connections from any other process are refused before any of their bytes are read, no matter which
// user is running that process. If a program cannot be given other addresses for its peers, its port is a SOCKS proxy
// instead.
//
// What a process sends is cut into chunks as it arrives. Each chunk is a message between two servers ([sim.Host],
// Send): it is subject to the link's delay, waits while the link is cut, is delayed by faults, and is lost with the
// machine that it is sent to. The same applies to opening and ending a connection.
//
// A machine that loses power does not send anything more. Processes that are connected to it do not notice until it is
// back. Then it resets their connections, as a machine does with connections that it does not know.
//
// This package runs in real time, with goroutines, processes and sockets. It touches the world only on the world's
// goroutine.
//
// Goals: faults in servers and in the links between them mean the same as for simulated servers; nothing left over from
// one of a server's processes affects the next; everything that a server has sent before it stops, or before it is
// drained, is delivered.
//
// Non-goals: knowledge of the servers' protocols. How a byte stream is cut, and therefore the number of chunks on a
// link, depends on the host.
package fleet

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Fleet contains one run's real servers.
type Fleet struct {
	Keeper *process.Keeper
	Failed func(error) // called, on any goroutine, with the reason why the run cannot go on

	gate    gate
	relay   *Relay
	lives   []*Lives
	servers map[sim.ProcessID]sim.Server
	library string // path of the shim library to load into the processes; empty: none
	origin  process.Origin
}

// New returns a fleet without servers. If shim is true, a library (the shim) is loaded into the processes. The library
// can change their clocks and slow down their fsyncs.
func New(k *process.Keeper, shim bool, failed func(error)) (f *Fleet, err error) {
	f = &Fleet{Keeper: k, Failed: failed, relay: newRelay(failed), servers: map[sim.ProcessID]sim.Server{}}
	if shim {
		f.library, err = process.Compile(k.Folder())
	}
	return f, err
}

// HasShim reports whether the shim is loaded into the processes.
func (f *Fleet) HasShim() bool { return f.library != "" }

// NewLives returns a server's Lives, which have a folder of their own. It does not start the server's process. It calls
// talks to open the port through which other servers reach the server. talks is (*Relay).Listen or ListenSOCKS, or nil
// if the server does not communicate with other servers.
func (f *Fleet) NewLives(server sim.ProcessID, talks Opener) (l *Lives, err error) {
	d := &process.Daemon{Keeper: f.Keeper, Name: server, Folder: filepath.Join(f.Keeper.Folder(), string(server)),
		Env: os.Environ()}
	l = &Lives{Daemon: d, fleet: f}
	f.lives = append(f.lives, l)
	if err := os.MkdirAll(d.Folder, 0o700); err != nil {
		return nil, err
	}
	if f.HasShim() {
		if d.Shim, err = process.NewShim(f.library, d.Folder, &f.origin); err != nil {
			return nil, err
		}
	}
	if talks != nil {
		l.Port, err = talks(f.relay, server, d.PID)
	}
	return l, err
}

// Opener opens a server's port. process returns the ID of the server's current process, or 0 if there is none; it may
// be called on any goroutine.
type Opener func(r *Relay, server sim.ProcessID, process func() int) (*Port, error)

// Remote returns the Lives of a server that the user started.
func (f *Fleet) Remote() *Lives {
	l := &Lives{fleet: f}
	f.lives = append(f.lives, l)
	return l
}

// Add adds a server to the fleet.
func (f *Fleet) Add(name sim.ProcessID, s sim.Server) { f.servers[name] = s }

// Server returns the server with the given name, for [sim.World.AddServer], or nil if there is none.
func (f *Fleet) Server(name sim.ProcessID) sim.Server { return f.servers[name] }

// Do runs g on the world's goroutine, once the world has begun. Do may be called on any goroutine.
func (f *Fleet) Do(g func()) { f.gate.do(g) }

// Begin connects the servers to the loop of the world that they were added to. The loop must not be running yet. Before
// Begin, servers accept requests but do not answer them.
func (f *Fleet) Begin(l Loop) {
	f.gate.begin(l)
	f.relay.begin(l)
}

// End detaches the servers from the world. It must be called after the world's loop has ended and before the keeper is
// closed. A process that ends after this call does not make the run fail.
func (f *Fleet) End() {
	for _, l := range f.lives {
		if l.end != nil {
			l.end()
		}
	}
	f.relay.close()
}

// CanCount returns an error if a fault identifies a message between two real servers by its number, because such
// messages cannot be counted. Otherwise, it returns nil.
func CanCount(f nemesis.Fault, isServer func(sim.ProcessID) bool) error {
	if f.Kind != nemesis.DelayMessage || !isServer(f.Target) || !isServer(f.Peer) {
		return nil
	}
	return fmt.Errorf("%s and %s are real servers, whose connection is a stream of bytes without separate messages, "+
		"so there is no message %d: delay the link at a given time instead", f.Target, f.Peer, f.Number)
}
