package zkserver

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// scribe writes the records of the ensemble, by what stands in the members' logs.
type scribe struct {
	cfg *settings

	mu      sync.Mutex
	numbers int32 // of requests, so far
	members []*member
	seen    int64 // what stands in the logs up to here is recorded
	asked   map[origin]asked
	nodes   map[string]node
	graves  []buried // the latest at the end
	effects []effect // recorded, the oldest first; of some a member has not told yet that it knows
}

// origin is where a transaction comes from: the number of a request on its session.
type origin struct {
	session int64
	cxid    int32
}

// asked is what a client has asked for that changes something.
type asked struct {
	attempt    history.Attempt
	sequential bool // the znode is to be
	expires    bool // it is no client: a fault ends the session
}

// node is a znode, as far as records are concerned.
type node struct {
	zxid       int64
	owner      int64 // the session that it goes with, or 0
	by         history.Attempt
	sequential bool
}

// effect is what a transaction did to a request for a lock.
type effect struct {
	zxid  int64
	lock  history.Lock
	name  string
	of    history.Attempt
	by    history.Attempt
	owner int64 // the session that the znode goes with, or 0
	gone  bool
	why   history.Why
	// forced says that a fault has ended the session, before its time.
	forced bool
	first  *member // that was seen to know it first
}

// mostEffects is how many effects are kept for members that have not told yet that they know them.
const mostEffects = 10_000

// number is the number of a request. No two have the same, on whatever connection: of one that was not answered it may
// be known only after the next has been sent that the session has carried it out.
func (s *scribe) number() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers++
	return s.numbers
}

// note takes note of a request that is about to be sent.
func (s *scribe) note(o origin, a asked) {
	s.mu.Lock()
	s.asked[o] = a
	s.mu.Unlock()
}

// upTo has all recorded that a member knows which has carried out a zxid. What is posted to the world afterwards comes
// after the records.
func (s *scribe) upTo(x *life, zxid int64) error {
	m := x.m
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh []effect
	if zxid > s.seen {
		var err error
		if zxid, fresh, err = s.advance(x, zxid); err != nil {
			return err
		}
	}
	var copied []effect
	for _, e := range s.effects {
		if e.zxid > m.reached && e.zxid <= zxid && e.first != m {
			copied = append(copied, e)
		}
	}
	for i := range fresh {
		fresh[i].first = m
	}
	m.reached = max(m.reached, zxid)
	s.keep(fresh)
	if len(fresh)+len(copied) > 0 {
		s.cfg.loop.Do(func() {
			for i := range copied {
				m.recordCopy(&copied[i])
			}
			for i := range fresh {
				m.record(&fresh[i])
			}
		})
	}
	return nil
}

// advance has what is in the logs take effect up to a zxid. In a new epoch that is one of a census: what its leader
// does not know is not.
func (s *scribe) advance(x *life, zxid int64) (int64, []effect, error) {
	var c census
	turned := s.seen > 0 && epoch(s.seen) < epoch(zxid)
	if turned {
		var err error
		if c, err = x.eye.census(); err != nil {
			return 0, nil, err
		}
		zxid = max(zxid, c.zxid)
	}
	list, err := s.collect(zxid)
	if err != nil {
		return 0, nil, err
	}
	var fresh []effect
	if turned {
		list, fresh = s.reconcile(list, c)
	}
	for i := range list {
		fresh = s.apply(fresh, &list[i])
	}
	s.seen = zxid
	return zxid, fresh, nil
}

// keep keeps effects until all members have told that they know them.
func (s *scribe) keep(fresh []effect) {
	least := s.seen
	for _, m := range s.members {
		least = min(least, m.reached)
	}
	known := 0
	for known < len(s.effects) && s.effects[known].zxid <= least {
		known++
	}
	s.effects = append(slices.Delete(s.effects, 0, known), fresh...)
	if over := len(s.effects) - mostEffects; over > 0 {
		s.effects = slices.Delete(s.effects, 0, over)
	}
}

// missing is how long a transaction may be missing in the logs that has been carried out: a majority has it there.
const missing = 10 * time.Second

var errLogs = errors.New("the transaction logs lack what has been carried out")

// collect gives the transactions up to a zxid that has been carried out.
func (s *scribe) collect(zxid int64) ([]txn, error) {
	for end := time.Now().Add(missing); ; time.Sleep(200 * time.Microsecond) {
		list, err := s.look(zxid)
		switch {
		case err != nil:
			return nil, err
		case begins(zxid) || len(list) > 0 && list[len(list)-1].zxid == zxid:
			return list, nil
		case time.Now().After(end):
			return nil, fmt.Errorf("%w: zxid %#x", errLogs, zxid)
		}
	}
}

