package zookeeper

import "slices"

// watchTable holds the watches that a member keeps for the clients connected to it: by path, the connections that wait.
// They are removed after one event. Those of closed connections stay until then and notify nobody.
type watchTable struct {
	data  map[string][]uint64 // of exists and getData
	child map[string][]uint64 // of getChildren
}

func (w *watchTable) reset() {
	if w.data == nil {
		w.data, w.child = map[string][]uint64{}, map[string][]uint64{}
	}
	clear(w.data)
	clear(w.child)
}

func add(table map[string][]uint64, path string, conn uint64) {
	if list := table[path]; !slices.Contains(list, conn) {
		table[path] = append(list, conn)
	}
}

// fire calls notify for each connection that a change concerns, once per path, and drops the watches.
func (w *watchTable) fire(e Event, notify func(conn uint64, e Event)) {
	var notified []uint64
	trigger := func(table map[string][]uint64) {
		list, found := table[e.Path]
		if !found {
			return
		}
		delete(table, e.Path)
		for _, conn := range list {
			if !slices.Contains(notified, conn) {
				notify(conn, e)
			}
		}
		notified = list
	}
	if e.Type != NodeChildrenChanged {
		trigger(w.data)
	}
	if e.Type == NodeChildrenChanged || e.Type == NodeDeleted {
		trigger(w.child)
	}
}
