package locks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
	rpc "github.com/fencepost-sim/fencepost/sim/etcd"
)

// Etcd is etcd's own recipe (clientv3/concurrency): each client puts a key that is attached to its lease, and the
// client with the oldest key holds the lock.
const Etcd Protocol = "etcd"

func init() {
	Register(&Definition{
		Name: Etcd, Place: 6, Service: history.Etcd,
		Text: "each client has a lease and a key; the client with the oldest key holds the lock; " +
			"the key's create revision is the fencing token",
		Backend: OnEtcd, Several: true, Expires: true, Renews: true, Tokens: true,
		Settings: slices.Concat([]Setting{
			ttlKey.With(func(f *format.Form) { f.Least, f.Step = int64(2*time.Second), int64(time.Second) }),
			retryKey, retryDelay, retryPatience, timeoutKey.Standing(format.Value{N: int64(time.Second)}),
			format.Only(reentrantKey, CountedReentry, UncountedReentry), permitsKey,
		}, ownSettings(etcdKeys...)),
		Without: withoutRedis(Etcd, "lease"),
		Alike: map[string]string{
			"line": "with `line: one-key`, a client ignores the keys of other waiting clients: " +
				"set `line` for all clients, under `lock`",
			"permits": permitsAlike},
		Refused: func(c *Config, _ int) []Refusal {
			if ownOf[etcdConfig](c).line == oneKey && c.Permits > 1 {
				return []Refusal{{"line", "with `line: one-key`, only one client can hold the lock, " +
					"but there are several permits: remove `line`"}}
			}
			return nil
		},
		make: func(r requester) protocol {
			return &etcd{requester: r, own: ownOf[etcdConfig](r.config), caller: etcdCaller{config: r.config}}
		},
		Measures: func(c *Config) (list []history.Measure) {
			own := ownOf[etcdConfig](c)
			// The token is the create revision of the client's key.
			list = append(list, history.OwnValue, history.GrantToken)
			if own.compareRevision {
				list = append(list, history.OwnerCheck)
			}
			if own.recheck {
				list = append(list, history.Recheck)
			}
			if own.count == fromSending {
				list = append(list, history.ElapsedCheck)
			}
			if own.keepAlive == untilLost {
				list = append(list, history.StopWhenLost)
			}
			return list
		},
		clash: func(a, b history.Lock) string {
			if !strings.HasPrefix(string(b), string(a)+"/") {
				return ""
			}
			return fmt.Sprintf("the requests for lock %s are the keys that begin with %s/, "+
				"and those for lock %s would be among them: rename %[3]s, for example to %[4]s",
				a, a, b, strings.ReplaceAll(string(b), "/", "-"))
		},
	})
}

// etcdConfig contains the settings that only this protocol has.
type etcdConfig struct {
	// recheck makes the client check, after waiting, whether its own key still exists (etcd issue 11456); default: on
	recheck   bool
	count     leaseCount // default sending
	line      lineKind   // default own-keys
	keepAlive keepAlive  // default until-lost
	// compareRevision makes the client delete its own key only if this attempt put it (etcd issue 22082); default: on
	compareRevision bool
}

// leaseCount determines when a client starts to measure an etcd lease's TTL.
type leaseCount string

const (
	// the client measures the lease from when it sent the request that extended it, so the lease never ends later for
	// the client than on the server
	fromSending leaseCount = "sending"
	// the client measures the lease from when the reply arrived, and checks the lease twice a second, as etcd's own
	// client does
	fromReceipt leaseCount = "receipt"
)

// lineKind determines which key an etcd client puts when it requests the lock: its own key in a line of waiting
// clients, or a key that all clients share.
type lineKind string

const (
	ownKeys lineKind = "own-keys" // each client puts its own key and waits in line, as in etcd's recipe
	// all clients share one key, which a client puts if it does not exist; there is no line (youngju.dev)
	oneKey lineKind = "one-key"
)

// keepAlive determines when an etcd client stops its keepalives.
type keepAlive string

const (
	// the client sends keepalives to one member after another until the lease has ended by its own count or a member
	// says that the lease is gone, and does not learn that the lock is lost until then
	untilLost keepAlive = "until-lost"
	// keepalives stop without notice at the first error; a lease that no longer exists does not count as an error
	// (youngju.dev)
	untilError keepAlive = "until-error"
)

