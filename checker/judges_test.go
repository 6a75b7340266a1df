package checker

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestTheVerdictSaysWhoJudged replaces porcupine's answers. If porcupine does not answer, the interval check judges
// alone, and the verdict says so. If porcupine's answer is the opposite, the law is undecided.
func TestTheVerdictSaysWhoJudged(t *testing.T) {
	const overlap = `
0s client-1 acquire invoke
1s client-1 acquire ok
2s client-2 acquire invoke
3s client-2 acquire ok
`
	clash, sound := fromLog(t, overlap), busy(t, 100)
	const (
		finish = "; porcupine: did not finish, as there are too many orders to try"
		many   = "; porcupine: not asked, as more than 10000 critical sections follow each other " +
			"without a moment when the lock was free"
	)
	for _, c := range []struct {
		h       *history.History
		answer  linear.Answer
		outcome Outcome
		judges  Judges
		says    string
	}{
		{clash, linear.Refuted, Violated, Judges{Refuted, Refuted}, "porcupine: refuted; interval check: refuted"},
		{clash, linear.Unknown, Violated, Judges{Unfinished, Refuted}, "interval check alone: refuted" + finish},
		{clash, linear.TooMany, Violated, Judges{NotAskedTooMany, Refuted}, "interval check alone: refuted" + many},
		{clash, linear.Linearizable, Undecided, Judges{Allowed, Refuted},
			"porcupine: allowed; interval check: refuted"},
		{sound, linear.Linearizable, Holds, Judges{Allowed, Allowed}, "porcupine: allowed; interval check: allowed"},
		{sound, linear.Unknown, Holds, Judges{Unfinished, Allowed}, "interval check alone: allowed" + finish},
		{sound, linear.TooMany, Holds, Judges{NotAskedTooMany, Allowed}, "interval check alone: allowed" + many},
		{sound, linear.Refuted, Undecided, Judges{Refuted, Allowed}, "porcupine: refuted; interval check: allowed"},
	} {
		var judge Checker
		judge.t.instead = func([]linear.MutexOp) linear.Answer { return c.answer }
		f := judge.CheckOnly(c.h, []Law{MutualExclusion}).Findings[0]
		consistent(t, c.says, f)
		if f.Outcome != c.outcome || f.Judges != c.judges || f.Judges.String() != c.says ||
			(f.Judges.Alone() != "") != strings.Contains(c.says, "alone") ||
			strings.Contains(f.Explanation, "The checker has a bug") != (c.outcome == Undecided) {
			t.Errorf("want %v, %s: got %v, %v: %s", c.outcome, c.says, f.Outcome, f.Judges, f.Explanation)
		}
	}
}

// TestJudgesLookAtEachLock checks that one judge's answer about a lock is never compared with the other judge's answer
// about another lock.
func TestJudgesLookAtEachLock(t *testing.T) {
	h := fromLog(t, `
0s client-1 acquire invoke lock=a
1s client-1 acquire ok lock=a
2s client-2 acquire invoke lock=a
3s client-2 acquire ok lock=a
4s client-3 acquire invoke lock=b
5s client-3 acquire ok lock=b
6s client-3 release invoke lock=b
7s client-4 acquire invoke lock=b
8s client-4 acquire ok lock=b
`)
	for _, c := range []struct {
		a, b    linear.Answer
		outcome Outcome
		judges  Judges
	}{
		{linear.Refuted, linear.Linearizable, Violated, Judges{Refuted, Refuted}},
		{linear.Refuted, linear.Unknown, Violated, Judges{Refuted, Refuted}},
		{linear.Unknown, linear.Linearizable, Violated, Judges{Unfinished, Refuted}},
		{linear.Linearizable, linear.Refuted, Undecided, Judges{Allowed, Refuted}},
		{linear.Refuted, linear.Refuted, Undecided, Judges{Refuted, Allowed}},
	} {
		var judge Checker
		answers := []linear.Answer{c.a, c.b}
		judge.t.instead = func([]linear.MutexOp) (next linear.Answer) {
			next, answers = answers[0], answers[1:]
			return next
		}
		f := judge.CheckOnly(h, []Law{MutualExclusion}).Findings[0]
		if f.Outcome != c.outcome || f.Judges != c.judges || f.Outcome == Violated && f.Lock != "a" {
			t.Errorf("%v and %v: got %v of %q, %v", c.a, c.b, f.Outcome, f.Lock, f.Judges)
		}
	}
}

