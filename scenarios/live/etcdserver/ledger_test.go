//go:build linux

package etcdserver

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// onlooker is the host of a member in a test of records.
type onlooker struct {
	sim.Host
	name sim.ProcessID
	book *book
}

func (o onlooker) Due(d time.Duration) sim.Time { return o.book.now + history.Of(d) }

func (o onlooker) Record(e history.Event) {
	o.book.said = append(o.book.said,
		fmt.Sprint(o.name, " ", e.F, " ", e.Member, " of ", e.Of, " by ", e.By, " ", e.Why))
}

// book is a ledger of two members, without a world.
type book struct {
	*ledger
	a, b   *member
	now    sim.Time
	said   []string
	timers []func() // of what is held back
}

func newBook() *book {
	k := &book{}
	f := &Fleet{}
	f.ledger = newLedger(func(_ time.Duration, then func()) { k.timers = append(k.timers, then) })
	for _, name := range members(2) {
		f.members = append(f.members, &member{name: name, fleet: f, host: onlooker{name: name, book: k}, seen: 1})
	}
	f.ledger.recorded = 1
	k.ledger, k.a, k.b = &f.ledger, f.members[0], f.members[1]
	return k
}

// asked is a request under way at a member.
func (k *book) asked(m *member, of history.Attempt, args ...string) *request {
	q := &request{member: m, life: &life{m: m}, attempt: of, args: args, at: k.now}
	if err := q.read(); err != nil {
		panic(err)
	}
	k.begins(q)
	return q
}

// grant has a lease of 2 s granted.
func (k *book) grant(id int64, of history.Attempt) {
	q := k.asked(k.a, of, "LEASE", "GRANT", "2", fmt.Sprint(id))
	k.ends(q, &answer{header: header{Revision: k.recorded}, lease: id, ttl: 2}, nil)
}

func put(revision int64, key, value string, lease int64) change {
	return change{KeyValue: etcd.KeyValue{Key: key, Value: value, Mod: revision, Lease: lease}}
}

func gone(revision int64, key string) change {
	return change{KeyValue: etcd.KeyValue{Key: key, Mod: revision}, deleted: true}
}

// expect holds what was recorded since the last time to what should be.
func (k *book) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(k.said, want) {
		t.Errorf("%s: recorded %q, want %q", what, k.said, want)
	}
	k.said = nil
}

// TestWhoseDoingARevisionIs, as far as the answers and the requests under way tell.
func TestWhoseDoingARevisionIs(t *testing.T) {
	missing := &refused{"etcdserver: requested lease not found", 5}
	for name, test := range map[string]struct {
		late bool // the lease may have ended
		then func(k *book, revoke *request)
		want []string
	}{
		"revoked in time":         {false, func(*book, *request) {}, []string{"etcd-1 key-gone l/1 of A by A deleted"}},
		"the answer has not come": {true, func(*book, *request) {}, nil},
		"the answer claims it": {true, func(k *book, revoke *request) {
			k.ends(revoke, &answer{header: header{Revision: 3}, changed: true}, nil)
		}, []string{"etcd-1 key-gone l/1 of A by A deleted"}},
		"the answer says that there was none": {true, func(k *book, revoke *request) { k.ends(revoke, nil, missing) },
			[]string{"etcd-1 key-gone l/1 of A by  expired"}},
		"no answer comes": {true, func(k *book, revoke *request) { k.timers[len(k.timers)-1]() },
			[]string{"etcd-1 key-gone l/1 of A by  expired"}},
		"nobody will know": {true, func(k *book, revoke *request) { k.ends(revoke, nil, errors.New("reset")) },
			[]string{"etcd-1 key-gone l/1 of A by  expired"}},
		"the member has died": {true, func(k *book, revoke *request) { k.abandon(revoke.life) },
			[]string{"etcd-1 key-gone l/1 of A by  expired"}},
	} {
		k := newBook()
		k.grant(1, "A")
		k.asked(k.a, "A", "PUT", "l/1", "A", "LEASE", "1")
		k.seen(k.a, 2, []change{put(2, "l/1", "A", 1)})
		k.expect(t, name, "etcd-1 key-set l/1 of A by A ")
		if test.late {
			k.now = history.Of(3 * time.Second)
		}
		revoke := k.asked(k.b, "A", "LEASE", "REVOKE", "1")
		k.seen(k.a, 3, []change{gone(3, "l/1")})
		test.then(k, revoke)
		k.expect(t, name, test.want...)
	}
}

// TestTwoWhoCouldHaveDoneIt: the one whose answer has the revision has, and not who was first to ask.
func TestTwoWhoCouldHaveDoneIt(t *testing.T) {
	k := newBook()
	took := k.asked(k.a, "A", "PUT", "l", "A")
	k.seen(k.a, 2, []change{put(2, "l", "A", 0)})
	k.ends(took, &answer{header: header{Revision: 2}, changed: true}, nil)
	k.expect(t, "put", "etcd-1 key-set l of A by A ")
	first, second := k.asked(k.a, "B", "DELETE", "l"), k.asked(k.b, "C", "TXN", "THEN", "3", "DELETE", "m", "PREFIX",
		"ELSE", "2", "DELETE", "l")
	k.seen(k.b, 2, []change{put(2, "l", "A", 0)})
	k.expect(t, "copy", "etcd-2 key-copied l of A by  ")
	k.seen(k.b, 3, []change{gone(3, "l")})
	k.seen(k.a, 3, []change{gone(3, "l")})
	k.expect(t, "not decided")
	k.ends(first, &answer{header: header{Revision: 3}}, nil) // it has found nothing to delete
	k.expect(t, "decided", "etcd-2 key-gone l of A by C deleted", "etcd-1 copy-gone l of A by  ")
	k.ends(second, &answer{header: header{Revision: 3}, changed: true}, nil)
	if len(k.open)+len(k.queue)+len(k.doubtful) > 0 {
		t.Errorf("%d are open, %d queue, %d are doubtful", len(k.open), len(k.queue), len(k.doubtful))
	}
}

// TestAnswersWaitForTheRecord of all that they may rest on, in their order.
func TestAnswersWaitForTheRecord(t *testing.T) {
	k := newBook()
	x := &life{m: k.a}
	var said []string
	say := func(what string, revision int64) { k.after(x, revision, func() { said = append(said, what) }) }
	say("now", 1)
	say("third", 3)
	say("second", 2)
	k.seen(k.b, 2, []change{put(2, "a", "", 0)})
	if !slices.Equal(said, []string{"now"}) {
		t.Errorf("before its own member has told: %q", said)
	}
	k.seen(k.a, 2, []change{put(2, "a", "", 0)})
	k.seen(k.a, 3, []change{put(3, "b", "", 0)})
	if !slices.Equal(said, []string{"now", "second", "third"}) {
		t.Errorf("%q", said)
	}
	say("never", 4)
	k.abandon(x)
	k.seen(k.a, 4, []change{put(4, "c", "", 0)})
	if len(said) != 3 || len(k.waiting) > 0 {
		t.Errorf("after the end of its life: %q", said)
	}
}
