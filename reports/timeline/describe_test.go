package timeline

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

func TestProcesses(t *testing.T) {
	for want, names := range map[string][]history.Process{
		"":                                   nil,
		"redis-1":                            {"redis-1"},
		"redis-1, redis-2":                   {"redis-2", "redis-1"},
		"redis-1…3, redis-5":                 {"redis-5", "redis-3", "redis-1", "redis-2"},
		"etcd-9…11":                          {"etcd-10", "etcd-9", "etcd-11"},
		"client-1, client-2, redis, redis-3": {"redis", "client-2", "redis-3", "client-1"},
	} {
		if got := processes(names); got != want {
			t.Errorf("%v is described as %q, not %q", names, got, want)
		}
	}
}

func TestAValueIsCutToAGlance(t *testing.T) {
	for value, want := range map[string]string{
		"": `""`, "a b": `"a b"`, "a\x1b[2J": `"a\x1b[2J"`, "123456789012345678901234": `"123456789012345678901234"`,
		"1234567890123456789012345": `"12345678901234567890123…"`,
	} {
		if got := quoted(value); got != want {
			t.Errorf("%q is described as %s, not %s", value, got, want)
		}
	}
}

// A lock is named only if there are several. Nonessential details appear only in the long form.
func TestAnEventSaysWhatIsNeeded(t *testing.T) {
	got := &history.Event{Process: "client-1", F: history.Acquire, Type: history.OK, Lock: "orders", Token: 7,
		Grant: &history.Grant{Granted: 1e9, Until: 2e9, Counted: []history.Process{"redis-1", "redis-2", "redis-3"}}}
	judged := &history.Event{Process: history.Resource, F: history.Apply, Type: history.Fail, Op: history.Write,
		Of: "x/1", Value: "v", Token: 7, Why: history.StaleToken}
	fault := func(ty history.Type, line string) *history.Event {
		return &history.Event{Process: history.Nemesis, F: "start-partition", Type: ty, Value: line}
	}
	refused := func(f history.F, said string, why history.Why) *history.Event {
		return &history.Event{Process: "client-1", F: f, Type: history.Fail, Value: said, Why: why}
	}
	key := func(f history.F, of, by history.Attempt, why history.Why) *history.Event {
		return &history.Event{Process: "redis-1", F: f, Type: history.OK, Of: of, By: by, Why: why,
			Until: history.Never}
	}
	holder := func(trace.Title) history.Process { return "client-2" }
	for _, c := range []struct {
		by    describer
		event *history.Event
		want  string
	}{
		{describer{}, got, "client-1 acquires: lease until 2.000 s, token 7"},
		{describer{Several: true}, got, "client-1 acquires orders: lease until 2.000 s, token 7"},
		{describer{Long: true}, got, "client-1 acquires: lease until 2.000 s, counted redis-1…3, token 7"},
		{describer{}, fault(history.Invoke, "cut a | b"), "fault: cut a | b"},
		{describer{}, fault(history.OK, "cut a | b"), "over: cut a | b"},
		{describer{}, fault(history.Info, ""), "nemesis: start-partition"},
		{describer{Holder: holder}, judged, `resource refuses client-2's write of "v" (stale token)`},
		{describer{Holder: holder, Long: true}, judged, `resource refuses client-2's write of "v", token 7 (stale token)`},
		{describer{}, refused(history.Acquire, "", history.AcquireTimeout), "client-1 does not get the lock (timeout)"},
		{describer{}, refused(history.Acquire, "no pool", history.AcquireTimeout),
			`client-1 does not get the lock ("no pool")`},
		{describer{}, refused(history.Extend, "gone", history.NotOwner), `client-1 cannot extend its lease ("gone")`},
		{describer{}, refused(history.Release, "gone", history.NotOwner),
			`client-1's release of the lock took no effect ("gone")`},
		{describer{}, refused(history.Write, "v", history.StaleToken),
			"client-1 learns that its write took no effect (stale token)"},
		{describer{}, key(history.KeySet, "x/1", "x/1", ""), "redis-1: the key is set for x/1, without expiry"},
		{describer{}, key(history.KeySet, "", "x/1", ""), "redis-1: the key stays without an owner, without expiry"},
		{describer{}, key(history.KeyProlonged, "", "y/1", ""),
			"redis-1: the key of nobody is prolonged by y/1, without expiry"},
		{describer{}, key(history.KeyGone, "", "y/1", history.Deleted), "redis-1: the key of nobody is deleted by y/1"},
		{describer{}, &history.Event{Process: "redis-1", F: history.KeyGone, Of: "x/1", By: "y/1", Why: history.Deleted,
			Checked: history.CheckedPresence}, "redis-1: the key of x/1 is taken by y/1"},
		{describer{Locks: []history.Lock{"orders"}}, &history.Event{Process: "redis-1", F: history.KeySet,
			Type: history.OK, Lock: "orders:signal", Of: "x/1", By: "x/1", Until: history.Never},
			`redis-1: the key "orders:signal" is set for x/1, without expiry`},
	} {
		if got := c.by.event(c.event); got != c.want {
			t.Errorf("%+v is described as %q, not %q", c.by, got, c.want)
		}
	}
}

// TestAnExpiryThatFollowsAtOnce checks the description of a key that is set without an expiry and gets one later. If a
// script sets the expiry at the same instant, the key must be described as having an expiry. Otherwise, it must be
// described as not having one.
func TestAnExpiryThatFollowsAtOnce(t *testing.T) {
	for later, want := range map[history.Time]string{
		0: "redis-1: the key is set for x/1",
		1: "redis-1: the key is set for x/1, without expiry",
	} {
		events := []history.Event{
			{Process: "redis-1", F: history.KeySet, Time: 5, Of: "x/1", Until: history.Never},
			{Process: "redis-2", F: history.KeyProlonged, Time: 5, Of: "x/1", Until: 7},
			{Process: "redis-1", F: history.KeyProlonged, Time: 5 + later, Of: "x/1", Until: 9},
		}
		by := describer{Bounded: bounded(events)}
		if got := by.event(&events[0]); got != want {
			t.Errorf("%d ns later: %q, not %q", later, got, want)
		}
	}
}
