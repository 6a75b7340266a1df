package etcdserver

import (
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// ledger finds out whose doing each revision is, and records it. It belongs to the world's goroutine.
type ledger struct {
	recorded int64                       // up to which revision all is
	queue    []*revision                 // that are not, in order
	done     map[int64][]owned           // what each revision did, as long as a member has not seen it
	waiting  []wait                      // in the order in which they began
	open     []*request                  // writes under way
	doubtful []*request                  // writes that no answer will tell of any more
	claimed  map[int64][]*request        // whose answer has that revision
	keys     map[string]*key             // those that there are
	leases   map[int64]*lease            // those that are known
	later    func(time.Duration, func()) // does something on the world's goroutine
}

func newLedger(later func(time.Duration, func())) ledger {
	return ledger{done: map[int64][]owned{}, claimed: map[int64][]*request{}, keys: map[string]*key{},
		leases: map[int64]*lease{}, later: later}
}

// revision is what a revision has done, before it is recorded.
type revision struct {
	number  int64
	changes []change
	first   *member
	copies  []*member
	urgent  bool // it has waited long enough
}

// owned is a change and the owner of its key.
type owned struct {
	change
	owner history.Attempt
}

// key is a key with the attempt that put it last.
type key struct {
	owner history.Attempt
	lease int64
}

// lease is a lease, as far as the answers tell.
type lease struct {
	ttl   time.Duration
	grant history.Attempt
	until sim.Time // it does not end sooner
	keys  []string // by name
}

// wait is what happens in a life once its member has told of a revision, and all up to that is recorded.
type wait struct {
	life     *life
	revision int64
	then     func()
}

func (l *ledger) isOver(w wait) bool { return w.revision <= l.recorded && w.revision <= w.life.m.seen }

// after does something in a life once its member has told of a revision, and all up to that is recorded.
func (l *ledger) after(x *life, revision int64, then func()) {
	w := wait{x, revision, then}
	if l.isOver(w) {
		then()
		return
	}
	l.waiting = append(l.waiting, w)
}

// patient is how long a revision is held back that may be one thing or another.
const patient = 250 * time.Millisecond

// seen takes note of what a member has seen.
func (l *ledger) seen(m *member, number int64, changes []change) {
	if number <= m.seen {
		return
	}
	m.seen = number
	switch {
	case number <= l.recorded:
		for _, o := range l.done[number] {
			o.recordCopy(m)
		}
	case len(l.queue) == 0 || l.queue[len(l.queue)-1].number < number:
		r := &revision{number: number, changes: changes, first: m}
		l.queue = append(l.queue, r)
		l.later(patient, func() {
			r.urgent = true
			l.settle()
		})
	default:
		at := slices.IndexFunc(l.queue, func(r *revision) bool { return r.number == number })
		l.queue[at].copies = append(l.queue[at].copies, m)
	}
	l.settle()
}

// settle records what can be, and lets happen what waits for it.
func (l *ledger) settle() {
	for len(l.queue) > 0 {
		r := l.queue[0]
		by, why, known := l.judge(r)
		if !known {
			break
		}
		l.queue = l.queue[1:]
		l.record(r, by, why)
		l.recorded = r.number
		delete(l.claimed, r.number)
	}
	ready := slices.DeleteFunc(slices.Clone(l.waiting), func(w wait) bool { return !l.isOver(w) })
	l.waiting = slices.DeleteFunc(l.waiting, l.isOver)
	for _, w := range ready {
		w.then()
	}
}

// judge says whose request a revision is; nil if it is the end of a lease. It is not known yet if an answer may tell.
func (l *ledger) judge(r *revision) (by *request, why history.Why, known bool) {
	could := func(q *request) bool { return q.could(r.changes, l.attached) }
	if at := slices.IndexFunc(l.claimed[r.number], could); at >= 0 {
		return l.claimed[r.number][at], history.Deleted, true
	}
	open := slices.DeleteFunc(slices.Clone(l.open), func(q *request) bool { return !could(q) })
	all := append(slices.Clone(open), slices.DeleteFunc(slices.Clone(l.doubtful),
		func(q *request) bool { return !could(q) })...)
	ended := l.mayHaveEnded(r)
	switch {
	case len(all) == 0:
		return nil, history.Expired, true
	case !ended && !slices.ContainsFunc(all, func(q *request) bool { return q.attempt != all[0].attempt }):
		return all[0], history.Deleted, true
	case len(open) > 0 && !r.urgent:
		return nil, "", false
	case ended:
		return nil, history.Expired, true
	}
	return all[0], history.Deleted, true
}

// mayHaveEnded reports whether a revision may be the end of a lease: it deletes all its keys, and it is due.
func (l *ledger) mayHaveEnded(r *revision) bool {
	x := l.leases[l.attached(r.changes[0].Key)]
	if x == nil || x.until > r.first.now() || len(x.keys) != len(r.changes) {
		return false
	}
	return !slices.ContainsFunc(r.changes, func(c change) bool { return !c.deleted || !slices.Contains(x.keys, c.Key) })
}

// attached is the lease that a key has; 0 if none.
func (l *ledger) attached(name string) int64 {
	if k := l.keys[name]; k != nil {
		return k.lease
	}
	return 0
}

// record records a revision, the doing of a request, or of nobody's.
func (l *ledger) record(r *revision, by *request, why history.Why) {
	l.doubtful = slices.DeleteFunc(l.doubtful, func(q *request) bool { return q == by })
	var all []owned
	for _, c := range r.changes {
		o := owned{change: c}
		if c.deleted {
			o.owner = l.gone(r.first, c.Key, by, why)
		} else {
			o.owner = l.put(r.first, &c.KeyValue, by)
		}
		all = append(all, o)
	}
	for _, m := range r.copies {
		for _, o := range all {
			o.recordCopy(m)
		}
	}
	l.done[r.number] = all
	l.forget(r.first.fleet.seenByAll())
}

// forget drops what every member has seen.
func (l *ledger) forget(upTo int64) {
	for n := range l.done {
		if n <= upTo {
			delete(l.done, n)
		}
	}
}

func (l *ledger) put(m *member, now *etcd.KeyValue, by *request) history.Attempt {
	var owner history.Attempt
	if by != nil {
		owner = by.attempt
	}
	l.detach(now.Key)
	l.keys[now.Key] = &key{owner, now.Lease}
	until := sim.Time(history.Never)
	if x := l.leases[now.Lease]; x != nil {
		until = x.until
		at, _ := slices.BinarySearch(x.keys, now.Key)
		x.keys = slices.Insert(x.keys, at, now.Key)
	}
	m.host.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: etcd.LockOf(now.Key), Member: now.Key,
		Value: now.Key, Of: owner, By: owner, Until: until})
	return owner
}