var etcdKeys = []format.Key[etcdConfig]{
	format.Switch("recheck", func(c *etcdConfig) *bool { return &c.recheck }, true,
		"after waiting, check that the client's own key still exists (etcd issue 11456)"),
	format.Choice("count-from", func(c *etcdConfig) *leaseCount { return &c.count },
		"the time from which the client measures the lease after an extension. `sending`: when it sent the request; "+
			"`receipt`: when the reply arrived, as in etcd's own client", format.Options(fromSending, fromReceipt)...),
	format.Choice("line", func(c *etcdConfig) *lineKind { return &c.line },
		"`own-keys`: each client puts its own key and waits in line, as in etcd's recipe; "+
			"`one-key`: all clients share one key, which a client puts if it does not exist; "+
			"otherwise the client tries again after the delay",
		format.Options(ownKeys, oneKey)...),
	format.Choice("keepalive", func(c *etcdConfig) *keepAlive { return &c.keepAlive },
		"`until-lost`: the client asks one member after another until its lease is over, and then stops its work; "+
			"`until-error`: it asks one member, "+
			"and stops its keepalive without notice at the first error or if no reply arrives within `lock.timeout`; "+
			"a reply that the lease is gone does not count as an error",
		format.Options(untilLost, untilError)...),
	format.Switch("compare-revision", func(c *etcdConfig) *bool { return &c.compareRevision }, true,
		"a release deletes the client's key only if the same attempt put it (etcd issue 22082)"),
}

// withoutRedis explains, for each Redis lock setting, why a lock on a coordination service does not accept it.
func withoutRedis(p Protocol, lease string) map[string]string {
	name := string(p)
	return map[string]string{
		"extension": fmt.Sprintf("the %s client keeps its %s alive by itself: remove `extension`", name,
			lease),
		"release": fmt.Sprintf("a release of %s deletes the client's own node or key: remove `release`",
			name),
		"wait": fmt.Sprintf("%s answers when a majority has the write: remove `wait`", name),
		"retry.count": fmt.Sprintf("a client of %s waits in line and does not try again: "+
			"remove `count`, or set `patience`", name),
		"reentrant.overwrite": "`overwrite` works only on Redis, where it sets the key again: " +
			"use `counted` or `uncounted`",
	}
}

// etcd is the mutex in clientv3/concurrency. Each client puts its own key under the lock's name, attached to its lease,
// and the key with the lowest create revision holds the lock. The create revision is the fencing token. With n permits,
// the n keys with the lowest create revisions hold the lock.
//
// Here, each lock has its own session. It is closed if an attempt may have left a key behind. This differs from the
// original recipe, in which several locks may share a session: there, a lock never closes the session, so the caller
// must delete what a failed attempt leaves behind.
type etcd struct {
	requester
	own     etcdConfig
	caller  etcdCaller
	session *etcdSession // nil if no session is open
}

// Acquire waits in line until the client's key is the oldest or, with several permits, among the oldest.
func (l *etcd) Acquire(env sim.Env) (*Hold, error) { return l.retryFor(env, l.try) }

// try makes one attempt. It returns nil if it did not get the lock.
func (l *etcd) try(env sim.Env, patience time.Duration) *Hold {
	attempt, _ := l.next(env)
	h := &Hold{Attempt: attempt}
	env.Point(sim.AcquireStart)
	h.Grant.Since = env.Mark()
	if l.session != nil && !l.session.alive(env) {
		l.Close(env)
	}
	if l.session == nil {
		if l.session = openEtcdSession(env, l, attempt, patience); l.session == nil {
			return nil
		}
	}
	s := l.session
	h.own = s
	key := string(l.config.Key) + "/" + strconv.FormatInt(s.lease, 10)
	enter := l.enter
	if l.own.line == oneKey {
		key, enter = string(l.config.Key)+"/key", l.put
	}
	h.value = key
	first, entered := enter(env, h, key)
	s.stray = s.stray || l.caller.repeated
	taken := entered && !first
	l.library.counted(taken)
	switch {
	case !entered, taken && l.own.line == oneKey:
		l.Close(env) // the key may exist or be created later; closing the session deletes it with the lease
		return nil
	case taken && !l.waitInLine(env, h, key, patience):
		l.giveUp(env, h)
		return nil
	}
	env.Point(sim.QuorumReached)
	if l.own.recheck && !s.alive(env) {
		l.Close(env)
		return nil
	}
	h.Grant.Granted, h.Grant.Counted = env.Mark(), l.config.Servers
	h.Grant.Until = s.deadline()
	h.Ends = []*sim.Signal{&s.lost}
	l.library.keep(h)
	env.Point(sim.ValidityChecked)
	return h
}

