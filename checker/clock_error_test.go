package checker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// byOtherClocks returns the history that would have been recorded if each process's clock had been off by the given
// amount. The new header declares most as the largest clock error.
func byOtherClocks(h *history.History, off func(history.Process) history.Time, most history.Time) *history.History {
	out := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	out.Header.ClockError = most
	for i := range out.Events {
		e := &out.Events[i]
		by := off(e.Process)
		e.Time += by
		if key := e.F == history.KeySet || e.F == history.KeyProlonged; key && e.Until != history.Never {
			e.Until += by
		}
		if e.Grant != nil {
			g := *e.Grant
			g.Since, g.Granted = g.Since+by, g.Granted+by
			if g.Until != history.Never {
				g.Until += by
			}
			e.Grant = &g
		}
	}
	slices.SortStableFunc(out.Events, func(a, b history.Event) int { return int(min(1, max(-1, a.Time-b.Time))) })
	for i := range out.Events {
		out.Events[i].Index = i
	}
	return out
}

// turnedAround reports whether a verdict based on inexact clocks contradicts the true one.
func turnedAround(truth, got Outcome) bool {
	switch got {
	case Violated:
		return truth != Violated
	case Holds:
		return truth == Violated || truth == Unchecked
	}
	return false
}

// TestNoVerdictTurnsAroundByClocksThatAreOff shifts every process's clock in every case in testdata/laws by amounts
// below the clock error that the header declares. A law that holds may become undecided, but never violated. A law that
// is violated may become undecided, but must never hold.
func TestNoVerdictTurnsAroundByClocksThatAreOff(t *testing.T) {
	files, err := filepath.Glob("testdata/laws/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	rounds := testkit.Size(4, 12, 300)
	var c Checker
	r := rand.New(rand.NewPCG(13, 6))
	kept := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, lc := range lawCases(t, string(text)) {
			h := fromLog(t, lc.history)
			truth := c.Check(h)
			for _, most := range []history.Time{1e3, 1e6, 3e7, 1e9, 2e10} {
				for range rounds {
					offs, errors := map[history.Process]history.Time{}, map[history.Process]history.Time{}
					shifted := byOtherClocks(h, func(p history.Process) history.Time {
						if _, known := offs[p]; !known {
							some := 1 + history.Time(r.Int64N(int64(most)))
							most := []history.Time{most, most, 1 + most/10, some}[r.IntN(4)]
							some = history.Time(r.Int64N(int64(2*most-1))) - most + 1
							offs[p] = []history.Time{most - 1, 1 - most, 0, some}[r.IntN(4)]
							errors[p] = most
						}
						return offs[p]
					}, most)
					shifted.Header.ClockErrors = errors
					for i, f := range c.Check(shifted).Findings {
						was := truth.Findings[i]
						kept[fmt.Sprint(f.Law, " ", f.Outcome)]++
						consistent(t, lc.name, f)
						if turnedAround(was.Outcome, f.Outcome) {
							t.Fatalf("%s, %s: %v (%s), but with clocks that are off by %v, at most %v: %v (%s)\n%s",
								lc.name, f.Law, was.Outcome, was.Explanation, offs, most, f.Outcome, f.Explanation,
								encoded(t, shifted))
						}
					}
				}
			}
		}
	}
	t.Logf("verdicts that stay: %v", kept)
	for _, law := range Laws {
		for _, o := range []Outcome{Holds, Violated, Undecided} {
			never := o == Holds && (law == DeadlockFreedom || law == FaultTolerance || law == Fairness) ||
				o == Violated && (law == FaultTolerance || law == Fairness)
			if n := kept[fmt.Sprint(law, " ", o)]; (n == 0) != never {
				t.Errorf("%s came out as %v %d times", law, o, n)
			}
		}
	}
}

// TestSmallHistoriesByEveryClock checks random small histories under all combinations of clocks that are fast, exact or
// slow. A verdict is correct only if every combination allows it.
func TestSmallHistoriesByEveryClock(t *testing.T) {
	nth := testkit.Size(93, 31, 31)
	rounds := uint64(testkit.Size(600, 600, 4000))
	var c Checker
	seen := map[string]int{}
	for round := range rounds {
		g := newGossip(round, 6)
		g.anything(8 + int(round%20))
		if g.rewrite(); round%2 == 0 {
			g.h.Header.Quorum = 0 // no servers, as in a history of another system
			g.h.Header.Servers = nil
		}
		for i := range g.h.Events {
			g.h.Events[i].Index = i
		}
		const most = history.Time(1e6 + 1)
		off := map[history.Process]history.Time{}
		said := byOtherClocks(g.h, func(history.Process) history.Time { return 0 }, most)
		got := c.Check(said)
		processes := []history.Process{"client-1", "client-2", "client-3", history.Resource, "redis-1", "redis-2",
			history.Nemesis}
		for combination := range 2187 { // 3 to the power of 7
			if combination%nth != int(round)%nth && !(testkit.Full() && round%50 == 0) {
				continue
			}
			n := combination
			for _, p := range processes {
				off[p], n = history.Time(n%3-1)*1e6, n/3
			}
			really := byOtherClocks(g.h, func(p history.Process) history.Time { return off[p] }, 0)
			for i, f := range c.Check(really).Findings {
				said := got.Findings[i].Outcome
				if said == Violated && f.Outcome != Violated || said == Holds && f.Outcome == Violated {
					t.Fatalf("round %d, %s: said %v (%s), but by clocks that are off by %v: %v (%s)\n%s", round,
						f.Law, said, got.Findings[i].Explanation, off, f.Outcome, f.Explanation, encoded(t, g.h))
				}
			}
		}
		for _, f := range got.Findings {
			seen[fmt.Sprint(f.Law, " ", f.Outcome)]++
		}
	}
	for _, what := range []string{"mutual-exclusion violated", "mutual-exclusion holds", "mutual-exclusion undecided",
		"lease-exclusion violated", "lease-exclusion holds", "resource-safety violated", "resource-safety holds",
		"token-order violated", "token-order holds", "ownership violated", "ownership holds"} {
		if seen[what] == 0 {
			t.Errorf("%s: never of %v", what, seen)
		}
	}
}