func (l *ledger) gone(m *member, name string, by *request, why history.Why) (owner history.Attempt) {
	id := l.attached(name)
	if k := l.keys[name]; k != nil {
		owner = k.owner
	}
	l.detach(name)
	delete(l.keys, name)
	e := history.Event{Type: history.OK, F: history.KeyGone, Lock: etcd.LockOf(name), Member: name, Of: owner, Why: why}
	if by != nil {
		e.By = by.attempt
		if x := l.leases[id]; x != nil && by.lease != nil {
			e.By = x.agent(by.attempt, owner)
		}
	}
	m.host.Record(e)
	return owner
}

func (l *ledger) detach(name string) {
	if x := l.leases[l.attached(name)]; x != nil {
		x.keys = slices.DeleteFunc(x.keys, func(k string) bool { return k == name })
	}
}

// recordCopy records that another member has a change too.
func (o *owned) recordCopy(m *member) {
	f := history.KeyCopied
	if o.deleted {
		f = history.CopyGone
	}
	m.host.Record(history.Event{Type: history.OK, F: f, Lock: etcd.LockOf(o.Key), Member: o.Key, Of: o.owner})
}

// agent is the attempt for which a lease's keeper acts on a key: its owner, unless the lease is another's.
func (x *lease) agent(by, owner history.Attempt) history.Attempt {
	if by == x.grant {
		return owner
	}
	return by
}

// begins takes note of a request that is put to a member.
func (l *ledger) begins(q *request) {
	if q.writes() {
		l.open = append(l.open, q)
	}
}

// abandon takes note that nothing will be heard any more of what a life was asked.
func (l *ledger) abandon(x *life) {
	of := func(q *request) bool { return q.life == x }
	for _, q := range l.open {
		if of(q) {
			l.doubtful = append(l.doubtful, q)
		}
	}
	l.open = slices.DeleteFunc(l.open, of)
	l.waiting = slices.DeleteFunc(l.waiting, func(w wait) bool { return w.life == x })
	l.settle()
}

// ends takes note of the answer to a request, or that there is none.
func (l *ledger) ends(q *request, a *answer, err error) {
	wrote := slices.Contains(l.open, q)
	l.open = slices.DeleteFunc(l.open, func(o *request) bool { return o == q })
	switch {
	case err != nil && wrote && !undone(err):
		l.doubtful = append(l.doubtful, q)
	case err == nil && wrote && a.changed && a.Revision > l.recorded:
		l.claimed[a.Revision] = append(l.claimed[a.Revision], q)
	case err == nil && q.lease != nil && a.ttl > 0:
		l.leased(q, a)
	}
	l.settle()
}

// leased takes note of a lease that was granted or prolonged.
func (l *ledger) leased(q *request, a *answer) {
	ttl := time.Duration(a.ttl) * time.Second
	switch q.lease.Command {
	case "GRANT":
		maps.DeleteFunc(l.leases, func(_ int64, x *lease) bool { return len(x.keys) == 0 && x.until < q.at-over })
		l.leases[a.lease] = &lease{ttl: ttl, grant: q.attempt, until: q.at + history.Of(ttl)}
	case "KEEPALIVE":
		if x := l.leases[a.lease]; x != nil {
			x.until = q.at + history.Of(ttl)
			l.prolonged(q.member, x, q.attempt)
		}
	}
}

// over is for how long a lease without keys is known after it should have ended.
const over = sim.Time(time.Minute)

// prolonged records that the keys of a lease live longer, by a keepalive or, if by is empty, by a change of leader.
func (l *ledger) prolonged(m *member, x *lease, by history.Attempt) {
	for _, name := range x.keys {
		e := history.Event{Type: history.OK, F: history.KeyProlonged, Lock: etcd.LockOf(name), Member: name,
			Of: l.keys[name].owner, Until: x.until}
		if by != "" {
			e.By = x.agent(by, e.Of)
		}
		m.host.Record(e)
	}
}

// promoted takes note of a leader that has not ruled before a time.
func (l *ledger) promoted(m *member, since sim.Time, extend time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(l.leases)) {
		x := l.leases[id]
		x.until = since + history.Of(x.ttl+extend)
		l.prolonged(m, x, "")
	}
}
