// Package front lets clients that are no tasks of a world ask its ZooKeeper ensemble in ZooKeeper's own protocol: it
// cuts what they write into frames, and knows on behalf of which attempt each is.
package front

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// ZooKeeper is the [sim.Front] of the members of an ensemble.
type ZooKeeper struct{}

// Port is ZooKeeper's port for clients.
func (ZooKeeper) Port() int { return 2181 }

// Serial is false: a member keeps the requests of a connection in order by itself.
func (ZooKeeper) Serial() bool { return false }

// Begin starts a run.
func (ZooKeeper) Begin() sim.Callers {
	return &callers{znodes: map[string]history.Attempt{}}
}

// callers are the clients of one run: anyone may delete the znode of another.
type callers struct {
	// znodes are those that clients have asked for, by their paths, and by their paths without the number that a
	// sequential one gets.
	znodes map[string]history.Attempt
}

// Recorded does nothing: an ensemble grants a lock as one.
func (c *callers) Recorded(*history.Event) {}

// Caller returns a client that has requested nothing yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller { return &caller{callers: c} }

// caller is one client of a run.
type caller struct {
	*callers
	attempt history.Attempt // the latest that it has begun
	since   sim.Time
}

// Begin begins an attempt. Until a request for the lock is seen it counts from now.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try is when the client last asked for a sequential ephemeral znode in its attempt. Who grants a lock no request
// shows: the ensemble does.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// Wire makes the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// wire is ZooKeeper's protocol. What is not yet a complete frame is kept.
type wire struct {
	*caller
	half []byte
	met  bool // the first frame has been written, or what stands in its place
	dead bool // nothing that follows makes sense
}

// notSimulated are the operations that ZooKeeper 3.8 has and the simulated ensemble has not.
var notSimulated = []jute.Op{jute.Reconfig, jute.DeleteContainer, jute.MultiRead, jute.SASL, jute.GetEphemerals,
	jute.GetAllChildrenNumber, jute.WhoAmI, jute.CreateSession}

// Written asks for each complete frame. Bytes that are none are passed on by their length alone: the member closes the
// connection. The error is a *sim.NotSimulatedError.
func (w *wire) Written(l sim.Line, b []byte) error {
	if w.dead {
		return nil
	}
	w.half = append(w.half, b...)
	for {
		if word := jute.Word(w.half); word != "" && !w.met {
			w.dead, w.half = true, nil
			l.Ask([]string{word}, "", word)
			return nil
		}
		record, rest, whole, sound := jute.Cut(w.half)
		switch {
		case !sound:
			w.dead, w.half = true, nil
			l.Ask([]string{zookeeper.ReqTorn}, "", zookeeper.ReqTorn)
			return nil
		case !whole:
			return nil
		}
		if err := w.ask(l, string(record)); err != nil {
			return err
		}
		w.half = rest
	}
}

// ask passes a frame on.
func (w *wire) ask(l sim.Line, record string) error {
	name, of := zookeeper.ReqEnter, w.attempt
	if w.met {
		f := jute.Fields{Rest: []byte(record)}
		f.Int()
		op := jute.Op(f.Int())
		if slices.Contains(notSimulated, op) {
			return &sim.NotSimulatedError{Request: op.String()}
		}
		name, of = op.String(), w.behalf(l.Now(), op, f)
	}
	w.met = true
	l.Ask([]string{name, record}, of, name)
	return nil
}

// behalf is the attempt on whose behalf an operation is: whoever deletes a znode of an attempt does it for that one, if
// it is the client's own.
func (w *wire) behalf(now sim.Time, op jute.Op, f jute.Fields) history.Attempt {
	path := f.Text()
	switch op {
	case jute.Create, jute.Create2:
		w.znodes[path] = w.attempt
		if f.Text(); asksForLock(&f) {
			w.since = now
		}
	case jute.Delete, jute.SetData:
		if of, known := w.attemptOf(path); known && sameClient(of, w.attempt) {
			return of
		}
	}
	return w.attempt
}

// asksForLock reports whether the rest of a create, from its access list on, asks for a sequential ephemeral znode.
func asksForLock(f *jute.Fields) bool {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		f.Int()
		f.Text()
		f.Text()
	}
	return f.Int() == jute.EphemeralSequential
}

// attemptOf is the attempt that has asked for a znode.
func (c *callers) attemptOf(path string) (of history.Attempt, known bool) {
	if of, known = c.znodes[path]; known {
		return of, true
	}
	if _, sequential := zookeeper.Sequence(path); sequential {
		of, known = c.znodes[path[:len(path)-zookeeper.SequenceDigits]]
	}
	return of, known
}

// sameClient reports whether two attempts, as "client-1/2", are of one client.
func sameClient(a, b history.Attempt) bool {
	x, _, _ := strings.Cut(string(a), "/")
	y, _, _ := strings.Cut(string(b), "/")
	return x == y
}

// closings are what a member sends in place of frames when it closes a connection.
var closings = []string{zookeeper.ClosedReply, raft.Unavailable}

// Arrived delivers frames as they are.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if slices.Contains(closings, string(b)) {
		l.HangUp()
		return
	}
	if to != nil {
		w.answered(to, b)
	}
	l.Deliver(b)
}

// answered takes note of the path of a new znode.
func (w *wire) answered(to *sim.Incoming, b []byte) {
	if to.Phase != jute.Create.String() && to.Phase != jute.Create2.String() {
		return
	}
	const head = 4 + 4 + 8 // length, number, zxid
	f := jute.Fields{Rest: b[min(head, len(b)):]}
	if f.Int() == 0 && !f.Torn {
		w.znodes[f.Text()] = to.Attempt
	}
}