// TestRecordsThatEndEarly takes random small histories and, for each process, removes everything that the process did
// after some instant. What remains must not violate any law that the whole history does not violate. The test omits
// three kinds of histories: those in which several attempts have the same name, those in which a process is recorded
// for longer than it is known to have been alive, and those in which a lease was extended before that instant and the
// holder's call returned after it. Such an extension may have shortened the lease.
func TestRecordsThatEndEarly(t *testing.T) {
	rounds := uint64(testkit.Size(1_500, 4_000, 400_000))
	var c Checker
	r := rand.New(rand.NewPCG(19, 6))
	seen := map[string]int{}
	for round := range rounds {
		g := newGossip(round, 19)
		g.anything(8 + int(round%40))
		if g.rewrite(); round%2 == 0 {
			g.h.Header.Quorum, g.h.Header.Servers = 0, nil
		}
		for i := range g.h.Events {
			g.h.Events[i].Index = i
		}
		whole := c.Check(g.h)
		early := byOtherClocks(g.h, func(history.Process) history.Time { return 0 }, 1)
		early.Header.Seen = map[history.Process]history.Time{}
		for i := range early.Events {
			p := early.Events[i].Process
			if _, known := early.Header.Seen[p]; !known && p != history.Nemesis {
				early.Header.Seen[p] = history.Time(r.Int64N(int64(g.now) + 1))
			}
		}
		left, granted := false, map[history.Attempt]int{}
		early.Events = slices.DeleteFunc(early.Events, func(e history.Event) bool {
			until, ends := early.Header.Seen[e.Process]
			late := ends && e.Time > until
			if e.F == history.Acquire && e.Type == history.OK {
				granted[e.Attempt]++
			}
			left = left || late && e.F == history.Extend && e.Grant != nil && e.Grant.Granted <= until ||
				granted[e.Attempt] > 1 || late && e.F == history.Crashed && e.Until != 0 && e.Until < until
			return late
		})
		if left {
			continue
		}
		for i, f := range c.Check(early).Findings {
			seen[fmt.Sprint(f.Law, " ", f.Outcome)]++
			if f.Outcome == Violated && whole.Findings[i].Outcome != Violated {
				t.Fatalf("round %d, recorded until %v: %s is violated (%s), but in the whole history %v (%s)\n%s",
					round, early.Header.Seen, f.Law, f.Explanation, whole.Findings[i].Outcome,
					whole.Findings[i].Explanation, encoded(t, g.h))
			}
		}
	}
	t.Logf("%d rounds: %v", rounds, seen)
	for _, law := range []Law{LeaseExclusion, MutualExclusion, ResourceSafety, Ownership, TokenOrder, DeadlockFreedom} {
		for _, o := range []Outcome{Violated, Undecided} {
			if n := seen[fmt.Sprint(law, " ", o)]; n < int(rounds)/1000 {
				t.Errorf("%s is %v in %d of %d rounds only", law, o, n, rounds)
			}
		}
	}
}

// TestNoCauseRestsOnWhatTheClocksLeaveOpen judges a history in which two critical sections definitely overlap. Because
// the clocks are inexact, it is unknown whether the leases overlapped too. So the verdict must not say that the holder
// had outlived its lease.
func TestNoCauseRestsOnWhatTheClocksLeaveOpen(t *testing.T) {
	const text = `
0s client-1 acquire invoke
0s client-1 acquire ok until=1s
0s client-2 acquire invoke
UNTIL client-2 acquire ok until=9s
5s client-1 release invoke
`
	for _, c := range []struct {
		at    string
		most  history.Time
		cause CauseKind
	}{
		{"1001ms", 0, HolderOutlivedLease}, {"1001ms", 1e6, CauseNotRecorded}, {"1010ms", 1e6, HolderOutlivedLease},
		{"999ms", 1e6, CauseNotRecorded}, {"2s", 1e6, HolderOutlivedLease},
	} {
		h := fromLog(t, strings.ReplaceAll(text, "UNTIL", c.at))
		h.Header.ClockError = c.most
		f := Check(h).Of(MutualExclusion)
		if f.Outcome != Violated || f.Cause.Kind != c.cause {
			t.Errorf("acquired at %s, clocks off by %v: %v by %v, want %v (%s)", c.at, c.most, f.Outcome, f.Cause,
				c.cause, f.Explanation)
		}
	}
}
