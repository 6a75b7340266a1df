// Package fleet puts server processes of the host in the place of a simulated world's servers: what those of every kind
// have in common, redis-server, etcd and ZooKeeper.
//
// A [Fleet] holds those of one run. The [Lives] of a server are one process after another in the same folder, and its
// [Port] is where other servers reach it: what servers send each other travels the links of the world.
//
// A port has an address of the fleet's, the same for everyone, so that servers can name each other. Its process listens
// elsewhere, at a loopback address of its own. A caller is identified by the process that holds the socket: others, of
// whatever user, are turned away before a byte of theirs is read. Where a program cannot be given other addresses for
// its peers, its port is a SOCKS proxy instead. What a process sends is cut into chunks as it arrives, and each is a
// message between two servers ([sim.Host], Send): it takes as long as the link takes, waits while that is cut, is held
// up by delays, and is lost with the machine that it is sent to. So are the opening of a connection and its end.
//
// A machine that loses its power sends nothing any more. Those connected to it learn of that once it is back: by a
// reset, as a machine sends that knows nothing of the connection.
//
// This package runs in real time, with goroutines, processes and sockets. It touches the world on the world's goroutine
// only.
//
// Goals: faults of servers and of the links between them mean what they mean for simulated ones; what is left of a life
// that is over changes nothing in the next; what a server has sent when it stops, or is drained, has left. Non-goals:
// messages of a protocol, which it does not know: how a stream of bytes is cut is up to the host, and so are the
// numbers of chunks on a link.
package fleet

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// Fleet holds the real servers of one run.
type Fleet struct {
	Keeper *process.Keeper
	Failed func(error) // called, on any goroutine, with the reason why the run cannot go on

	gate    gate
	relay   *Relay
	lives   []*Lives
	servers map[sim.ProcessID]sim.Server
	library string // loaded into the processes; empty: none
	origin  process.Origin
}

// New makes a fleet without servers. With a shim their clocks can be moved, and their fsyncs made slow.
func New(k *process.Keeper, shim bool, failed func(error)) (f *Fleet, err error) {
	f = &Fleet{Keeper: k, Failed: failed, relay: newRelay(failed), servers: map[sim.ProcessID]sim.Server{}}
	if shim {
		f.library, err = process.Compile(k.Folder())
	}
	return f, err
}

// HasShim reports whether the shim is loaded into the processes.
func (f *Fleet) HasShim() bool { return f.library != "" }

// NewLives makes the lives of a server, in a folder of its own, whose process is not started yet. talks opens the port
// for its talks with others: (*Relay).Listen or ListenSOCKS; nil: it talks to none.
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

// Opener opens the port of a server. process returns the number of its present process, 0 if there is none; it may be
// called on any goroutine.
type Opener func(r *Relay, server sim.ProcessID, process func() int) (*Port, error)

// Remote makes the lives of a server whose process is not ours.
func (f *Fleet) Remote() *Lives {
	l := &Lives{fleet: f}
	f.lives = append(f.lives, l)
	return l
}

// Add gives the fleet a server.
func (f *Fleet) Add(name sim.ProcessID, s sim.Server) { f.servers[name] = s }

// Server is the server with a name, for [sim.World.AddServer]; nil if there is none.
func (f *Fleet) Server(name sim.ProcessID) sim.Server { return f.servers[name] }

// Do runs f on the world's goroutine, once there is one. It may be called on any goroutine.
func (f *Fleet) Do(g func()) { f.gate.do(g) }

// Begin gives the servers the loop of the world that they were added to, which must not run yet. Until then they accept
// requests, and answer none.
func (f *Fleet) Begin(l Loop) {
	f.gate.begin(l)
	f.relay.begin(l)
}

// End ends what the servers do for the world. It must be called when the world's loop has ended, before the keeper is
// closed: a process that dies after it does not fail the run.
func (f *Fleet) End() {
	for _, l := range f.lives {
		if l.end != nil {
			l.end()
		}
	}
	f.relay.close()
}

// CanCount says why a fault that strikes a message by its number cannot strike what two real servers send each other;
// nil if it does not.
func CanCount(f nemesis.Fault, isServer func(sim.ProcessID) bool) error {
	if f.Kind != nemesis.DelayMessage || !isServer(f.Target) || !isServer(f.Peer) {
		return nil
	}
	return fmt.Errorf("%s and %s are real servers, and what they send each other is a stream of bytes: there is no "+
		"message %d; delay what is sent at a time instead", f.Target, f.Peer, f.Number)
}
