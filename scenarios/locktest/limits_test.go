package locktest

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// storyOf returns a history of two clients and one server of the given service. Leases last 9 s.
func storyOf(t *testing.T, service history.Service, events ...history.Event) *history.History {
	t.Helper()
	h := &history.History{Header: history.Header{Servers: []history.Process{"server-1"}, Quorum: 1, Service: service,
		Clients: []history.Process{"client-1", "client-2"}, Locks: []history.Lock{"lock"}, TTL: 9e9, Hold: 1e9,
		End: 60e9}}
	for i, e := range events {
		if e.Index = i; e.Type == 0 {
			e.Type = history.OK
		}
		if e.Process != history.Nemesis {
			e.Lock = "lock"
		} else if f, err := nemesis.Parse(e.Value); err != nil {
			t.Fatal(err)
		} else {
			e.F, e.Fault = history.F(f.Kind.String()), f.Struck()
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// acquired returns the events of a client that acquires the lock at a given time. until is the end of the validity
// period that the client reports.
func acquired(p history.Process, at, until history.Time) []history.Event {
	a := history.Attempt(p + "/1")
	return []history.Event{
		{Time: at, Process: p, Type: history.Invoke, F: history.Acquire},
		{Time: at, Process: "server-1", F: history.KeySet, Of: a, By: a, Until: at + 9e9},
		{Time: at, Process: p, F: history.Acquire, Attempt: a, Grant: &history.Grant{Since: at, Granted: at,
			Until: until, Counted: []history.Process{"server-1"}}},
	}
}

func gone(at history.Time) history.Event {
	return history.Event{Time: at, Process: "server-1", F: history.KeyGone, Of: "client-1/1", Why: history.Expired}
}

func does(at history.Time, p history.Process, typ history.Type, f history.F) history.Event {
	e := history.Event{Time: at, Process: p, Type: typ, F: f, Attempt: history.Attempt(p + "/1")}
	if f == history.Write {
		e.Value = string(p)
	}
	return e
}

func fault(at history.Time, line string) history.Event {
	return history.Event{Time: at, Process: history.Nemesis, Type: history.Invoke, Value: line}
}

func joined(parts ...[]history.Event) (all []history.Event) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// TestLimitsAreNoFaultsOfTheLock tests each reason why no lock with a lease could have upheld a law (see limit). For
// each reason, it also tests a similar history in which the lock or its user is to blame.
func TestLimitsAreNoFaultsOfTheLock(t *testing.T) {
	expire := fault(3e9, "expire session of client-1 at 3s")
	delay := fault(15e8, "delay client-1 -> resource by 12s at 1500ms for 1s")
	drifting := func(line string, early history.Time) []history.Event {
		return joined([]history.Event{fault(0, line)}, acquired("client-1", 1e9, 10e9-1),
			[]history.Event{gone(10e9 - early)}, acquired("client-2", 10e9-early+1e6, 19e9),
			[]history.Event{does(11e9, "client-1", history.Invoke, history.Release),
				does(12e9, "client-2", history.Invoke, history.Release)})
	}
	cutOff := func(told bool) []history.Event {
		holder := acquired("client-1", 1e9, 9e9)
		holder[2].Grant.Told = told
		return joined(holder, []history.Event{fault(2e9, "cut client-1 | server-1 at 2s for 20s"),
			does(3e9, "client-1", history.Invoke, history.Extend), does(4e9, "client-1", history.Fail, history.Extend),
			gone(10e9)}, acquired("client-2", 10e9+1e6, 19e9),
			[]history.Event{does(11e9, "client-1", history.Invoke, history.Release),
				does(12e9, "client-2", history.Invoke, history.Release)})
	}
	leaves := func(p history.Process, at history.Time) history.Event {
		return does(at, p, history.Invoke, history.Release)
	}
	twice := func(sent history.Time) []history.Event {
		return joined([]history.Event{fault(0, "delay client-1 -> resource by 7s at 0s for 30s")},
			acquired("client-1", 1e9, 9e9), []history.Event{does(sent, "client-1", history.Invoke, history.Read),
				gone(10e9)}, acquired("client-2", 10e9+1e6, 19e9),
			[]history.Event{does(sent+7e9, "client-1", history.OK, history.Read),
				does(sent+7e9, "client-1", history.Invoke, history.Write),
				does(sent+14e9, "client-1", history.OK, history.Write), leaves("client-1", sent+14e9),
				leaves("client-2", 30e9)})
	}
	lost := func(sent history.Time) []history.Event {
		read := does(2e9, "client-1", history.OK, history.Read)
		write := does(12e9, "resource", history.OK, history.Apply)
		read.Value, write.Of, write.Value, write.Op = "0", "client-1/1", "client-1", history.Write
		other := write
		other.Time, other.Of, other.Value = 6e9, "client-2/1", "client-2"
		left := []history.Event{does(4e9, "client-1", history.Invoke, history.Release),
			does(sent, "client-1", history.Invoke, history.Write)}
		if sent < 4e9 {
			left[0], left[1] = left[1], left[0]
		}
		next := acquired("client-2", 5e9, 14e9) // it asks before client-1 gets the lock
		next[0].Time, next[2].Grant.Since = 9e8, 9e8
		return joined(next[:1], acquired("client-1", 1e9, 9e9), []history.Event{read}, left, []history.Event{
			{Time: 41e8, Process: "server-1", F: history.KeyGone, Of: "client-1/1", By: "client-1/1",
				Why: history.Deleted}}, next[1:], []history.Event{other,
			does(7e9, "client-2", history.Invoke, history.Release), write})
	}
	for _, test := range []struct {
		name    string
		service history.Service
		law     checker.Law
		events  []history.Event
		want    limit
	}{
		{"the next one comes before the holder can know of the end of its session", history.ZooKeeper,
			checker.MutualExclusion, joined(acquired("client-1", 1e9, 10e9), []history.Event{expire, gone(301e7)},
				acquired("client-2", 302e7, 12e9), []history.Event{leaves("client-1", 5e9), leaves("client-2", 6e9)}),
			sessions},
		{"the holder could have known of the end of its session for long", history.ZooKeeper,
			checker.MutualExclusion, joined(acquired("client-1", 1e9, 10e9), []history.Event{expire, gone(301e7)},
				acquired("client-2", 8e9, 17e9),
				[]history.Event{leaves("client-1", 9e9), leaves("client-2", 10e9)}), ""},
		{"the holder is told of the end of its session, and works on", history.ZooKeeper, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 3015e6), []history.Event{expire, gone(301e7)},
				acquired("client-2", 302e7, 12e9), []history.Event{leaves("client-1", 5e9), leaves("client-2", 6e9)}),
			unheeded},
		{"the holder works on when its lease has run out", history.ZooKeeper, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 9e9), []history.Event{gone(10e9)}, acquired("client-2", 11e9, 19e9),
				[]history.Event{leaves("client-1", 12e9), leaves("client-2", 13e9)}), ""},
		{"the session of another is ended", history.ZooKeeper, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 9e9), []history.Event{fault(3e9, "expire session of client-2 at 3s"),
				gone(10e9)}, acquired("client-2", 11e9, 19e9),
				[]history.Event{leaves("client-1", 12e9), leaves("client-2", 13e9)}), ""},
		{"a cut keeps renewals from the server, and the holder is told", history.Redis, checker.MutualExclusion,
			cutOff(true), renewals},
		{"a cut keeps renewals from the server, and the holder is not told", history.Redis, checker.MutualExclusion,
			cutOff(false), ""},
		{"a write that was sent in time overwrites an update", history.Redis, checker.ResourceSafety, lost(3e9),
			messages},
		{"a write that was sent after the release overwrites an update", history.Redis, checker.ResourceSafety,
			lost(45e8), ""},
		{"a server's clock drifts by less than 1%", history.Redis, checker.MutualExclusion,
			drifting("drift server-1 clock by +9000ppm from 0s", 80e6), ""},
		{"a server's clock drifts by more than 1%", history.Redis, checker.MutualExclusion,
			drifting("drift server-1 clock by +11000ppm from 0s", 98e6), drifts},
		{"a server's clock drifts by less than 1%, and is set ahead", history.Redis, checker.MutualExclusion,
			joined([]history.Event{fault(0, "drift server-1 clock by +2000ppm from 0s")},
				acquired("client-1", 1e9, 9e9),
				[]history.Event{fault(2e9, "jump server-1 clock by +4992ms at 2s"), gone(5e9)},
				acquired("client-2", 501e7, 14e9),
				[]history.Event{leaves("client-1", 6e9), leaves("client-2", 7e9)}), clocks},
		{"a server's clock is set ahead", history.Redis, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 9e9), []history.Event{fault(2e9, "jump server-1 clock by +5s at 2s"),
				gone(5e9)}, acquired("client-2", 501e7, 14e9),
				[]history.Event{leaves("client-1", 6e9), leaves("client-2", 7e9)}), clocks},
		{"the holder waits for the resource, which it asked in time", history.Redis, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 9e9), []history.Event{delay,
				does(2e9, "client-1", history.Invoke, history.Write), gone(10e9)}, acquired("client-2", 11e9, 19e9),
				[]history.Event{does(14e9, "client-1", history.OK, history.Write), leaves("client-1", 141e8),
					leaves("client-2", 15e9)}), messages},
		{"a link delays each request to the resource, the second one after the lease's end", history.Redis,
			checker.MutualExclusion, twice(35e8), messages},
		{"a link delays only requests that the holder sends after its lease's end", history.Redis,
			checker.MutualExclusion, twice(94e8), ""},
		{"the holder asks the resource when its lease is over", history.Redis, checker.MutualExclusion,
			joined(acquired("client-1", 1e9, 9e9), []history.Event{
				does(95e8, "client-1", history.Invoke, history.Write), gone(10e9)}, acquired("client-2", 11e9, 19e9),
				[]history.Event{does(14e9, "client-1", history.OK, history.Write), leaves("client-1", 141e8),
					leaves("client-2", 15e9)}), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := storyOf(t, test.service, test.events...)
			v := checker.Check(h)
			f := v.Of(test.law)
			overwrites := strings.Contains(test.name, "overwrites an update")
			if got := limitOf(h, v, f); f.Outcome != checker.Violated || got != test.want ||
				overwrites != (f.Cause.Kind == checker.LostUpdate) {
				t.Errorf("%q, want %q: %s\n%s", got, test.want, f.Came(), f.Explanation)
			}
			for _, limited := range []bool{false, true} { // a shrink keeps runs of the same kind only
				kind := finding{f.Law, f.Cause, limited}
				if in := kind.shownBy(h); in != (limited == (test.want != "")) {
					t.Errorf("%+v: a shrink accepts the history: %v", kind, in)
				}
			}
		})
	}
}

