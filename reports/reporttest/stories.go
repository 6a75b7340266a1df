package reporttest

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// Story is a history, along with its scenario's name and its findings.
type Story struct {
	Scenario, Summary string
	Plan              []string
	History           *history.History
	Findings          []checker.Finding
}

// Stories lists all stories by name. Make builds a new copy of a story.
var Stories = []struct {
	Name string
	Make func() Story
}{
	{"kleppmann", Kleppmann}, {"fenced", Fenced}, {"restart", Restart}, {"calm", Calm}, {"deadlock", Deadlock},
	{"long", Long},
}

// story returns a Story for the history. All laws hold, except those in broken, which have the given findings.
func (t *Builder) story(scenario, summary string, plan []string, broken ...checker.Finding) Story {
	s := Story{Scenario: scenario, Summary: summary, Plan: plan, History: &t.H}
	for _, law := range checker.Laws {
		f := checker.Finding{Law: law, Outcome: checker.Holds}
		for _, b := range broken {
			if b.Law == law {
				f = b
			}
		}
		if law == checker.MutualExclusion {
			f.Judges = agreed(f.Outcome)
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

// agreed returns the answers of the two judges of mutual exclusion if both find the given outcome.
func agreed(o checker.Outcome) checker.Judges {
	if o == checker.Violated {
		return checker.Judges{Porcupine: checker.Refuted, Interval: checker.Refuted}
	}
	return checker.Judges{Porcupine: checker.Allowed, Interval: checker.Allowed}
}

const kleppmannPause = "pause client-1 for 15s after acquired"

// Kleppmann is the story of a pause that outlives the lease.
func Kleppmann() Story {
	t := NewHistory(2, 5)
	t.Acquire(0.001, 0.012, 9.889, "client-1/1", 0, 1, 2, 3, 4, 5)
	t.Fault(history.Invoke, kleppmannPause, "client-1")
	t.At(0.013).Client("client-2", history.Acquire, history.Invoke, "")
	t.Gone(history.Expired, "client-1/1", "", 10.003, 1, 2, 3, 4, 5)
	t.enter(10.122, 10.131, 20.011, "client-2/9", 0, 1, 2, 3, 4, 5)
	t.use(10.132, history.Read, "client-2/9", "", 0, "")
	t.use(10.134, history.Write, "client-2/9", "client-2's", 0, "")
	t.Release(10.234, 10.240, "client-2/9", 1, 2, 3, 4, 5)
	t.At(15.012).Fault(history.OK, kleppmannPause, "client-1")
	t.use(15.0125, history.Read, "client-1/1", "client-2's", 0, "")
	t.use(15.014, history.Write, "client-1/1", "client-1's", 0, "")
	t.Release(15.115, 15.121, "client-1/1")
	stale := []int{t.applied(history.Read, "client-2/9"), t.applied(history.Write, "client-1/1")}
	return Story{
		Scenario: "kleppmann-gc-pause",
		Summary:  "A client pauses past its lease and writes after another client has taken over.",
		Plan:     []string{kleppmannPause},
		History:  &t.H,
		Findings: []checker.Finding{
			{Law: checker.LeaseExclusion, Outcome: checker.Holds, Explanation: "2 leases, none overlapped."},
			{Law: checker.MutualExclusion, Outcome: checker.Violated, Judges: agreed(checker.Violated),
				Cause:  checker.Cause{Kind: checker.HolderOutlivedLease, Detail: "pause"},
				Remedy: "a fencing token: the resource refuses a write whose token is lower than one it has seen",
				Witness: []int{t.entered("client-1/1"),
					t.find(func(e *history.Event) bool { return e.Process == history.Nemesis }),
					t.entered("client-2/9")},
				Explanation: "client-1 acquired the lock at 0.012 s and was told that it holds until 9.889 s. " +
					"A pause struck it at 0.012 s and lasted until 15.012 s. Its keys expired on time, " +
					"client-2 acquired at 10.131 s, and client-1, which could not know, went on in its section."},
			{Law: checker.ResourceSafety, Outcome: checker.Violated,
				Cause:  checker.Cause{Kind: checker.StaleEffect},
				Remedy: "a fencing token", Witness: stale,
				Explanation: "The resource accepted a read of client-2 at 10.132 s and after it, at 15.014 s, " +
					"a write of client-1, although the grant of client-2 had superseded that of client-1."},
			{Law: checker.Ownership, Outcome: checker.Holds, Explanation: "5 keys were deleted, each by its owner."},
			{Law: checker.TokenOrder, Explanation: "no tokens"},
			{Law: checker.DeadlockFreedom, Outcome: checker.Holds, Explanation: "nobody was stuck"},
			{Law: checker.FaultTolerance, Outcome: checker.Holds, Explanation: "2 acquisitions within the bound"},
		},
	}
}

// Fenced is the same story as Kleppmann, but with a resource that compares fencing tokens.
func Fenced() Story {
	const pause = "pause client-1 for 15s after after-read"
	t := NewHistory(2, 1)
	t.Acquire(0.001, 0.003, 10.003, "client-1/1", 33, 1)
	t.use(0.004, history.Read, "client-1/1", "", 33, "")
	t.At(0.005).Fault(history.Invoke, pause, "client-1")
	t.At(0.011).Client("client-2", history.Acquire, history.Invoke, "")
	t.Gone(history.Expired, "client-1/1", "", 10.002, 1)
	t.enter(10.1, 10.102, 20.102, "client-2/40", 34, 1)
	t.use(10.103, history.Read, "client-2/40", "", 34, "")
	t.use(10.105, history.Write, "client-2/40", "b", 34, "")
	t.Release(10.2, 10.201, "client-2/40", 1)
	t.At(15.005).Fault(history.OK, pause, "client-1")
	t.use(15.006, history.Write, "client-1/1", "a", 33, history.StaleToken)
	t.Release(15.106, 15.107, "client-1/1")
	return t.story("fenced-gc-pause", "The same pause, but the resource compares fencing tokens.", []string{pause},
		checker.Finding{Law: checker.MutualExclusion, Outcome: checker.Violated,
			Cause:       checker.Cause{Kind: checker.HolderOutlivedLease, Detail: "pause"},
			Witness:     []int{t.entered("client-1/1"), t.entered("client-2/40")},
			Explanation: "client-1 was paused past its lease and client-2 entered.",
			Remedy:      "none is needed: the resource refuses."})
}

// Restart is the story of a server that loses a lock in a crash.
func Restart() Story {
	const crash = "crash redis-3 losing everything at 1s, restart after 20ms"
	t := NewHistory(2, 5)
	t.Acquire(0.001, 0.008, 9.885, "client-1/1", 0, 1, 2, 3)
	t.At(1).Add(history.Event{Process: "redis-3", F: history.KeyGone, Type: history.OK, Of: "client-1/1",
		Why: history.LostUnpersisted})
	t.Fault(history.Invoke, crash, "redis-3")
	t.At(1.02).Fault(history.OK, crash, "redis-3")
	t.Acquire(1.5, 1.509, 11.385, "client-2/1", 0, 3, 4, 5)
	t.Release(3.008, 3.012, "client-1/1", 1, 2)
	t.Release(3.509, 3.512, "client-2/1", 3, 4, 5)
	lost := t.find(func(e *history.Event) bool { return e.Why == history.LostUnpersisted })
	broken := checker.Finding{Outcome: checker.Violated,
		Cause:       checker.Cause{Kind: checker.LostInCrash, Detail: "no persistence"},
		Witness:     []int{t.entered("client-1/1"), lost, t.entered("client-2/1")},
		Explanation: "redis-3 forgot client-1's key when it crashed at 1.000 s, and granted the lock again at 1.504 s.",
		Remedy:      "keep a restarted node away for longer than the longest TTL, or persist with fsync always"}
	lease, mutual := broken, broken
	lease.Law, mutual.Law = checker.LeaseExclusion, checker.MutualExclusion
	return t.story("restart-forgets",
		"A node restarts empty while only a bare quorum of nodes has the lock's key.", []string{crash},
		lease, mutual)
}

// Calm is the story of a run of many cycles without a violation.
func Calm() Story {
	t := NewHistory(3, 5)
	at := 0.0
	for n := range 15 {
		attempt := fmt.Sprintf("client-%d/%d", n%3+1, n+1)
		t.Acquire(at, at+0.006, at+10, attempt, 0, 1, 2, 3, 4, 5)
		t.use(at+0.01, history.Read, attempt, fmt.Sprint(n), 0, "")
		t.use(at+0.012, history.Write, attempt, fmt.Sprint(n+1), 0, "")
		t.Release(at+0.1, at+0.105, attempt, 1, 2, 3, 4, 5)
		at += 0.15
	}
	return t.story("sequential-vs-parallel", "Three clients take turns.", nil)
}

// Deadlock is the story of two clients that acquire two locks in opposite orders and keep renewing them.
func Deadlock() Story {
	t := NewHistory(2, 1)
	t.H.Header.Locks = []history.Lock{"accounts", "orders"}
	one := func(at float64, p history.Process, f history.F, ty history.Type, lock history.Lock, g *history.Grant,
		of history.Attempt) {
		e := history.Event{Process: p, F: f, Type: ty, Lock: lock, Grant: g}
		if f == history.KeySet {
			e.Of, e.By, e.Until = of, of, Seconds(10)
		} else {
			e.Attempt = of
		}
		t.At(at).Add(e)
	}
	grant := func(since, granted float64) *history.Grant {
		return &history.Grant{Since: Seconds(since), Granted: Seconds(granted), Until: Seconds(70),
			Counted: []history.Process{"redis-1"}}
	}
	one(0.001, "client-1", history.Acquire, history.Invoke, "accounts", nil, "client-1/1")
	one(0.002, "client-2", history.Acquire, history.Invoke, "orders", nil, "client-2/1")
	one(0.003, "redis-1", history.KeySet, history.OK, "accounts", nil, "client-1/1")
	one(0.004, "redis-1", history.KeySet, history.OK, "orders", nil, "client-2/1")
	one(0.005, "client-1", history.Acquire, history.OK, "accounts", grant(0.001, 0.005), "client-1/1")
	one(0.006, "client-2", history.Acquire, history.OK, "orders", grant(0.002, 0.006), "client-2/1")
	one(0.101, "client-1", history.Acquire, history.Invoke, "orders", nil, "")
	one(0.102, "client-2", history.Acquire, history.Invoke, "accounts", nil, "")
	t.H.Header.End = Seconds(60)
	return t.story("two-locks-opposite-order", "Two clients take two renewed locks in opposite order.", nil,
		checker.Finding{Law: checker.DeadlockFreedom, Outcome: checker.Violated,
			Cause:   checker.Cause{Kind: checker.StuckInCycle},
			Witness: []int{4, 5, 6, 7}, Explanation: "client-1 holds accounts and waits for orders; " +
				"client-2 holds orders and waits for accounts.",
			Remedy: "take the locks in one order"})
}

// Long is the story of a run of hundreds of cycles with one violation in the middle.
func Long() Story {
	t := NewHistory(12, 5)
	at := 0.0
	for n := range 200 {
		attempt := fmt.Sprintf("client-%d/%d", n%12+1, n+1)
		t.Acquire(at, at+0.006, at+0.1, attempt, 0, 1, 2, 3, 4, 5)
		if n == 100 {
			t.Gone(history.Deleted, attempt, "client-4/3", at+0.01, 1, 2, 3)
			t.Acquire(at+0.02, at+0.027, at+0.12, "client-9/1000", 0, 1, 2, 3)
			t.Release(at+0.04, at+0.044, "client-9/1000", 1, 2, 3)
		}
		t.Release(at+0.05, at+0.055, attempt, 1, 2, 3, 4, 5)
		at += 0.06
	}
	gone := t.find(func(e *history.Event) bool { return e.F == history.KeyGone && e.By == "client-4/3" })
	broken := checker.Finding{Law: checker.LeaseExclusion, Outcome: checker.Violated,
		Cause:       checker.Cause{Kind: checker.RemovedByNonOwner},
		Witness:     []int{t.entered("client-5/101"), gone, gone + 1, gone + 2, t.entered("client-9/1000")},
		Explanation: "client-4's late release removed the key of client-5.",
		Remedy:      "compare the owner before deleting"}
	return t.story("token-per-client", "", []string{"delay client-4 -> redis-1 by 2s after before-release"}, broken)
}
