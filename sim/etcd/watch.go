package etcd

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// watcher is a watch of one of this member's clients.
type watcher struct {
	id   int64
	conn uint64
	key  string
	end  string // as in an Op
	next int64  // the first revision that it has not been sent
	// set for a watch of a gRPC call; nil for a watch in words
	call *watchCall
	// set for a watch of the API server, which shows objects
	objects bool
}

func (w *watcher) sees(c *change) bool {
	return c.revision >= w.next && among(c.Key, w.key, w.end)
}

func (s *server) serveWatch(m *raft.Member, r *sim.Incoming) {
	asked, err := ReadWatch(r.Args)
	if err != nil {
		s.refuse(r, err)
		return
	}
	s.lastWatch++
	w := watcher{id: s.lastWatch, conn: r.ConnID, key: asked.Key, end: asked.End, next: asked.From}
	if w.next == 0 {
		w.next = s.store.revision + 1
	}
	r.Reply(sim.AppendInt(sim.AppendInt(sim.AppendArray(s.out, 2), s.store.revision), w.id))
	s.watchers = append(s.watchers, w)
	s.push(m, &s.watchers[len(s.watchers)-1])
}

func (s *server) serveUnwatch(r *sim.Incoming) {
	id, err := ReadUnwatch(r.Args)
	if err != nil {
		s.refuse(r, err)
		return
	}
	s.watchers = slices.DeleteFunc(s.watchers, func(w watcher) bool {
		return w.id == id && w.conn == r.ConnID && w.call == nil
	})
	r.Reply(sim.AppendInt(sim.AppendArray(s.out, 1), s.store.revision))
}

// notify sends all watchers the changes that they have not been sent.
func (s *server) notify(m *raft.Member) {
	for i := range s.watchers {
		s.push(m, &s.watchers[i])
	}
}

// push sends a watcher the changes since its last ones, in one message for each revision.
func (s *server) push(m *raft.Member, w *watcher) {
	switch {
	case w.call != nil:
		s.pushCall(m, w)
		return
	case w.objects:
		s.pushObjects(m, w)
		return
	}
	all := s.store.changes
	i := sort.Search(len(all), func(i int) bool { return all[i].revision >= w.next })
	for i < len(all) {
		revision := all[i].revision
		n, key, b := 0, m.Second(), s.pushed[:0]
		for ; i < len(all) && all[i].revision == revision; i++ {
			if !w.sees(&all[i]) {
				continue
			}
			kind := "PUT"
			if all[i].deleted {
				kind = "DELETE"
			}
			n++
			key = key.Text(all[i].Key)
			b = AppendKey(sim.AppendBulk(sim.AppendArray(b, 2), kind), &all[i].keyValue.KeyValue)
		}
		s.pushed = b
		if n > 0 {
			s.head = sim.AppendInt(sim.AppendInt(sim.AppendArray(s.head[:0], 2+n), w.id), revision)
			m.Push(w.conn, key, append(s.head, b...))
		}
	}
	w.next = max(w.next, s.store.revision+1)
}
