package etcd

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/sim/http1"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// watch sends the client all changes to objects after the given version. If no version or version 0 is given, it first
// sends the existing objects.
func (q *apiCall) watch() *Status {
	text := q.query.Get("resourceVersion")
	version, err := strconv.ParseInt("0"+text, 10, 64)
	if err != nil {
		return badRequest("Invalid value: %q: the resource version is not a number", text)
	}
	lasts, err := strconv.ParseUint("0"+q.query.Get("timeoutSeconds"), 10, 31)
	if err != nil {
		return badRequest("timeoutSeconds: Invalid value: %q: it is not a number", q.query.Get("timeoutSeconds"))
	}
	return q.view(func(keys []keyValue, revision int64) *Status {
		begin := http1.Head(200, jsonType, "Transfer-Encoding: chunked") + "\r\n"
		if version > 0 && version < q.store.compacted {
			expired := Failure(410, "Expired", "too old resource version: %d (%d)", version, q.store.compacted)
			b := append([]byte(begin), event("ERROR", expired)...)
			q.r.Reply(append(b, lastChunk...))
			return nil
		}
		b := []byte(begin)
		from, to := q.keyRange()
		if version == 0 {
			first, last := span(keys, from, to)
			for _, k := range keys[first:last] {
				b = append(b, event("ADDED", objectOf(&k.KeyValue))...)
			}
			version = revision
		}
		q.r.Reply(b)
		q.lastWatch++
		q.watchers = append(q.watchers, watcher{id: q.lastWatch, conn: q.r.ConnID, key: from, end: to,
			next:    version + 1,
			objects: true})
		if lasts > 0 {
			q.m.After(time.Duration(lasts)*time.Second, tagWatch+uint64(q.lastWatch))
		}
		q.showObjects(q.m, &q.watchers[len(q.watchers)-1])
		return nil
	})
}

// endWatch ends an API server watch after its timeout. It does nothing if the watch's connection is gone.
func (s *server) endWatch(m *raft.Member, id int64) {
	i := slices.IndexFunc(s.watchers, func(w watcher) bool { return w.id == id && w.objects })
	if i < 0 {
		return
	}
	m.Push(s.watchers[i].conn, m.Second(), []byte(lastChunk))
	s.watchers = slices.Delete(s.watchers, i, i+1)
}

// lastChunk is the end of a chunked HTTP body.
const lastChunk = "0\r\n\r\n"

// event encodes a change to an object as an HTTP chunk.
func event(kind string, object any) []byte {
	b, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		panic(err) // cannot happen: objects come from JSON
	}
	return fmt.Appendf(nil, "%x\r\n%s\n\r\n", len(b)+1, b)
}

// showObjects sends all changes that watcher w of the API server has not seen yet, in one message per revision.
func (s *server) showObjects(m *raft.Member, w *watcher) {
	all := s.store.changes
	i := sort.Search(len(all), func(i int) bool { return all[i].revision >= w.next })
	for i < len(all) {
		var b []byte
		key := m.Second()
		for revision := all[i].revision; i < len(all) && all[i].revision == revision; i++ {
			c := &all[i]
			if !w.sees(c) {
				continue
			}
			kind, k := "MODIFIED", c.KeyValue
			switch {
			case c.deleted:
				kind = "DELETED"
				k = all[s.previousChange(c.Key, i)].KeyValue
				k.Mod = c.Mod
			case c.Version == 1:
				kind = "ADDED"
			}
			b = append(b, event(kind, objectOf(&k))...)
			key = key.Text(c.Key)
		}
		if b != nil {
			m.Push(w.conn, key, b)
		}
	}
	w.next = max(w.next, s.store.revision+1)
}

// previousChange returns the index of a key's last change before the change with the given index.
func (s *server) previousChange(key string, index int) int {
	for index--; s.store.changes[index].Key != key; index-- {
	}
	return index
}
