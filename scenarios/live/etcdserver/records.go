package etcdserver

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// records holds what the members' watches have reported about the keys in a run. Only the world's goroutine may use it.
type records struct {
	upTo    int64                      // all revisions up to this one are recorded
	waiting []wait                     // functions to call later, in the order in which they were added
	puts    []*request                 // put requests that are pending, or that never got an answer
	owners  map[string]history.Attempt // owners of the existing keys
	ttls    map[int64]time.Duration    // TTLs of leases
	passed  []piece                    // latest pieces of bytes, in order
}

func newRecords() records {
	return records{owners: map[string]history.Attempt{}, ttls: map[int64]time.Duration{}}
}

// change is a change to a key at a particular revision.
type change struct {
	etcd.WatchEvent
	ttl time.Duration // TTL of the key's lease; set only if the bytes of clients are passed on
}

// wait is a function to call once all revisions up to a given one have been recorded.
type wait struct {
	revision int64
	then     func()
}

// whenRecorded calls f once all revisions up to the given one have been recorded.
func (r *records) whenRecorded(revision int64, f func()) {
	if revision <= r.upTo {
		f()
		return
	}
	r.waiting = append(r.waiting, wait{revision, f})
}

// take records a revision that a member's watch has reported, unless another member has already reported it. Each watch
// reports all revisions in order, starting with one that had not been recorded yet when the watch began.
func (r *records) take(m *member, revision int64, changes []change) {
	if revision <= r.upTo {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.Deleted {
			r.gone(m, c)
		} else {
			r.set(m, c)
		}
	}
	r.upTo = revision
	over := func(w wait) bool { return w.revision <= r.upTo }
	ready := slices.DeleteFunc(slices.Clone(r.waiting), func(w wait) bool { return !over(w) })
	r.waiting = slices.DeleteFunc(r.waiting, over)
	for _, w := range ready {
		w.then()
	}
}

func (r *records) set(m *member, c *change) {
	of := r.putter(c)
	r.owners[c.Key] = of
	until := history.Never
	if c.Lease != 0 {
		until = m.Host.Due(cmp.Or(r.ttls[c.Lease], c.ttl))
	}
	m.Host.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: etcd.LockOf(c.Key), Member: c.Key,
		Value: c.Key, Of: of, By: of, Until: until})
}

func (r *records) gone(m *member, c *change) {
	m.Host.Record(history.Event{Type: history.OK, F: history.KeyGone, Lock: etcd.LockOf(c.Key), Member: c.Key,
		Of: r.owners[c.Key], Why: history.NotRecorded})
	delete(r.owners, c.Key)
}

// putter returns the attempt that put a key, which is the one that sent a request with the key's value and lease. It
// returns "" if several attempts did so.
func (r *records) putter(c *change) (of history.Attempt) {
	if len(r.passed) > 0 {
		return r.passer(c)
	}
	for _, q := range r.puts {
		if !q.puts(c) || q.attempt == of {
			continue
		}
		if of != "" {
			return ""
		}
		of = q.attempt
	}
	return of
}