// enter puts the client's own key, unless it already exists, and stores the key's create revision in h. first reports
// whether the key is among the oldest keys, which hold the lock. entered is false if there was no reply. It is also
// false if the key exists, but was put by a late request of an earlier attempt.
func (l *etcd) enter(env sim.Env, h *Hold, key string) (first, entered bool) {
	look, oldest := rpc.Op{Kind: rpc.Range, Key: key}, l.line()
	txn := rpc.Txn{Conditions: created(key, 0), Then: []rpc.Op{l.putting(h, key), look, oldest},
		Else: []rpc.Op{look, oldest}}
	r, ok := l.caller.call(env, h.Attempt, l.session.until-env.Monotonic(), txn.Call())
	n := len(r.Results) // results of the put, if the key did not exist, and of the two range requests
	if !ok || n < 2 {
		return false, false
	}
	own, owner := r.Results[n-2].Keys, r.Results[n-1].Keys
	if len(own) == 0 || len(owner) == 0 || own[0].Value != string(h.Attempt) {
		return false, false
	}
	h.Token = history.Token(own[0].Create)
	return slices.ContainsFunc(owner, func(k rpc.KeyValue) bool { return k.Key == key }), true
}

// created returns the condition that a key has the given create revision. Revision 0 means that the key does not exist.
func created(key string, revision int64) []rpc.Compare {
	return []rpc.Compare{{Target: "CREATE", Key: key, Rel: '=', Number: revision}}
}

// putting returns the operation that puts a key with the session's lease. The key's value is the attempt's name.
func (l *etcd) putting(h *Hold, key string) rpc.Op {
	return rpc.Op{Kind: rpc.Put, Key: key, Value: string(h.Attempt), Lease: l.session.lease}
}

// line returns the operation that reads the oldest keys under the lock's name, one per permit. The clients that own
// these keys hold the lock.
func (l *etcd) line() rpc.Op {
	prefix := string(l.config.Key) + "/"
	return rpc.Op{Kind: rpc.Range, Key: prefix, End: rpc.Prefix(prefix), Order: rpc.ByCreate,
		Limit: l.config.permits()}
}

// put puts the key that all clients share, unless it already exists. first and entered are false if there is no reply.
func (l *etcd) put(env sim.Env, h *Hold, key string) (first, entered bool) {
	txn := rpc.Txn{Conditions: created(key, 0), Then: []rpc.Op{l.putting(h, key)},
		Else: []rpc.Op{{Kind: rpc.Range, Key: key}}}
	r, ok := l.caller.call(env, h.Attempt, l.session.until-env.Monotonic(), txn.Call())
	if !ok || len(r.Results) == 0 {
		return false, false
	}
	if r.Succeeded {
		h.Token = history.Token(r.Revision)
		return true, true
	}
	// If the key's value is this attempt's name, an earlier request that did not get a reply put the key.
	if k := r.Results[0].Keys; len(k) > 0 && k[0].Value == string(h.Attempt) {
		h.Token = history.Token(k[0].Create)
		return true, true
	}
	return false, true
}

// waitInLine waits until the client's own key is among the oldest keys under the lock's name, so that it holds the
// lock. With several permits, several keys may hold the lock at once. waitInLine returns false if it had to stop before
// then.
func (l *etcd) waitInLine(env sim.Env, h *Hold, key string, patience time.Duration) bool {
	start := env.Monotonic()
	for waited := false; ; waited = true {
		look := l.line()
		look.Descending, look.MaxCreate = true, int64(h.Token)-1
		r, ok := l.caller.call(env, h.Attempt, l.config.Patience+l.config.TTL+time.Minute, look.Call())
		if !ok || patience != sim.Forever && env.Monotonic()-start >= patience {
			return false
		}
		if len(r.Keys) < l.config.permits() {
			return !waited || !l.own.recheck || l.stands(env, h, key)
		}
		w := rpc.Watch{Key: r.Keys[0].Key, From: r.Revision + 1}
		if l.config.Permits > 1 { // any of the holders may be the next to release
			w.Key, w.End = look.Key, look.End
		}
		l.watch(env, h, w, patience)
	}
}

