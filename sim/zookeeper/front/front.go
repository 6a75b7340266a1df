// Package front connects clients that are not tasks of a world to its ZooKeeper ensemble, in ZooKeeper's own protocol:
// it cuts the bytes that they write into frames, and determines the attempt on whose behalf each request is made.
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

// Port returns ZooKeeper's port for clients.
func (ZooKeeper) Port() int { return 2181 }

// Serial is false: a member keeps the requests of a connection in order by itself.
func (ZooKeeper) Serial() bool { return false }

// Begin starts a run.
func (ZooKeeper) Begin() sim.Callers {
	return &callers{znodes: map[string]history.Attempt{}}
}

// callers holds the clients of one run. Any client may delete the znode of another.
type callers struct {
	// znodes maps the znodes that clients have asked for to their attempts. The keys are their paths, and for
	// sequential znodes also the paths without the number.
	znodes map[string]history.Attempt
}

// Recorded does nothing, because an ensemble grants a lock as a whole.
func (c *callers) Recorded(*history.Event) {}

// Caller returns a client that has not requested anything yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller { return &caller{callers: c} }

// caller is one client of a run.
type caller struct {
	*callers
	attempt history.Attempt // the latest attempt that it has begun
	since   sim.Time
}

// Begin begins an attempt. Until the client requests the lock, the attempt counts from now.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try returns when the client last asked for a sequential ephemeral znode in its attempt, and no servers: the ensemble
// grants a lock as a whole.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// Wire returns the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// wire implements ZooKeeper's protocol. It keeps bytes that are not a complete frame yet.
type wire struct {
	*caller
	half []byte
	met  bool // the first frame, or what stands in its place, has been written
	dead bool // the bytes that follow cannot be understood
}

// Written sends a request for each complete frame. If the bytes are not a frame, it sends a request that makes the
// member close the connection. The only error is a *sim.NotSimulatedError.
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

// ask sends the request of a frame.
func (w *wire) ask(l sim.Line, record string) error {
	name, of := zookeeper.ReqEnter, w.attempt
	if w.met {
		f := jute.Fields{Rest: []byte(record)}
		f.Int()
		op := jute.Op(f.Int())
		if !zookeeper.Simulates(op) {
			return &sim.NotSimulatedError{Request: op.String()}
		}
		name, of = op.String(), w.behalf(l.Now(), op, f)
	}
	w.met = true
	l.Ask([]string{name, record}, of, name)
	return nil
}

// behalf returns the attempt on whose behalf an operation is made. A client that deletes or writes a znode of an
// earlier attempt of its own does so on behalf of that attempt.
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

// asksForLock reports whether a create asks for a sequential ephemeral znode. f is the rest of the request, from its
// access list on.
func asksForLock(f *jute.Fields) bool {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		f.Int()
		f.Text()
		f.Text()
	}
	return f.Int() == jute.EphemeralSequential
}

// attemptOf returns the attempt that has asked for a znode.
func (c *callers) attemptOf(path string) (of history.Attempt, known bool) {
	if of, known = c.znodes[path]; known {
		return of, true
	}
	if _, sequential := zookeeper.Sequence(path); sequential {
		of, known = c.znodes[path[:len(path)-zookeeper.SequenceDigits]]
	}
	return of, known
}

// sameClient reports whether two attempts, such as "client-1/2", belong to the same client.
func sameClient(a, b history.Attempt) bool {
	x, _, _ := strings.Cut(string(a), "/")
	y, _, _ := strings.Cut(string(b), "/")
	return x == y
}

// closings are the replies that a member sends instead of frames when it closes a connection.
var closings = []string{zookeeper.ClosedReply, raft.Unavailable}

// Arrived delivers frames unchanged.
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

// answered remembers the path of a new znode.
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