// TestPorcupineIsNotAskedWhereClocksAreOff checks that the verdict does not rely on porcupine if clocks may be wrong.
// It tries two sections that certainly overlap, two that may overlap, and two that do not.
func TestPorcupineIsNotAskedWhereClocksAreOff(t *testing.T) {
	for _, c := range []struct {
		entry   string
		outcome Outcome
		judges  Judges
	}{
		{"3s", Violated, Judges{NotAskedClocks, Refuted}},
		{"10s", Undecided, Judges{NotAskedClocks, Open}},
		{"12s", Holds, Judges{NotAskedClocks, Allowed}},
	} {
		h := fromLog(t, `
0s client-1 acquire invoke
1s client-1 acquire ok
2s client-2 acquire invoke
`+map[bool]string{true: "3s client-2 acquire ok\n"}[c.entry == "3s"]+`
10s client-1 release invoke
`+map[bool]string{true: c.entry + " client-2 acquire ok\n"}[c.entry != "3s"])
		h.Header.ClockError = 1e6
		f := Check(h).Of(MutualExclusion)
		const why = "porcupine: not asked, as the history states a clock error"
		if f.Outcome != c.outcome || f.Judges != c.judges || !strings.Contains(f.Judges.String(), why) {
			t.Errorf("entered at %s: %v, %v: %s", c.entry, f.Outcome, f.Judges, f.Explanation)
		}
		consistent(t, c.entry, f)
	}
}

// inTurn returns a history of n sections: either one after the other, or all shared and ended at the same time.
func inTurn(n int, together bool) *history.History {
	h := &history.History{}
	add := func(i int, typ history.Type, f history.F) {
		h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: history.Time(len(h.Events)),
			Process: "client-1", Type: typ, F: f, Lock: "l", Attempt: history.Attempt(strconv.Itoa(i)),
			Shared: together})
	}
	for i := range n {
		add(i, history.OK, history.Acquire)
		if !together {
			add(i, history.Invoke, history.Release)
		}
	}
	for i := 0; i < n && together; i++ {
		add(i, history.Invoke, history.Release)
	}
	return h
}

// TestPorcupineIsAskedInParts uses more sections than one call to porcupine can check. If there are instants when
// nobody is inside, the history is split there, and both judges judge the parts. Otherwise, only the interval check
// judges.
func TestPorcupineIsAskedInParts(t *testing.T) {
	const n = linear.MaxSections
	late := func(h *history.History) *history.History { // two more sections, which overlap
		for _, a := range []history.Attempt{"x", "y"} {
			h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: history.Time(len(h.Events)),
				Process: "client-2", Type: history.OK, F: history.Acquire, Lock: "l", Attempt: a})
		}
		return h
	}
	// the cases tried by default; each of the others takes a second
	everyday := []string{"one more that overlaps"}
	overlapping := inTurn(n+1, true) // a writer's section overlaps those of the readers
	overlapping.Events[1].Shared = false
	for _, c := range []struct {
		name   string
		h      *history.History
		judges Judges
	}{
		{"three times as many in turn", inTurn(3*n, false), Judges{Allowed, Allowed}},
		{"then two that overlap", late(inTurn(3*n, false)), Judges{Refuted, Refuted}},
		{"as many that overlap", inTurn(n, true), Judges{Allowed, Allowed}},
		{"one more that overlaps", inTurn(n+1, true), Judges{NotAskedTooMany, Allowed}},
		{"of which one must not", overlapping, Judges{Refuted, Refuted}},
		{"then two that must not", late(inTurn(n+1, true)), Judges{Refuted, Refuted}},
	} {
		if !testkit.Thorough() && !slices.Contains(everyday, c.name) {
			continue
		}
		f := Check(c.h).Of(MutualExclusion)
		if f.Judges != c.judges {
			t.Errorf("%s: %v: %v", c.name, f.Outcome, f.Judges)
		}
		all, _ := Evidence(c.h, 1)
		refuted := c.judges.Porcupine == Refuted
		if drawn := refuted || c.name == "as many that overlap"; drawn != (len(all) == 1) ||
			drawn && (all[0].Mutex == nil || refuted != all[0].Refuted()) {
			t.Errorf("%s: %v, and the drawings are %+v", c.name, f.Judges, all)
		}
	}
}

// TestOwnershipIsBrokenWhereACauseSaysSo checks that ownership is broken if another client removed a key without
// checking its owner, no matter which other laws are also broken.
func TestOwnershipIsBrokenWhereACauseSaysSo(t *testing.T) {
	var c Checker
	seen := 0
	rounds := testkit.Size(500, 2_000, 20_000)
	for round := range rounds {
		g := newGossip(uint64(round), 11)
		g.twoGrants()
		for i := range g.h.Events { // a client that checks may change a key whose owner is done with it
			g.h.Events[i].Checked = history.CheckNotRecorded
		}
		v := c.Check(g.h)
		for _, law := range []Law{LeaseExclusion, MutualExclusion} {
			if f := v.Of(law); f.Cause.Kind == RemovedByNonOwner {
				seen++
				if v.Of(Ownership).Outcome != Violated {
					t.Fatalf("round %d: %s by %v, but ownership is %v\n%s\n%s", round, law, f.Cause,
						v.Of(Ownership).Outcome, f.Explanation, encoded(t, g.h))
				}
			}
		}
	}
	if seen < rounds/100 {
		t.Errorf("a stranger removed the key in %d rounds only", seen)
	}
}
