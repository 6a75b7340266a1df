package etcd

import "github.com/fencepost-sim/fencepost/sim/raft"

// watcher is a watch of one of this member's clients.
type watcher struct {
	id   int64
	conn uint64
	key  string
	end  string // as in an Op
	next int64  // the first revision that has not been sent to it
	// objects is set for a watch of the API server, which shows objects. All other watches belong to a gRPC call, whose
	// stream and options follow.
	objects           bool
	stream            uint64
	previous          bool // changes are shown together with the key before the change
	noPuts, noDeletes bool
}

func (w *watcher) sees(c *change) bool {
	return c.revision >= w.next && among(c.Key, w.key, w.end)
}

// notify sends all watchers the changes that they have not received yet.
func (s *server) notify(m *raft.Member) {
	for i := range s.watchers {
		if w := &s.watchers[i]; w.objects {
			s.showObjects(m, w)
		} else {
			s.show(m, w)
		}
	}
}
