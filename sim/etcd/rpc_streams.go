package etcd

import (
	"math"
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// stream is a call that may have several messages in each direction. It is kept until its connection ends, even if the
// call ends earlier.
type stream struct {
	conn, id   uint64
	needLeader bool
	over       bool
	finished   bool  // the client will send no more messages
	unanswered int   // number of requests to keep a lease alive that have no response yet
	nextWatch  int64 // ID of the next watch
}

type streams []*stream

func (all streams) find(conn, id uint64) *stream {
	if i := slices.IndexFunc(all, func(s *stream) bool { return s.conn == conn && s.id == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// open returns the stream of a call. If this is the call's first message, it creates the stream.
func (q *rpc) open() *stream {
	if x := q.streams.find(q.r.ConnID, q.Stream); x != nil {
		return x
	}
	x := &stream{conn: q.r.ConnID, id: q.Stream, needLeader: q.NeedLeader}
	q.server.streams = append(q.streams, x)
	return x
}

// drop discards everything that belongs to a stream that the client or the member has ended.
func (s *server) drop(m *raft.Member, conn, id uint64) {
	if x := s.streams.find(conn, id); x != nil {
		x.over = true
	}
	s.watchers = slices.DeleteFunc(s.watchers, func(w watcher) bool {
		return !w.objects && w.conn == conn && w.stream == id
	})
	s.abandon(m, func(w *wait) bool { return w.conn == conn && w.stream == id })
}

var _ raft.Closer = (*server)(nil)

// Closed discards everything that belongs to a client's connection.
func (s *server) Closed(m *raft.Member, conn uint64) {
	s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x.conn == conn })
	s.watchers = slices.DeleteFunc(s.watchers, func(w watcher) bool { return w.conn == conn })
	s.abandon(m, func(w *wait) bool { return w.conn == conn })
}

// electionsLost is how many election timeouts have to pass without a leader before etcd ends the streams that need one.
const electionsLost = 3

// awaitLeader starts the timer for endWithoutLeader if no leader is known.
func (s *server) awaitLeader(m *raft.Member) {
	s.leaderless++
	if m.Leader() == "" && slices.ContainsFunc(s.streams, func(x *stream) bool { return x.needLeader }) {
		m.After(electionsLost*m.Config().ElectionTimeout(), tagLeaderless+s.leaderless)
	}
}

// endWithoutLeader ends the streams that need a leader, if there has not been one since the timer was started.
func (s *server) endWithoutLeader(m *raft.Member, since uint64) {
	if since != s.leaderless || m.Leader() != "" {
		return
	}
	for _, x := range s.streams {
		if x.needLeader && !x.over {
			s.drop(m, x.conn, x.id)
			b := Record{Kind: End, Stream: x.id, Code: errNoLeader.Code, Body: errNoLeader.Text}.Append(nil)
			m.Push(x.conn, m.Second(), b)
		}
	}
}

func (q *rpc) serveGrant() error {
	var ttl, id int64
	if err := readFields(q.Message, &ttl, &id); err != nil {
		return errUnreadable(err)
	}
	if ttl > maxTTL {
		return errTTLTooLarge
	}
	q.commit(&grant{q.leaseID(q.m, id), ttl})
	return nil
}

func (q *rpc) serveRevoke() error {
	var id int64
	if err := readFields(q.Message, &id); err != nil {
		return errUnreadable(err)
	}
	q.commit(&revocation{id: id})
	return nil
}

func (q *rpc) serveTimeToLive() error {
	var id, keys int64
	if err := readFields(q.Message, &id, &keys); err != nil {
		return errUnreadable(err)
	}
	q.askLeader(q.m, q.r.Attempt, id, false, func(t leaderAnswer, err error) {
		if err != nil {
			q.refuse(err)
			return
		}
		b := appendNumber(q.header(q.m).append(nil, 1), 2, id)
		b = appendNumber(appendNumber(b, 3, t.left), 4, t.ttl)
		if x := q.lessor.find(id); x != nil && keys != 0 && t.left >= 0 {
			for _, key := range x.keys {
				b = appendPart(b, 5, []byte(key))
			}
		}
		q.reply(b)
	})
	return nil
}

func (q *rpc) serveLeases() error {
	b := q.header(q.m).append(nil, 1)
	for _, x := range q.lessor.leases {
		b = appendPart(b, 2, appendNumber(nil, 1, x.id))
	}
	q.reply(b)
	return nil
}

func (q *rpc) serveKeepAlive() error {
	x := q.open()
	var id int64
	if err := readFields(q.Message, &id); err != nil {
		x.over = true
		return errUnreadable(err)
	}
	if x.over {
		return nil
	}
	h := q.header(q.m)
	x.unanswered++
	q.askLeader(q.m, q.r.Attempt, id, true, func(t leaderAnswer, err error) {
		x.unanswered--
		response := appendNumber(appendNumber(h.append(nil, 1), 2, id), 3, t.left)
		switch {
		case x.over:
		case err != nil:
			x.over = true
			q.refuse(err)
		case x.finished && x.unanswered == 0:
			x.over = true
			q.reply(response)
		default:
			q.say(response)
		}
	})
	return nil
}

// finishKeepAlive ends the stream, because the client is done sending messages. As in etcd, the member sends any
// outstanding responses first.
func (q *rpc) finishKeepAlive() {
	if x := q.streams.find(q.r.ConnID, q.Stream); x != nil && x.unanswered > 0 {
		x.finished = true
		return
	}
	q.drop(q.m, q.r.ConnID, q.Stream)
	q.end(OK, "")
}

func (q *rpc) serveWatch() (err error) {
	x := q.open()
	if x.over {
		return nil
	}
	err = readFields(q.Message, func(b []byte) error {
		c, err := readWatchCreation(b)
		if err == nil {
			q.watch(x, &c)
		}
		return err
	}, func(b []byte) error {
		var id int64
		err := readFields(b, &id)
		if err == nil {
			q.unwatch(id)
		}
		return err
	}, func(*scan) {
		q.say(appendNumber(q.header(q.m).append(nil, 1), 2, noWatch))
	})
	if err != nil {
		q.drop(q.m, q.r.ConnID, q.Stream)
		return errUnreadable(err)
	}
	return nil
}

// noWatch is the watch ID that means "no watch".
const noWatch = -1

// watchIndex returns the index of the watch with the given ID on the call's stream, or -1 if there is none.
func (q *rpc) watchIndex(id int64) int {
	return slices.IndexFunc(q.watchers, func(w watcher) bool {
		return !w.objects && w.conn == q.r.ConnID && w.stream == q.Stream && w.id == id
	})
}

func (q *rpc) watch(x *stream, c *watchCreation) {
	if c.Key == "" {
		c.Key = "\x00"
	}
	id, problem := c.id, ""
	switch {
	case c.End != "" && c.End != "\x00" && c.Key >= c.End:
		id, problem = noWatch, "mvcc: watcher range is empty"
	case id == 0:
		for q.watchIndex(x.nextWatch) >= 0 {
			x.nextWatch++
		}
		id = x.nextWatch
		x.nextWatch++
	case q.watchIndex(id) >= 0:
		id, problem = noWatch, "mvcc: duplicate watch ID provided on the WatchStream"
	}
	b := appendNumber(appendNumber(q.header(q.m).append(nil, 1), 2, id), 3, 1)
	if problem != "" {
		q.say(appendText(appendNumber(b, 4, 1), 6, problem))
		return
	}
	q.say(b)
	w := watcher{id: id, conn: q.r.ConnID, stream: q.Stream, key: c.Key, end: c.End, next: c.From,
		previous: c.previous, noPuts: c.noPuts, noDeletes: c.noDeletes}
	if w.next != 0 && w.next < q.store.compacted {
		h := q.header(q.m)
		h.revision = 0
		b := appendNumber(appendNumber(h.append(nil, 1), 2, id), 4, 1)
		q.pushTo(q.m, &w, q.m.Second(), appendNumber(b, 5, q.store.compacted))
		w.next = math.MaxInt64 // the watch shows nothing, but its ID stays in use until the client cancels it
	} else if w.next <= 0 {
		w.next = q.store.revision + 1
	}
	q.server.watchers = append(q.watchers, w)
	q.show(q.m, &q.watchers[len(q.watchers)-1])
}

// unwatch ends the watch with the given ID, if it exists.
func (q *rpc) unwatch(id int64) {
	if i := q.watchIndex(id); i >= 0 {
		q.server.watchers = slices.Delete(q.watchers, i, i+1)
		q.say(appendNumber(appendNumber(q.header(q.m).append(nil, 1), 2, id), 4, 1))
	}
}

func (s *server) pushTo(m *raft.Member, w *watcher, key sim.Key, message []byte) {
	m.Push(w.conn, key, Record{Kind: Message, Stream: w.stream, Body: string(message)}.Append(nil))
}

// show sends all pending changes to a gRPC watcher in one message.
func (s *server) show(m *raft.Member, w *watcher) {
	all := s.store.changes
	first := sort.Search(len(all), func(i int) bool { return all[i].revision >= w.next })
	key, b, any := m.Second(), appendNumber(s.header(m).append(nil, 1), 2, w.id), false
	for i := first; i < len(all); i++ {
		c := &all[i]
		if !w.sees(c) || c.deleted && w.noDeletes || !c.deleted && w.noPuts {
			continue
		}
		any = true
		key = key.Text(c.Key)
		e := appendKeyValue(appendNumber(nil, 1, asNumber(c.deleted)), 2, &c.KeyValue, false)
		if before := s.store.stateBefore(i); w.previous && before != nil {
			e = appendKeyValue(e, 3, before, false)
		}
		b = appendPart(b, 11, e)
	}
	if any {
		s.pushTo(m, w, key, b)
	}
	w.next = max(w.next, s.store.revision+1)
}

// stateBefore returns a key's state before the given change to it. It returns nil if the key did not exist then, or if
// the revision before the change has been compacted.
func (s *store) stateBefore(change int) *KeyValue {
	of := &s.changes[change]
	created := !of.deleted && of.Create == of.Mod // also true if the same txn first deleted the key
	if created || of.revision-1 < s.compacted {
		return nil
	}
	for i := change - 1; i >= 0; i-- {
		if c := &s.changes[i]; c.Key == of.Key && c.revision < of.revision {
			if c.deleted {
				return nil
			}
			return &c.KeyValue
		}
	}
	return nil
}
