// Package front lets clients that are no tasks of a world ask its Redis servers and Sentinels: it cuts what they write
// into requests, and knows on behalf of which attempt each is.
package front

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Redis is the [sim.Front] of Redis servers and Sentinels.
type Redis struct{}

// Port is Redis' port.
func (Redis) Port() int { return 6379 }

// Serial is false: a server executes the commands of a connection in turn, and keeps those that it cannot execute yet.
func (Redis) Serial() bool { return false }

// Begin starts a run.
func (Redis) Begin() sim.Callers { return &callers{} }

// callers are the clients of one run.
type callers struct{ all []*caller }

// Caller returns a client that has requested nothing yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{mine: map[history.Attempt]bool{}, wrote: map[string]history.Attempt{}}
	c.all = append(c.all, k)
	return k
}

// Recorded passes the record to the client whose request it is about.
func (c *callers) Recorded(e *history.Event) {
	for _, k := range c.all {
		if k.mine[e.By] {
			k.recorded(e)
		}
	}
}

// caller is one client. A connection belongs to a client, so whatever it requests is on its behalf: of its current
// attempt, or of an earlier one whose value it carries.
type caller struct {
	attempt history.Attempt // the current one
	begun   sim.Time
	asking  bool // for the lock, in the current attempt
	mine    map[history.Attempt]bool
	wrote   map[string]history.Attempt // the values and members that it has written to locks, by the latest attempt
	round   round                      // what it has requested while it was asking
}

// Wire makes the client's end of a new connection to a server.
func (k *caller) Wire(server sim.ProcessID) sim.Wire { return &wire{caller: k, server: server} }

// Begin begins an attempt, which asks for the lock until Try is called.
func (k *caller) Begin(a history.Attempt, now sim.Time) {
	k.attempt, k.begun, k.asking, k.round = a, now, true, nil
	k.mine[a] = true
}

// Try ends the asking, and returns the round of requests that acquired the lock.
func (k *caller) Try() (since sim.Time, granted []sim.ProcessID) {
	k.asking = false
	return k.round.acquired(k.begun)
}

// behalf is the attempt on whose behalf the client makes a request. While it asks for the lock all is for that: a
// client may have one value for all its attempts.
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

// recorded takes what a server has recorded of a lock's key that a request of the client has changed.
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
	kept := e.F == history.KeyProlonged && k.mine[e.Of] // its own, of an earlier attempt, too
	if e.F == history.KeySet || kept || popped {
		k.round.took(e)
	}
}

// wire is RESP. What is not yet a complete request is kept.
type wire struct {
	caller *caller
	server sim.ProcessID
	half   []byte
}

// Written asks for each complete request. The error is [sim.ErrProtocol].
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

// Arrived delivers everything as it is.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if to != nil {
		w.caller.round.answered(to, b)
	}
	l.Deliver(b)
}
