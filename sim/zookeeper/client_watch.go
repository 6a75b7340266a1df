package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// Watch receives a single event. The zero Watch is ready to use. A Watch can be used only once.
type Watch struct {
	event Event
	fired sim.Signal
}

// Fired returns a signal that is raised when the event arrives. It is also raised when the session ends, with an Event
// of type None.
func (w *Watch) Fired() *sim.Signal { return &w.fired }

// Event returns the event, or the zero Event if it has not arrived yet.
func (w *Watch) Event() Event { return w.event }

func (w *Watch) fire(e Event) {
	w.event = e
	w.fired.Raise()
}

// watcher is a watch that this client has set on a server.
type watcher struct {
	kind  watchKind
	path  string
	watch *Watch
	// skip is the number of events that had arrived before the watch was set. The watch ignores these events.
	skip int
}

// sees reports whether the watch is for the given event. number is the position of the event among the events on the
// connection.
func (w *watcher) sees(number int, e Event) bool {
	if w.path != e.Path || number <= w.skip {
		return false
	}
	switch e.Type {
	case NodeDeleted:
		return true
	case NodeChildrenChanged:
		return w.kind == watchChild
	}
	return w.kind != watchChild
}

// listen is the task that receives the events that the server pushes.
func (c *Client) listen(env sim.Env) {
	for c.state != Closed {
		if c.state != Connected {
			env.Sleep(sim.Forever, c.changed)
			continue
		}
		epoch := c.epoch
		data, status := env.Receive(c.conn, sim.Forever, c.broken)
		if epoch != c.epoch || status == sim.NoReply {
			continue
		}
		e, ok := ReadEvent(data)
		if !ok {
			c.breakOff(env, epoch)
			continue
		}
		c.heard = env.Monotonic()
		c.deliver(e)
	}
}

// deliver passes an event to all watches that are waiting for it.
func (c *Client) deliver(e Event) {
	c.handled++
	kept := c.watchers[:0]
	var fired []*Watch
	for _, w := range c.watchers {
		if w.sees(c.handled, e) {
			fired = append(fired, w.watch)
		} else {
			kept = append(kept, w)
		}
	}
	clear(c.watchers[len(kept):])
	c.watchers = kept
	for _, w := range fired {
		w.fire(e)
	}
}

// Unwatch removes a watch from the client. The server may still send the event, which the client then ignores.
func (c *Client) Unwatch(w *Watch) {
	c.watchers = slices.DeleteFunc(c.watchers, func(x watcher) bool { return x.watch == w })
}