// look reads the logs. All of the zxid's own epoch counts up to it. Of what is older, a member has cut off what never
// was committed once it has joined that epoch; before, its log does not count.
func (s *scribe) look(zxid int64) (list []txn, err error) {
	turned := epoch(s.seen) < epoch(zxid)
	for _, m := range s.members {
		clean := true
		if turned {
			m.log.reset()
			m.unread = nil
			clean = joined(m.log.folder) >= epoch(zxid)
		}
		err := m.log.read(func(t txn) {
			if t.zxid > s.seen {
				m.unread = append(m.unread, t)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("reading the transaction log of %s: %w", m.name, err)
		}
		m.unread = slices.DeleteFunc(m.unread, func(t txn) bool { return t.zxid <= s.seen })
		for _, t := range m.unread {
			if t.zxid <= zxid && (clean || epoch(t.zxid) == epoch(zxid)) {
				list = append(list, t)
			}
		}
	}
	slices.SortFunc(list, func(a, b txn) int { return cmp.Compare(a.zxid, b.zxid) })
	return slices.CompactFunc(list, func(a, b txn) bool { return a.zxid == b.zxid }), nil
}

// apply carries out a transaction, and appends what it did.
func (s *scribe) apply(list []effect, t *txn) []effect {
	o := origin{t.session, t.cxid}
	of := s.asked[o]
	delete(s.asked, o)
	switch t.op {
	case opCreate, opCreate2:
		if _, there := s.nodes[t.path]; there { // it has been lost, or its name would not have been free
			list = s.remove(list, &txn{zxid: t.zxid}, t.path, effect{why: history.LostInFailover})
		}
		n := node{zxid: t.zxid, by: of.attempt, sequential: of.sequential}
		if t.owned {
			n.owner = t.session
		}
		s.nodes[t.path] = n
		return n.effect(list, t, effect{by: of.attempt})
	case opDelete:
		return s.remove(list, t, t.path, effect{by: of.attempt, why: history.Deleted})
	case opCloseSession:
		slices.SortFunc(t.paths, func(a, b string) int { return cmp.Compare(s.nodes[a].zxid, s.nodes[b].zxid) })
		for _, path := range t.paths {
			e := effect{by: s.nodes[path].by, why: history.Deleted} // by its client, which gives up all of its own
			if t.cxid == 0 || of.expires {
				e = effect{why: history.Expired, forced: of.expires}
			}
			list = s.remove(list, t, path, e)
		}
	}
	return list
}

func (s *scribe) remove(list []effect, t *txn, path string, e effect) []effect {
	n := s.nodes[path]
	s.bury(path)
	t.path, e.gone = path, true
	return n.effect(list, t, e)
}

// effect appends what a transaction did to the znode at its path, if that is a request for a lock.
func (n node) effect(list []effect, t *txn, e effect) []effect {
	lock, name, ok := zookeeper.LockOf(t.path, n.owner != 0, n.sequential)
	if !ok {
		return list
	}
	e.zxid, e.lock, e.name, e.of, e.owner = t.zxid, lock, name, n.by, n.owner
	return append(list, e)
}

// record records an effect. It is called on the world's goroutine.
func (m *member) record(e *effect) {
	r := history.Event{Type: history.OK, Lock: e.lock, Member: e.name, Of: e.of, F: history.KeyGone, By: e.by,
		Why: e.why}
	switch {
	case !e.gone:
		r.F, r.Value, r.Until = history.KeySet, e.name, history.Never
		if v := m.cfg.visits[e.owner]; v != nil {
			r.Until = m.host.Due(v.timeout)
		}
	case e.why == history.Expired:
		last := r
		last.F, last.By, last.Why, last.Until = history.KeyProlonged, e.of, "",
			m.cfg.visits[e.owner].due(m.host.Due(0), e.forced)
		m.host.Record(last)
	}
	m.host.Record(r)
}

// recordCopy records that the member knows an effect now too, which another did before.
func (m *member) recordCopy(e *effect) {
	r := history.Event{Type: history.OK, F: history.KeyCopied, Lock: e.lock, Member: e.name, Of: e.of}
	if e.gone {
		r.F = history.CopyGone
	}
	m.host.Record(r)
}

// visit is what the members have heard of a session. It is the world's goroutine's.
type visit struct {
	timeout time.Duration
	dues    []history.Time // when it was due to expire, as of each time that it was heard of, without those long past
}

// heard takes note that a member has heard of the session.
func (v *visit) heard(due, now history.Time) {
	past := 0
	for past+1 < len(v.dues) && v.dues[past+1] <= now {
		past++ // only the last that has come can have been the deadline
	}
	v.dues = append(slices.Delete(v.dues, 0, past), due)
}

// due is the latest deadline that has come: an expiry tells that the leader knew of no later one. If a fault has ended
// the session, it is the latest of all.
func (v *visit) due(now history.Time, forced bool) (due history.Time) {
	if v == nil {
		return now
	}
	for _, d := range v.dues {
		if d <= now || forced {
			due = d
		}
	}
	return due
}
