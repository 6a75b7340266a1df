// Package front lets clients that run outside the simulation use simulated Redis servers and Sentinels. It parses the
// requests in the bytes that a client writes, and determines which attempt each request belongs to.
package front

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Redis is the [sim.Front] of Redis servers and Sentinels.
type Redis struct{}

// Port returns Redis's port.
func (Redis) Port() int { return 6379 }

// Serial returns false, because the server itself executes a connection's commands in order, and stores those that it
// cannot execute yet.
func (Redis) Serial() bool { return false }

// Begin starts a run.
func (Redis) Begin() sim.Callers { return &callers{} }

// callers holds the clients of one run.
type callers struct{ all []*caller }

// Caller returns a new client that has not sent a request yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	k := &caller{mine: map[history.Attempt]bool{}, wrote: map[string]history.Attempt{}}
	k.turn = k.task(0)
	c.all = append(c.all, k)
	return k
}

// Recorded passes the record of a key change to the client whose request made the change.
func (c *callers) Recorded(e *history.Event) {
	for _, k := range c.all {
		if k.mine[e.By] {
			k.recorded(e)
		}
	}
}

// caller is one client. A request belongs to the current attempt of the task that sends it. If it contains a value from
// one of the client's earlier attempts, it belongs to that attempt instead (see behalf).
type caller struct {
	tasks   []*task // the client's tasks; there is only one unless Turn is called
	turn    *task   // the task that sends what is written next; nil: not known
	calling bool    // see [sim.Tasks]
	mine    map[history.Attempt]bool
	// the attempt that last wrote each value or member that the client has written to locks
	wrote map[string]history.Attempt
}

// task is the state of one of a client's concurrent tasks (see [sim.Tasks]).
type task struct {
	number  int
	attempt history.Attempt // the current attempt
	begun   sim.Time
	asking  bool  // the current attempt is requesting the lock
	round   round // the requests that were sent while asking is true
}

// task returns the task with the given number, adding it if the number is new.
func (k *caller) task(number int) *task {
	for _, t := range k.tasks {
		if t.number == number {
			return t
		}
	}
	t := &task{number: number}
	k.tasks = append(k.tasks, t)
	return t
}

// Turn implements [sim.Tasks].
func (k *caller) Turn(number int, calling bool) {
	if k.turn, k.calling = nil, calling; number > 0 {
		k.turn = k.task(number)
	}
}

// Wire returns the client's end of a new connection to a server.
func (k *caller) Wire(server sim.ProcessID) sim.Wire { return &wire{caller: k, server: server} }

// Begin begins an attempt. Until Try is called, the attempt counts as requesting the lock.
func (k *caller) Begin(a history.Attempt, now sim.Time) {
	t := k.turn
	t.attempt, t.begun, t.asking, t.round = a, now, true, nil
	k.mine[a] = true
}

// Try is called when the task stops requesting the lock. It returns the time at which the task's last try began (see
// round), and the servers that granted the lock in that try.
func (k *caller) Try() (since sim.Time, granted []sim.ProcessID) {
	k.turn.asking = false
	return k.turn.round.acquired(k.turn.begun)
}

// behalf returns the attempt that a request belongs to. If the client has a single task, which is requesting the lock,
// this is the current attempt, even if the request contains another attempt's value: a client may use the same value
// for all its attempts. If the client has several tasks, and one of them is in a call, this is that task's attempt. At
// all other times, a request that contains another attempt's value belongs to that attempt. If it contains none, it
// belongs to the current attempt or, if the client has several tasks, to the only one that is requesting the lock (see
// onlyAttempt).
func (k *caller) behalf(args []string) (history.Attempt, error) {
	t := k.turn
	if t != nil && (k.calling || t.asking && t.number == 0) {
		return t.attempt, nil
	}
	for _, a := range args[1:] {
		if of, known := k.wrote[a]; known && (t == nil || of != t.attempt) {
			return of, nil
		}
	}
	if t != nil && t.number == 0 {
		return t.attempt, nil
	}
	return k.onlyAttempt(args)
}

// onlyAttempt chooses the attempt of a request whose task is not known: the only attempt that is requesting the lock.
// If several attempts are requesting the lock, onlyAttempt returns an error, unless the command has nothing to do with
// keys.
func (k *caller) onlyAttempt(args []string) (of history.Attempt, err error) {
	asking := 0
	if k.turn != nil {
		of = k.turn.attempt
	}
	for _, t := range k.tasks {
		if t.asking {
			asking++
			of = t.attempt
		}
	}
	if asking > 1 && !slices.Contains(keyless, strings.ToLower(args[0])) {
		return "", fmt.Errorf("several tasks of the client are requesting the lock, "+
			"and %s was sent by a goroutine that none of their calls has started, "+
			"so it is not known to which task it belongs: "+
			"test locks whose calls send their own requests, or a client with one task", strings.ToUpper(args[0]))
	}
	return of, nil
}

// keyless lists commands that do not concern keys. A client library sends them to manage its connections.
var keyless = []string{"hello", "ping", "client", "auth", "select", "command", "info", "cluster", "readonly", "role",
	"script", "function", "sentinel", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe",
	"sunsubscribe", "quit"}

// requesting returns the task that is requesting the lock in the given attempt, or nil if there is none.
func (k *caller) requesting(a history.Attempt) *task {
	for _, t := range k.tasks {
		if t.asking && t.attempt == a {
			return t
		}
	}
	return nil
}

// recorded handles the record of a change that one of this client's requests made to a lock's key.
func (k *caller) recorded(e *history.Event) {
	if e.F == history.KeySet {
		for _, text := range []string{e.Value, e.Member} {
			if text != "" {
				k.wrote[text] = e.By
			}
		}
	}
	t := k.requesting(e.By)
	if t == nil {
		return
	}
	popped := e.F == history.KeyGone && e.Checked == history.CheckedPresence
	kept := e.F == history.KeyProlonged && k.mine[e.Of] // this includes a key of an earlier attempt of the same client
	if e.F == history.KeySet || kept || popped {
		t.round.markAcquired(e)
	}
}

// wire implements RESP for one connection. It stores the bytes of an incomplete request.
type wire struct {
	caller *caller
	server sim.ProcessID
	half   []byte
}

// Written sends each complete request to the server. It returns [sim.ErrProtocol] if the bytes are malformed. It also
// returns an error if the client has several tasks and it is not known which of them sent a request.
func (w *wire) Written(l sim.Line, b []byte) error {
	w.half = append(w.half, b...)
	for len(w.half) > 0 {
		args, rest, err := sim.CutRequest(w.half)
		if err != nil {
			return err
		}
		if args == nil && len(rest) == len(w.half) {
			return nil
		}
		w.half = rest
		if args == nil {
			continue
		}
		of, err := w.caller.behalf(args)
		if err != nil {
			return err
		}
		if t := w.caller.requesting(of); t != nil {
			t.round.asks(l.Now(), w.server, args)
		}
		l.Ask(args, of, strings.ToLower(args[0]))
	}
	w.half = nil
	return nil
}

// Arrived delivers the server's bytes unchanged.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if to != nil {
		for _, t := range w.caller.tasks {
			t.round.answered(to, b)
		}
	}
	l.Deliver(b)
}
