// Package front lets clients that run outside the simulation use a simulated ZooKeeper ensemble over ZooKeeper's own
// protocol. It splits the bytes that a client writes into frames, and determines which attempt each request belongs to.
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

// ZooKeeper is the [sim.Front] of an ensemble's members.
type ZooKeeper struct{}

// Port returns ZooKeeper's client port.
func (ZooKeeper) Port() int { return 2181 }

// Serial returns false, because the members themselves ensure that a connection's requests are handled in order.
func (ZooKeeper) Serial() bool { return false }

// Begin starts a run.
func (ZooKeeper) Begin() sim.Callers {
	return &callers{znodes: map[string]history.Attempt{}}
}

// callers holds the clients of one run. Its data is shared by all clients, because a client may delete another client's
// znode.
type callers struct {
	// znodes maps the znodes that clients have requested to the attempts that requested them. Each key is a znode's
	// path. For a sequential znode, the path without the number is another key.
	znodes map[string]history.Attempt
}

// Recorded does nothing. From the events, it could only learn which servers have granted a lock, but here a lock is
// granted by the ensemble as a whole.
func (c *callers) Recorded(*history.Event) {}

// Caller returns a new client that has not sent a request yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller { return &caller{callers: c} }

// caller is one client of a run.
type caller struct {
	*callers
	attempt history.Attempt // the client's latest attempt
	since   sim.Time
}

// Begin begins an attempt. If the client does not request the lock in this attempt, now counts as the time of its
// request.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try returns the time at which the client last requested a sequential ephemeral znode in its attempt. It does not
// return any servers, because a lock is granted by the ensemble as a whole.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// Wire returns the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// wire implements ZooKeeper's protocol for one connection. It buffers incomplete frames.
type wire struct {
	*caller
	half []byte
	met  bool // the client has written its first frame, or something in its place
	dead bool // an invalid frame has made all later bytes meaningless
}

// Written sends one request for each complete frame. If the bytes do not form a frame, it sends a request that makes
// the member close the connection. The only possible error is a *sim.NotSimulatedError.
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

// ask sends the member the request that a frame contains.
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

// behalf returns the attempt to which an operation belongs: usually the client's current attempt. If the client deletes
// or writes a znode that it created in one of its earlier attempts, it is that attempt. If the operation creates a
// znode, behalf also stores the attempt in w.znodes.
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

// asksForLock reports whether a create request is for a sequential ephemeral znode. The next field of f must be the
// request's access list.
func asksForLock(f *jute.Fields) bool {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		f.Int()
		f.Text()
		f.Text()
	}
	return f.Int() == jute.EphemeralSequential
}

// attemptOf returns the attempt that requested a znode.
func (c *callers) attemptOf(path string) (of history.Attempt, known bool) {
	if of, known = c.znodes[path]; known {
		return of, true
	}
	if _, sequential := zookeeper.Sequence(path); sequential {
		of, known = c.znodes[path[:len(path)-zookeeper.SequenceDigits]]
	}
	return of, known
}

// sameClient reports whether two attempts belong to the same client. An attempt such as "client-1/2" is the second
// attempt of client-1.
func sameClient(a, b history.Attempt) bool {
	x, _, _ := strings.Cut(string(a), "/")
	y, _, _ := strings.Cut(string(b), "/")
	return x == y
}

// closings lists the replies that a member sends instead of a frame when it closes a connection.
var closings = []string{zookeeper.ClosedReply, raft.Unavailable}

// Arrived delivers the member's frames unchanged.
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

// answered handles the reply to a request. If the request created a znode, answered records that the znode belongs to
// the request's attempt.
func (w *wire) answered(to *sim.Incoming, b []byte) {
	if to.Phase != jute.Create.String() && to.Phase != jute.Create2.String() {
		return
	}
	const head = 4 + 4 + 8 // size of length, number and zxid
	f := jute.Fields{Rest: b[min(head, len(b)):]}
	if f.Int() == 0 && !f.Torn {
		w.znodes[f.Text()] = to.Attempt
	}
}