// No lease can prevent a violation that follows a pause, or one caused by a write that the client sent while it was
// still holding the lock. For a sound lock, the report says this about every violation. For a lock that all clients can
// hold at once, under the same plan, the report blames the first violation on the lock itself.
func TestWhatNoLockSurvivesIsSaidFirst(t *testing.T) {
	for limit, plan := range map[limit]string{pauses: "pause client-1 for 12s after acquired",
		messages: "delay message 2 of client-1 -> resource by 15s"} {
		for name, lock := range map[string]func(*Client) (Lock, error){"a sound lock": newPlain,
			"a lock that everybody has": making(func(*Client) Lock { return open{} })} {
			sound := name == "a sound lock"
			t.Run(plan+", "+name, func(t *testing.T) {
				testkit.OneIn(t, 2)
				p := examine(t, Config{New: lock, Seeds: testkit.Size(2, 2, 6), Hold: 3 * time.Second, SkipTrial: true,
					Plan: []string{plan}, Laws: []checker.Law{checker.MutualExclusion, checker.ResourceSafety}})
				if p == nil {
					return
				}
				failures := p.failures()
				if len(failures) == 0 {
					t.Fatal("nothing broke")
				}
				for i, f := range failures {
					says := strings.HasPrefix(f.text(), waysOn[limit]) && f.rank == ofLeases
					if (sound || i == 0) && says != sound {
						t.Errorf("%s, of rank %v: %s\n%s", f.what, f.rank, f.text(), p.summary())
					}
				}
			})
		}
	}
}