// stands reports whether the client's own key still exists. The client's lease may have ended while it was waiting.
func (l *etcd) stands(env sim.Env, h *Hold, key string) bool {
	r, ok := l.caller.call(env, h.Attempt, l.config.TTL, rpc.Op{Kind: rpc.Range, Key: key}.Call())
	return ok && len(r.Keys) == 1 && l.session.alive(env)
}

// watch waits until the etcd watch reports that a key was deleted, until the member stops responding, or until the
// given patience has run out.
func (l *etcd) watch(env sim.Env, h *Hold, of rpc.Watch, patience time.Duration) {
	w := etcdCaller{config: l.config, conn: etcdWatches, at: l.caller.at}
	defer env.Close(w.member())
	if _, ok := w.call(env, h.Attempt, l.config.Timeout, of.Call()); !ok {
		return
	}
	for start := env.Monotonic(); patience == sim.Forever || env.Monotonic()-start < patience; {
		data, status := env.Receive(w.member(), min(patience, 2*time.Second))
		switch status {
		case sim.Reset:
			return
		case sim.NoReply: // nothing arrived on the watch: check whether the member still responds
			if _, err := w.ask(env, h.Attempt, l.config.Timeout, rpc.AskStatus()); err != nil {
				return
			}
		case sim.Answered:
			shown, err := rpc.ReadPush(data)
			if err != nil { // the watch has ended
				return
			}
			if slices.ContainsFunc(shown.Events, func(e rpc.WatchEvent) bool { return e.Deleted }) {
				env.Record(history.Event{Type: history.Info, F: history.Woken, Lock: l.config.Key, Attempt: h.Attempt})
				return
			}
		}
	}
}

// Extend does nothing, because the session keeps the lease alive.
func (l *etcd) Extend(sim.Env, *Hold) error { return nil }

// Release deletes the client's key.
func (l *etcd) Release(env sim.Env, h *Hold) Answer {
	l.library.drop(h)
	return l.giveUp(env, h)
}

// giveUp deletes the client's key. If the deletion was not confirmed, or if a late request may put the key again, it
// also closes the session. This attempt's late requests can then no longer affect the next attempt's key.
func (l *etcd) giveUp(env sim.Env, h *Hold) Answer {
	left := l.leave(env, h)
	if s := h.own.(*etcdSession); left != Confirmed || s.stray {
		l.Close(env)
	}
	return left
}

// leave deletes the client's key, and reports whether the deletion was confirmed. Without compareRevision, a request
// that is repeated late could delete a newer key (etcd issue 22082). With it, leave deletes the key only if this
// attempt put it. If the key is gone although its lease is alive, and an earlier copy of the request got no reply, that
// copy deleted the key, which also counts as confirmed.
func (l *etcd) leave(env sim.Env, h *Hold) Answer {
	remove := rpc.Op{Kind: rpc.Delete, Key: h.value}
	if !l.own.compareRevision {
		if _, ok := l.caller.call(env, h.Attempt, l.config.TTL, remove.Call()); !ok {
			return Unanswered
		}
		return Confirmed
	}
	txn := rpc.Txn{Conditions: created(h.value, int64(h.Token)), Then: []rpc.Op{remove}}
	r, ok := l.caller.call(env, h.Attempt, l.config.TTL, txn.Call())
	if !ok {
		return Unanswered
	}
	if r.Succeeded || l.caller.repeated && l.session != nil && l.session.alive(env) {
		return Confirmed
	}
	return Denied
}

// Close ends the session and revokes its lease.
func (l *etcd) Close(env sim.Env) {
	if s := l.session; s != nil {
		s.over.Raise()
		l.session = nil
		l.caller.call(env, s.attempt, l.config.Timeout, rpc.RevokeLease(s.lease))
	}
}
