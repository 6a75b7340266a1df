package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// Watch receives one event. The zero Watch is ready to use, but only once.
type Watch struct {
	event Event
	fired sim.Signal
}

// Fired returns a signal that is raised when the event has arrived, or, with an Event of type None, when the session is
// over.
func (w *Watch) Fired() *sim.Signal { return &w.fired }

// Event returns the event, or the zero Event before it has arrived.
func (w *Watch) Event() Event { return w.event }

func (w *Watch) fire(e Event) {
	w.event = e
	w.fired.Raise()
}

// watcher is a watch that a server holds for this client.
type watcher struct {
	kind  watchKind
	path  string
	watch *Watch
	// after is how many events had arrived before the watch was set. They are not for this watch.
	after int
}

// sees reports whether an event is for this watcher.
func (w *watcher) sees(number int, e Event) bool {
	if w.path != e.Path || number <= w.after {
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

// deliver delivers an event to the watches that wait for it.
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

// Unwatch forgets a watch. The server may still send its event, which is then ignored.
func (c *Client) Unwatch(w *Watch) {
	c.watchers = slices.DeleteFunc(c.watchers, func(x watcher) bool { return x.watch == w })
}
