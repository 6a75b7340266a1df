package reports

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// runs are the situations whose reports are kept as golden files.
var runs = []struct {
	name string
	run  func() *Run
}{
	{"kleppmann", kleppmann}, {"fenced", fenced}, {"restart", restart}, {"calm", calm}, {"deadlock", deadlock}, {"long", long},
}

// run makes a report of a tale in which all laws hold but those of the findings.
func (t *tale) run(scenario, summary string, plan []string, broken ...checker.Finding) *Run {
	r := &Run{Scenario: scenario, Summary: summary, Seed: 7, Digest: "00c0ffee00c0ffee", Plan: plan, OK: true,
		History: &t.h, Events: 3 * len(t.h.Events), Simulated: t.h.Header.End.Duration(), Metrics: checker.Measure(&t.h),
		Repeat: "fencepost run " + scenario + " --seed 7"}
	for _, law := range checker.Laws {
		f := checker.Finding{Law: law, Outcome: checker.Holds}
		for _, b := range broken {
			if b.Law == law {
				f = b
			}
		}
		r.Verdict.Findings = append(r.Verdict.Findings, f)
		if f.Outcome == checker.Violated {
			r.Expected = append(r.Expected, ExpectLine{string(law), "holds", "violated by " + f.Cause.String(), false})
			r.OK = false
		}
	}
	return r
}

// fenced is the pause again, but the resource compares tokens.
func fenced() *Run {
	const pause = "pause client-1 for 15s after after-read"
	t := newTale(2, 1)
	t.acquire(0.001, 0.003, 10.003, "client-1/1", 33, 1)
	t.use(0.004, history.Read, "client-1/1", "", 33, "")
	t.at(0.005).fault(history.Invoke, pause, "client-1")
	t.at(0.011).client("client-2", history.Acquire, history.Invoke, "")
	t.gone(history.Expired, "client-1/1", "", 10.002, 1)
	t.enter(10.1, 10.102, 20.102, "client-2/40", 34, 1)
	t.use(10.103, history.Read, "client-2/40", "", 34, "")
	t.use(10.105, history.Write, "client-2/40", "b", 34, "")
	t.release(10.2, 10.201, "client-2/40", 1)
	t.at(15.005).fault(history.OK, pause, "client-1")
	t.use(15.006, history.Write, "client-1/1", "a", 33, history.StaleToken)
	t.release(15.106, 15.107, "client-1/1")
	r := t.run("fenced-gc-pause", "The same pause, but the resource compares fencing tokens.", []string{pause},
		checker.Finding{Law: checker.MutualExclusion, Outcome: checker.Violated,
			Cause:       checker.Cause{Kind: checker.HolderOutlivedLease, Detail: "pause"},
			Witness:     []int{t.entered("client-1/1"), t.entered("client-2/40")},
			Explanation: "client-1 was paused past its lease and client-2 entered.", Remedy: "none is needed: the resource refuses."})
	r.OK, r.Expected[0].OK, r.Expected[0].Expected = true, true, "violated"
	return r
}

// restart is a server that forgets a lock.
func restart() *Run {
	const crash = "crash redis-3 losing everything at 1s, restart after 20ms"
	t := newTale(2, 5)
	t.acquire(0.001, 0.008, 9.885, "client-1/1", 0, 1, 2, 3)
	t.at(1).add(history.Event{Process: "redis-3", F: history.KeyGone, Type: history.OK, Of: "client-1/1", Why: history.LostUnpersisted})
	t.fault(history.Invoke, crash, "redis-3")
	t.at(1.02).fault(history.OK, crash, "redis-3")
	t.acquire(1.5, 1.509, 11.385, "client-2/1", 0, 3, 4, 5)
	t.release(3.008, 3.012, "client-1/1", 1, 2)
	t.release(3.509, 3.512, "client-2/1", 3, 4, 5)
	lost := t.find(func(e *history.Event) bool { return e.Why == history.LostUnpersisted })
	broken := checker.Finding{Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.LostInCrash, Detail: "no persistence"},
		Witness:     []int{t.entered("client-1/1"), lost, t.entered("client-2/1")},
		Explanation: "redis-3 forgot client-1's key when it crashed at 1.000 s, and granted the lock again at 1.504 s.",
		Remedy:      "keep a restarted node away for longer than the longest TTL, or persist with fsync always"}
	lease, mutual := broken, broken
	lease.Law, mutual.Law = checker.LeaseExclusion, checker.MutualExclusion
	return t.run("restart-forgets", "A node restarts empty while a lock is held by the bare quorum.", []string{crash}, lease, mutual)
}

