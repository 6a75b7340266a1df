package etcd

import (
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// The lock and election services run on the member as etcd clients. They implement the recipes from etcd 3.4's package
// concurrency for callers that cannot use that package. While a call is waiting, the member keeps the call's lease
// alive. When the call's key becomes the oldest in the queue, the service does not check whether the key still exists.
const (
	elections   = "/v3electionpb.Election/"
	observePath = elections + "Observe"
)

// Errors from package concurrency and the two services. They have no gRPC code of their own.
var (
	errNotLeader     = &Error{UnknownCode, "election: not leader"}
	errNobodyElected = &Error{UnknownCode, "election: no leader"}
	errNoLeaderKey   = &Error{UnknownCode, `"leader" field must be provided`}
)

// sessionTTL is the TTL, in seconds, of the lease that the services grant to callers that don't have one.
const sessionTTL = 60

// wait is a call that waits until its own key is the oldest one with its prefix. A call to Observe is also stored as a
// wait, but without a key.
type wait struct {
	number       uint64
	conn, stream uint64
	prefix       string
	attempt      history.Attempt
	lease, ttl   int64
	key          string
	created      int64 // create revision of the call's key; 0 if the call is not in the queue yet
	entered      int64 // revision of the store when the call entered the queue
	checking     bool
	won          func(w *wait, h header)
	observe      func() // for Observe: called after every change
}

// lockRequest is a decoded LockRequest or CampaignRequest.
type lockRequest struct {
	name, value string
	lease       int64
	election    bool
}

func readLockRequest(message string) (l lockRequest, err error) {
	err = readFields(message, &l.name, &l.lease, &l.value)
	return l, err
}

func (q *rpc) serveLock() error {
	l, err := readLockRequest(q.Message)
	return q.enter(l, err, func(w *wait, h header) {
		q.reply(appendText(h.append(nil, 1), 2, w.key))
	})
}

func (q *rpc) serveCampaign() error {
	l, err := readLockRequest(q.Message)
	l.election = true
	return q.enter(l, err, func(w *wait, h header) {
		h.revision = w.entered
		leader := appendText(appendText(nil, 1, l.name), 2, w.key)
		leader = appendNumber(appendNumber(leader, 3, w.created), 4, w.lease)
		q.reply(appendPart(h.append(nil, 1), 2, leader))
	})
}

// enter adds the caller's key to the queue. It calls onWin once there are no older keys in the queue.
func (q *rpc) enter(l lockRequest, unreadable error, onWin func(*wait, header)) error {
	if unreadable != nil {
		return errUnreadable(unreadable)
	}
	w := q.begin(l.name)
	w.lease, w.ttl, w.won = l.lease, sessionTTL, onWin
	if w.lease != 0 {
		q.standInLine(w, &l)
		return nil
	}
	w.lease = q.leaseID(q.m, 0)
	q.commitThen(&grant{w.lease, sessionTTL}, func(_ []byte, err error) {
		if err != nil {
			q.fail(w, err)
			return
		}
		q.standInLine(w, &l)
	})
	return nil
}

// begin creates a wait for the queue with the given name.
func (q *rpc) begin(name string) *wait {
	q.server.lastWait++
	w := &wait{number: q.lastWait, conn: q.r.ConnID, stream: q.Stream, prefix: name + "/", attempt: q.r.Attempt}
	q.server.waits = append(q.waits, w)
	return w
}

// standInLine adds the caller's key to the queue. The caller already has a lease.
func (q *rpc) standInLine(w *wait, l *lockRequest) {
	w.key = w.prefix + strconv.FormatInt(w.lease, 16)
	q.keepAlive(q.m, w)
	q.commitThen(&entrance{w.key, l.value, w.lease, l.election}, func(reply []byte, err error) {
		if err != nil {
			q.fail(w, err)
			return
		}
		_ = readFields(reply, &w.created, &w.entered)
		if q.isOldest(w) && q.finish(w) {
			h := q.header(q.m)
			h.revision = w.entered
			w.won(w, h)
		}
	})
}

// apply puts the key if it does not exist yet. If it exists and belongs to an election, apply replaces its value. The
// reply contains the key's create revision and the store's new revision.
func (n *entrance) apply(s *server, m *raft.Member, w *write) ([]byte, error) {
	o := Op{Kind: Put, Key: n.key, Lease: n.lease}
	if n.election {
		o.Value = n.value
	}
	k, at := s.store.get(o.Key), s.store.revision // what to reply if the key exists
	if k == nil {
		at = w.revision
	}
	if k == nil || n.election && k.Value != o.Value {
		if err := s.checkOp(&o); err != nil {
			return nil, err
		}
		s.operate(m, &o, w)
		s.commit(m, w)
		k = s.store.get(o.Key)
	}
	return appendNumber(appendNumber(nil, 1, k.Create), 2, at), nil
}

// fail ends a call that could not join the queue.
func (q *rpc) fail(w *wait, err error) {
	if q.finish(w) {
		q.refuse(unknownCode(err))
	}
}

// unknownCode replaces an error's code with UnknownCode. The services do this with errors from their etcd client.
func unknownCode(err error) error { return &Error{UnknownCode, err.Error()} }

// finish ends a wait. It reports whether the wait was still active.
func (s *server) finish(w *wait) bool {
	i := slices.Index(s.waits, w)
	if i >= 0 {
		s.waits = slices.Delete(s.waits, i, i+1)
	}
	return i >= 0
}

// abandon ends the waits for which isGone returns true, and deletes their keys from the queues.
func (s *server) abandon(m *raft.Member, isGone func(*wait) bool) {
	for _, w := range slices.Clone(s.waits) {
		if isGone(w) && s.finish(w) && w.created != 0 {
			s.propose(m, w.attempt, &Op{Kind: Delete, Key: w.key}, func([]byte, error) {})
		}
	}
}

// isOldest reports whether no key in the queue is older than the wait's key.
func (s *server) isOldest(w *wait) bool {
	from, to := s.store.span(w.prefix, prefixEnd(w.prefix))
	return !slices.ContainsFunc(s.store.keys[from:to], func(k keyValue) bool { return k.Create < w.created })
}

// checkWaits is called after each change. It ends a wait if the waiting call's key has become the oldest in its queue,
// and a linearizable read confirms this.
func (s *server) checkWaits(m *raft.Member) {
	for _, w := range slices.Clone(s.waits) {
		switch {
		case w.observe != nil:
			w.observe()
		case w.created == 0 || w.checking || !s.isOldest(w):
		default:
			w.checking = true
			m.ReadIndex(func(err error) {
				w.checking = false
				if err == nil && s.isOldest(w) && s.finish(w) {
					w.won(w, s.header(m))
				}
			})
		}
	}
}

// keepAlive renews the lease of a waiting call. It runs three times per TTL.
func (s *server) keepAlive(m *raft.Member, w *wait) {
	s.askLeader(m, w.attempt, w.lease, true, func(t leaderAnswer, err error) {
		if err == nil && t.left > 0 && slices.Contains(s.waits, w) {
			w.ttl = t.left
			m.After(time.Duration(w.ttl)*time.Second/3, tagWait+w.number)
		}
	})
}

func (s *server) wakeWait(m *raft.Member, number uint64) {
	if i := slices.IndexFunc(s.waits, func(w *wait) bool { return w.number == number }); i >= 0 {
		s.keepAlive(m, s.waits[i])
	}
}

func (q *rpc) serveUnlock() error {
	key, err := readText(q.Message)
	switch {
	case err != nil:
		return errUnreadable(err)
	case key == "":
		return unknownCode(errEmptyKey)
	}
	q.change(&Op{Kind: Delete, Key: key}, func([]byte) error { return nil })
	return nil
}

// readText decodes the first field of a message, which is a string.
func readText(message string) (text string, err error) {
	err = readFields(message, &text)
	return text, err
}

// change commits a command that changes keys. It then replies with the response's header, unless judge returns an
// error.
func (q *rpc) change(c command, judge func(response []byte) error) {
	q.commitThen(c, func(response []byte, err error) {
		if err == nil {
			err = judge(response)
		}
		if err != nil {
			q.refuse(unknownCode(err))
			return
		}
		s := scanOf(response)
		s.next() // skips to the header
		q.reply(appendPart(nil, 1, s.bytes()))
	})
}

// leaderKey is a decoded v3electionpb.LeaderKey.
type leaderKey struct {
	name, key       string
	revision, lease int64
}

// readLeaderKey decodes a ProclaimRequest or a ResignRequest.
func readLeaderKey(message string) (l *leaderKey, value string, err error) {
	err = readFields(message, func(b []byte) error {
		l = &leaderKey{}
		return readFields(b, &l.name, &l.key, &l.revision, &l.lease)
	}, &value)
	return l, value, err
}

// onlyIfLeader returns a txn that executes an operation only if the leader's key still has the create revision stored
// in l.
func (l *leaderKey) onlyIfLeader(o Op) *Txn {
	return &Txn{Conditions: []Compare{{Target: "CREATE", Key: l.key, Rel: '=', Number: l.revision}}, Then: []Op{o}}
}

// stillLeader returns errNotLeader if the condition set by onlyIfLeader was not met.
func stillLeader(response []byte) error {
	var succeeded bool
	_ = readFields(response, nil, &succeeded) // cannot fail: the response comes from this member itself
	if !succeeded {
		return errNotLeader
	}
	return nil
}

func (q *rpc) serveProclaim() error {
	l, value, err := readLeaderKey(q.Message)
	switch {
	case err != nil:
		return errUnreadable(err)
	case l == nil:
		return errNoLeaderKey
	}
	q.change(l.onlyIfLeader(Op{Kind: Put, Key: l.key, Value: value, Lease: l.lease}), stillLeader)
	return nil
}

func (q *rpc) serveResign() error {
	l, _, err := readLeaderKey(q.Message)
	switch {
	case err != nil:
		return errUnreadable(err)
	case l == nil:
		return errNoLeaderKey
	}
	q.change(l.onlyIfLeader(Op{Kind: Delete, Key: l.key}), func([]byte) error { return nil })
	return nil
}

// elected returns a queue's oldest key, or nil if the queue is empty.
func (s *server) elected(prefix string) *KeyValue {
	_, found, _ := s.store.query(&Op{Kind: Range, Key: prefix, End: prefixEnd(prefix), Order: ByCreate, Limit: 1})
	if len(found) == 0 {
		return nil
	}
	return &found[0].KeyValue
}

func (q *rpc) serveLeader() error {
	name, err := readText(q.Message)
	if err != nil {
		return errUnreadable(err)
	}
	q.linearizable(func() error {
		k := q.elected(name + "/")
		if k == nil {
			return errNobodyElected
		}
		q.reply(appendKeyValue(q.header(q.m).append(nil, 1), 2, k, false))
		return nil
	})
	return nil
}

// serveObserve sends the leader's key at once, and again whenever the leader or its value changes.
func (q *rpc) serveObserve() error {
	name, err := readText(q.Message)
	if err != nil {
		return errUnreadable(err)
	}
	q.open()
	w, sent := q.begin(name), int64(0)
	w.observe = func() {
		if k := q.elected(w.prefix); k != nil && k.Mod != sent {
			sent = k.Mod
			b := appendKeyValue(q.header(q.m).append(nil, 1), 2, k, false)
			r := Record{Kind: Message, Stream: w.stream, Body: string(b)}
			q.m.Push(w.conn, q.m.Second().Text(k.Key), r.Append(nil))
		}
	}
	w.observe()
	return nil
}
