package etcd

import "github.com/fencepost-sim/fencepost/sim/raft"

// watcher is a watch by a client of this member.
type watcher struct {
	id   int64
	conn uint64
	key  string
	end  string // end of the range, as in Op
	next int64  // first revision that the watcher has not been sent
	// objects is true for a watch through the API server, which shows objects. All other watches belong to a gRPC call
	// and use the fields below.
	objects           bool
	stream            uint64
	previous          bool // each change is shown together with the key before the change
	noPuts, noDeletes bool
}

func (w *watcher) sees(c *change) bool {
	return c.revision >= w.next && inRange(c.Key, w.key, w.end)
}

// notify sends all watchers the changes that they have not been sent yet.
func (s *server) notify(m *raft.Member) {
	for i := range s.watchers {
		if w := &s.watchers[i]; w.objects {
			s.showObjects(m, w)
		} else {
			s.show(m, w)
		}
	}
}
