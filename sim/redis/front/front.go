// Package front lets clients that do not run as tasks of a world use its Redis servers and Sentinels. It splits the
// bytes that a client writes into requests, and determines to which attempt each request belongs.
package front

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Redis is the [sim.Front] of Redis servers and Sentinels.
type Redis struct{}

// Port returns Redis's port.
func (Redis) Port() int { return 6379 }

// Serial returns false, because a server itself executes the commands of a connection in order and keeps those that it
// cannot execute yet.
func (Redis) Serial() bool { return false }

// Begin starts a run.
func (Redis) Begin() sim.Callers { return &callers{} }

// callers holds the clients of one run.
type callers struct{ all []*caller }

// Caller returns a new client that has not sent a request yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{mine: map[history.Attempt]bool{}, wrote: map[string]history.Attempt{}}
	c.all = append(c.all, k)
	return k
}

// Recorded passes a recorded change of a key to the client whose request has made it.
func (c *callers) Recorded(e *history.Event) {
	for _, k := range c.all {
		if k.mine[e.By] {
			k.recorded(e)
		}
	}
}

// caller is one client. A request belongs to the client's current attempt, or to an earlier attempt of the client if it
// contains a value of that attempt.
type caller struct {
	attempt history.Attempt // the current attempt
	begun   sim.Time
	asking  bool // the current attempt is requesting the lock
	mine    map[history.Attempt]bool
	// for each value or member that the client has written to locks, the attempt that wrote it last
	wrote map[string]history.Attempt
	round round // the requests that were sent while asking is true
}

// Wire returns the client's end of a new connection to a server.
func (k *caller) Wire(server sim.ProcessID) sim.Wire { return &wire{caller: k, server: server} }

// Begin begins an attempt. Until Try is called, the attempt counts as requesting the lock.
func (k *caller) Begin(a history.Attempt, now sim.Time) {
	k.attempt, k.begun, k.asking, k.round = a, now, true, nil
	k.mine[a] = true
}

// Try ends the requests for the lock. It returns when the round of requests that acquired the lock began, and which
// servers granted the lock in that round.
func (k *caller) Try() (since sim.Time, granted []sim.ProcessID) {
	k.asking = false
	return k.round.acquired(k.begun)
}

// behalf returns the attempt to which a request belongs. While the client requests the lock, this is always the current
// attempt, because a client may use the same value for all its attempts.
func (k *caller) behalf(args []string) history.Attempt {
	if k.asking {
		return k.attempt
	}
	for _, a := range args[1:] {
		if of, known := k.wrote[a]; known && of != k.attempt {
			return of
		}
	}
	return k.attempt
}

// recorded handles a recorded event in which a request of this client has changed a lock's key.
func (k *caller) recorded(e *history.Event) {
	if e.F == history.KeySet {
		for _, text := range []string{e.Value, e.Member} {
			if text != "" {
				k.wrote[text] = e.By
			}
		}
	}
	if !k.asking || e.By != k.attempt {
		return
	}
	popped := e.F == history.KeyGone && e.Checked == history.CheckedPresence
	kept := e.F == history.KeyProlonged && k.mine[e.Of] // this includes a key of an earlier attempt of the same client
	if e.F == history.KeySet || kept || popped {
		k.round.took(e)
	}
}

// wire implements RESP for one connection. It keeps the bytes of a request that is still incomplete.
type wire struct {
	caller *caller
	server sim.ProcessID
	half   []byte
}

// Written sends each complete request to the server. The only possible error is [sim.ErrProtocol].
func (w *wire) Written(l sim.Line, b []byte) error {
	w.half = append(w.half, b...)
	for len(w.half) > 0 {
		args, rest, err := sim.CutRequest(w.half)
		if err != nil {
			return err
		}
		if args == nil {
			return nil
		}
		w.half = rest
		if w.caller.asking {
			w.caller.round.asks(l.Now(), w.server, args)
		}
		l.Ask(args, w.caller.behalf(args), strings.ToLower(args[0]))
	}
	w.half = nil
	return nil
}

// Arrived delivers the server's bytes unchanged.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if to != nil {
		w.caller.round.answered(to, b)
	}
	l.Deliver(b)
}