// calm is a run of many cycles in which nothing breaks.
func calm() *Run {
	t := newTale(3, 5)
	at := 0.0
	for n := range 15 {
		attempt := fmt.Sprintf("client-%d/%d", n%3+1, n+1)
		t.acquire(at, at+0.006, at+10, attempt, 0, 1, 2, 3, 4, 5)
		t.use(at+0.01, history.Read, attempt, fmt.Sprint(n), 0, "")
		t.use(at+0.012, history.Write, attempt, fmt.Sprint(n+1), 0, "")
		t.release(at+0.1, at+0.105, attempt, 1, 2, 3, 4, 5)
		at += 0.15
	}
	return t.run("sequential-vs-parallel", "Three clients take turns.", nil)
}

// deadlock is two renewed locks taken in opposite order.
func deadlock() *Run {
	t := newTale(2, 1)
	t.h.Header.Locks = []history.Lock{"accounts", "orders"}
	one := func(at float64, p history.Process, f history.F, ty history.Type, lock history.Lock, g *history.Grant, of history.Attempt) {
		e := history.Event{Process: p, F: f, Type: ty, Lock: lock, Grant: g}
		if f == history.KeySet {
			e.Of, e.By, e.Until = of, of, seconds(10)
		} else {
			e.Attempt = of
		}
		t.at(at).add(e)
	}
	grant := func(since, granted float64) *history.Grant {
		return &history.Grant{Since: seconds(since), Granted: seconds(granted), Until: seconds(70), Counted: []history.Process{"redis-1"}}
	}
	one(0.001, "client-1", history.Acquire, history.Invoke, "accounts", nil, "client-1/1")
	one(0.002, "client-2", history.Acquire, history.Invoke, "orders", nil, "client-2/1")
	one(0.003, "redis-1", history.KeySet, history.OK, "accounts", nil, "client-1/1")
	one(0.004, "redis-1", history.KeySet, history.OK, "orders", nil, "client-2/1")
	one(0.005, "client-1", history.Acquire, history.OK, "accounts", grant(0.001, 0.005), "client-1/1")
	one(0.006, "client-2", history.Acquire, history.OK, "orders", grant(0.002, 0.006), "client-2/1")
	one(0.101, "client-1", history.Acquire, history.Invoke, "orders", nil, "")
	one(0.102, "client-2", history.Acquire, history.Invoke, "accounts", nil, "")
	t.h.Header.End = seconds(60)
	return t.run("two-locks-opposite-order", "Two clients take two renewed locks in opposite order.", nil,
		checker.Finding{Law: checker.DeadlockFreedom, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.StuckInCycle},
			Witness: []int{4, 5, 6, 7}, Explanation: "client-1 holds accounts and waits for orders; client-2 holds orders and waits for accounts.",
			Remedy: "take locks in one order"})
}

// long is a run of hundreds of cycles with one violation in its middle.
func long() *Run {
	t := newTale(12, 5)
	at := 0.0
	for n := range 200 {
		attempt := fmt.Sprintf("client-%d/%d", n%12+1, n+1)
		t.acquire(at, at+0.006, at+0.1, attempt, 0, 1, 2, 3, 4, 5)
		if n == 100 {
			t.gone(history.Deleted, attempt, "client-4/3", at+0.01, 1, 2, 3)
			t.acquire(at+0.02, at+0.027, at+0.12, "client-9/1000", 0, 1, 2, 3)
			t.release(at+0.04, at+0.044, "client-9/1000", 1, 2, 3)
		}
		t.release(at+0.05, at+0.055, attempt, 1, 2, 3, 4, 5)
		at += 0.06
	}
	gone := t.find(func(e *history.Event) bool { return e.F == history.KeyGone && e.By == "client-4/3" })
	broken := checker.Finding{Law: checker.LeaseExclusion, Outcome: checker.Violated, Cause: checker.Cause{Kind: checker.RemovedByNonOwner},
		Witness:     []int{t.entered("client-5/101"), gone, gone + 1, gone + 2, t.entered("client-9/1000")},
		Explanation: "client-4's late release removed the key of client-5.", Remedy: "compare the owner before deleting"}
	return t.run("token-per-client", "", []string{"delay client-4 -> redis-1 by 2s after before-release"}, broken)
}
