// Package front connects clients that are not tasks of a world to its Redis servers and Sentinels: it splits the bytes
// that they write into requests, and determines the attempt on whose behalf each request is made.
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

// Serial returns false: a server executes the commands of a connection in order, and keeps those that it cannot execute
// yet.
func (Redis) Serial() bool { return false }

// Begin starts a run.
func (Redis) Begin() sim.Callers { return &callers{} }

// callers holds the clients of one run.
type callers struct{ all []*caller }

// Caller returns a client that has not requested anything yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{mine: map[history.Attempt]bool{}, wrote: map[string]history.Attempt{}}
	c.all = append(c.all, k)
	return k
}

// Recorded passes the record to the client whose request changed the key.
func (c *callers) Recorded(e *history.Event) {
	for _, k := range c.all {
		if k.mine[e.By] {
			k.recorded(e)
		}
	}
}

// caller is one client. A connection belongs to a client, so its requests are made on behalf of the client's current
// attempt, or of an earlier attempt of the client whose value the request contains.
type caller struct {
	attempt history.Attempt // the current attempt
	begun   sim.Time
	asking  bool // the current attempt is asking for the lock
	mine    map[history.Attempt]bool
	wrote   map[string]history.Attempt // latest attempt for each value or member that it has written to locks
	round   round                      // the requests sent while asking
}

// Wire returns the client's end of a new connection to a server.
func (k *caller) Wire(server sim.ProcessID) sim.Wire { return &wire{caller: k, server: server} }

// Begin begins an attempt, which asks for the lock until Try is called.
func (k *caller) Begin(a history.Attempt, now sim.Time) {
	k.attempt, k.begun, k.asking, k.round = a, now, true, nil
	k.mine[a] = true
}

// Try ends the requests for the lock. It returns when the round of requests that acquired the lock began, and which
// servers granted the lock.
func (k *caller) Try() (since sim.Time, granted []sim.ProcessID) {
	k.asking = false
	return k.round.acquired(k.begun)
}

// behalf returns the attempt on whose behalf the client makes a request. While the client asks for the lock, it is
// always the current attempt, because a client may use one value for all its attempts.
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

// recorded handles a record of a lock's key that a request of the client has changed.
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
	kept := e.F == history.KeyProlonged && k.mine[e.Of] // including a key of one of its own earlier attempts
	if e.F == history.KeySet || kept || popped {
		k.round.took(e)
	}
}

// wire implements RESP. It stores bytes that do not form a complete request yet.
type wire struct {
	caller *caller
	server sim.ProcessID
	half   []byte
}

// Written sends each complete request. The only error is [sim.ErrProtocol].
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

// Arrived delivers all bytes unchanged.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if to != nil {
		w.caller.round.answered(to, b)
	}
	l.Deliver(b)
}
