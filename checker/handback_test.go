package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// afterRelease lists events that may happen after client-1 has called its release. Each event happens one second after
// the previous one, unless its late field gives another number of seconds.
var afterRelease = []history.Event{
	{Process: "client-1", Type: history.OK, F: history.Release, Attempt: "client-1/1"},
	{Process: "client-1", Type: history.Fail, F: history.Release, Attempt: "client-1/1"},
	{Process: "redis-1", F: history.KeyGone, Of: "client-1/1", Why: history.Expired},
	{Process: "redis-2", F: history.KeyGone, Of: "client-1/1", Why: history.Expired},
	{Process: "redis-1", F: history.KeyGone, Of: "client-1/1", By: "client-1/1", Why: history.Deleted},
	{Process: "redis-1", F: history.KeyGone, Of: "client-2/1", By: "client-2/1", Why: history.Deleted},
	{Process: "redis-1", F: history.KeyGone, Of: "client-1/1", Why: history.LostUnsynced},
	{Process: "redis-1", F: history.KeySet, Of: "client-1/1", By: "client-1/1", Value: "mine", Until: 15e9},
	{Process: "redis-1", F: history.KeySet, Of: "client-1/1", By: "client-1/1", Value: "free", Until: 15e9},
	{Process: "redis-1", F: history.KeySet, Of: "client-2/1", By: "client-2/1", Value: "its", Until: 25e9},
	{Process: "redis-1", F: history.KeyProlonged, Of: "client-1/1", By: "client-1/1", Until: 15e9},
	{Process: "redis-1", F: history.KeyProlonged, Of: "client-1/1", By: "client-1/1", Until: 9e9},
	{Process: "client-2", Type: history.OK, F: history.Acquire, Attempt: "client-2/1"},
	{Process: "client-1", Type: history.Info, F: history.Crashed},
	{Process: history.Nemesis, Type: history.Invoke, Value: "pause client-1 for 1s at 1s"},
	{Process: history.Nemesis, Type: history.Invoke, Value: "cut client-1 | redis-1 at 1s for 1s"},
	{Process: history.Nemesis, Type: history.Invoke, Value: "cut redis-1 | redis-2 at 1s for 1s"},
	{Process: history.Nemesis, Type: history.Invoke, Value: "pause client-2 for 1s at 1s"},
	{Process: history.Nemesis, Type: history.Invoke, Value: "jump redis-1 clock by +3s at 1s"},
}

// topologies lists headers for three kinds of servers: independent servers, servers with replicas, and members of one
// service.
var topologies = []history.Header{
	{Servers: gossipServers[:1], Quorum: 1},
	{Servers: gossipServers, Quorum: 2},
	{Servers: gossipServers, Quorum: 1},
	{Servers: gossipServers[:1], Quorum: 1, Groups: [][]history.Process{gossipServers}},
	{Servers: gossipServers[:1], Quorum: 1, Groups: [][]history.Process{gossipServers},
		Measures: []history.Measure{history.MinReplicas}},
	{Servers: gossipServers, Quorum: 2, Groups: [][]history.Process{gossipServers}},
}

// TestReleasesWithoutEffectAsWritten enumerates what can follow a release. The checker and the literal implementation
// of the law (package slow) must find the same releases that had no effect.
func TestReleasesWithoutEffectAsWritten(t *testing.T) {
	depth, seen := testkit.Size(2, 3, 4), map[string]int{}
	var c Checker
	for _, header := range topologies {
		header.TTL, header.Bound, header.End = 10e9, 10e9, 60e9
		header.Locks = []history.Lock{"orders"}
		h := &history.History{Header: header}
		add := func(e history.Event, after history.Time) {
			e.Index, e.Lock = len(h.Events), "orders"
			if e.Index > 0 {
				e.Time = h.Events[e.Index-1].Time + after
			}
			if e.Type == 0 {
				e.Type = history.OK
			}
			if e.Process == history.Nemesis {
				e.F, e.Fault = struck(e.Value, nil)
			}
			h.Events = append(h.Events, e)
		}
		for _, p := range []history.Process{"client-2", "client-1"} {
			add(history.Event{Process: p, Type: history.Invoke, F: history.Acquire}, 0)
		}
		for _, s := range header.Servers {
			add(history.Event{Process: s, F: history.KeySet, Of: "client-1/1", By: "client-1/1", Value: "mine",
				Until: 10e9}, 0)
		}
		add(history.Event{Process: "client-1", F: history.Acquire, Attempt: "client-1/1",
			Grant: &history.Grant{Until: 10e9}}, 1e6)
		add(history.Event{Process: "client-1", Type: history.Invoke, F: history.Release, Attempt: "client-1/1"}, 2e9)
		var walk func(left int)
		walk = func(left int) {
			got, want := c.CheckOnly(h, []Law{FaultTolerance}).Findings[0], slow.Of(h, string(FaultTolerance))
			if difference := differs(got, want); difference != "" {
				t.Fatalf("%s: the checker says\n%s\nthe law read literally %+v\n%s", difference, show(got), want,
					encoded(t, h))
			}
			seen[got.Came()]++
			if left == 0 {
				return
			}
			n := len(h.Events)
			for i, e := range afterRelease {
				late := []history.Time{1e6, 7e9, 9e9}[(i+n)%3]
				for _, after := range []history.Time{1e9, late} {
					add(e, after)
					walk(left - 1)
					h.Events = h.Events[:n]
				}
			}
		}
		walk(depth)
	}
	if seen["violated by release without effect"] < 1000 || seen["unchecked"] < 1000 {
		t.Errorf("%v", seen)
	}
}
