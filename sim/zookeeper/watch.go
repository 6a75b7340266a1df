package zookeeper

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// watchMode determines how long a watch lasts and which znodes it covers.
type watchMode uint8

const (
	oneEvent   watchMode = iota // removed after one event
	persistent                  // remains after an event
	recursive                   // remains, and covers all descendants too, but not changes of lists of children
)

// watchKind is the kind of event that a client is waiting for. The kinds are in the same order as the lists in
// SetWatches.
type watchKind uint8

const (
	watchData   watchKind = iota // set by getData, or by exists if the znode exists
	watchExists                  // set by exists if the znode does not exist
	watchChild
)

// watching is a connection's watch on a path.
type watching struct {
	conn uint64
	mode watchMode
}

// watchTable contains the watches of all clients connected to a member. When a connection is closed, its watches are
// removed.
type watchTable struct {
	data, child watches
}

// watches is one of two tables: one for the watches set by exists and getData, the other for those set by getChildren.
type watches struct {
	of  map[string][]watching
	far int // 0 if there has been no recursive watch; not decreased when one is removed
}

func (w *watchTable) reset() {
	w.data.reset()
	w.child.reset()
}

func (w *watches) reset() {
	if w.of == nil {
		w.of = map[string][]watching{}
	}
	clear(w.of)
	w.far = 0
}

// addBoth adds a watch to both tables, for data and for children.
func (w *watchTable) addBoth(path string, conn uint64, mode watchMode) {
	w.data.add(path, conn, mode)
	w.child.add(path, conn, mode)
}

// add adds a watch. A connection has at most one watch per path; its mode is the one that was set last
// (ZOOKEEPER-4466).
func (w *watches) add(path string, conn uint64, mode watchMode) {
	if mode == recursive {
		w.far++
	}
	list := w.of[path]
	if i := slices.IndexFunc(list, func(x watching) bool { return x.conn == conn }); i >= 0 {
		list[i].mode = mode
		return
	}
	w.of[path] = append(list, watching{conn, mode})
}

// remove removes a connection's watch on a path, and reports whether there was one.
func (w *watches) remove(path string, conn uint64) bool {
	list := w.of[path]
	i := slices.IndexFunc(list, func(x watching) bool { return x.conn == conn })
	if i < 0 {
		return false
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(w.of, path)
	} else {
		w.of[path] = list
	}
	return true
}

// forget removes all of a connection's watches.
func (w *watches) forget(conn uint64) {
	for path := range w.of {
		w.remove(path, conn)
	}
}

// trigger returns the connections that must be notified of an event. It removes the watches that last for one event
// only.
func (w *watches) trigger(e Event) (conns []uint64) {
	if list, found := w.of[e.Path]; found {
		kept := list[:0]
		for _, x := range list {
			if x.mode != recursive || e.Type != NodeChildrenChanged {
				conns = append(conns, x.conn)
			}
			if x.mode != oneEvent {
				kept = append(kept, x)
			}
		}
		if w.of[e.Path] = kept; len(kept) == 0 {
			delete(w.of, e.Path)
		}
	}
	if w.far == 0 || e.Type == NodeChildrenChanged {
		return conns
	}
	for path := e.Path; path != rootNode; {
		path, _, _ = split(path)
		for _, x := range w.of[path] {
			if x.mode == recursive && !slices.Contains(conns, x.conn) {
				conns = append(conns, x.conn)
			}
		}
	}
	return conns
}

// fire calls notify once for each connection that has a watch for the event.
func (w *watchTable) fire(e Event, notify func(conn uint64, e Event)) {
	var notified []uint64
	if e.Type != NodeChildrenChanged {
		notified = w.data.trigger(e)
	}
	if e.Type == NodeChildrenChanged || e.Type == NodeDeleted {
		for _, conn := range w.child.trigger(e) {
			if !slices.Contains(notified, conn) {
				notified = append(notified, conn)
			}
		}
	}
	for _, conn := range notified {
		notify(conn, e)
	}
}

// kinds returns the tables that hold watches of the given kind (Watcher.WatcherType).
func (w *watchTable) kinds(kind int32) []*watches {
	switch kind {
	case jute.Children:
		return []*watches{&w.child}
	case jute.Data:
		return []*watches{&w.data}
	case jute.Any:
		return []*watches{&w.child, &w.data}
	}
	return nil
}
