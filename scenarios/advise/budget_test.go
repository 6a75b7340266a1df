package advise

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// adviceWithin returns the advice of a search with a budget of the given number of runs. spent is how many runs the
// search performed.
func adviceWithin(t *testing.T, ctx context.Context, s *scenarios.Scenario, runs, workers int) (r *Report, spent int) {
	t.Helper()
	var used atomic.Int64
	o := Options{From: 1, Seeds: 5, Budget: time.Duration(runs) * time.Second, Crew: campaign.Crew{Workers: workers},
		Spent: func() time.Duration { return time.Duration(used.Add(1)) * time.Second }}
	a, err := Try(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return &Report{Advice: a, Scenario: s}, int(used.Load())
}

// If a search ends because of its budget, the report says so and lists what was not tried. The result is passed if a
// change was confirmed, and undecided otherwise: the report never says that no change helps. A change that was
// confirmed has the same result as without a budget, for any number of workers.
func TestASearchWithinABudgetSaysWhatItLeftOut(t *testing.T) {
	testkit.ThoroughOnly(t)
	s := named(t, "no-elapsed-check")
	whole, spent := adviceWithin(t, context.Background(), s, 1_000_000, 1)
	if whole.OutOfBudget || whole.untried() != "" || whole.Standing() != document.Passed {
		t.Fatalf("with a budget that suffices: %s", whole.conclusion())
	}
	saved, undecided := 0, 0
	for runs := 1; runs < spent; runs *= testkit.Size(32, 32, 2) {
		a, _ := adviceWithin(t, context.Background(), s, runs, 1+2*(runs%2))
		if !a.OutOfBudget {
			break
		}
		said := a.conclusion()
		why := fmt.Sprintf("The search has used its %ds of processor time (--cpu). Not tried: ", runs)
		if !strings.Contains(said, why) ||
			strings.HasSuffix(said, ": .") || strings.Contains(said, "No change that the scenario format allows") ||
			strings.Contains(said, "there is nothing to fix") {
			t.Errorf("%d runs: %s", runs, said)
		}
		switch a.Standing() {
		case document.Passed:
			saved++
			if len(a.Mending) == 0 || !a.keeps(a.Mending[0]) {
				t.Errorf("%d runs: passed without a confirmed change: %s", runs, said)
			}
		case document.Undecided:
			undecided++
		default:
			t.Errorf("%d runs: %v", runs, a.Standing())
		}
		for _, of := range a.Mending {
			i := slices.IndexFunc(whole.Mending, func(u *Tried) bool { return u.String() == of.String() })
			if a.confirmed(of) && (i < 0 || whole.Mending[i].Cost != of.Cost ||
				a.keeps(of) != whole.keeps(whole.Mending[i])) {
				t.Errorf("%d runs: %s is confirmed, but comes out otherwise without a budget", runs, of)
			}
		}
	}
	if saved == 0 || undecided == 0 {
		t.Errorf("%d budgets sufficed for a confirmed change, and %d for none", saved, undecided)
	}
}

// An interrupted search reports what was tried, and does not draw any conclusions about other changes.
func TestAnInterruptedSearchConcludesNothing(t *testing.T) {
	for _, after := range []int64{0, 3, 30, 100} {
		ctx, stop := context.WithCancel(context.Background())
		var runs atomic.Int64
		s := named(t, "no-elapsed-check")
		a, err := Try(ctx, s, Options{From: 1, Seeds: 5, Budget: time.Hour, Crew: campaign.Crew{Workers: 1},
			Spent: func() time.Duration {
				if runs.Add(1) > after {
					stop()
				}
				return 0
			}})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		said := (&Report{Advice: a, Scenario: s}).conclusion()
		if !a.Interrupted || a.OutOfBudget || !strings.Contains(said, "The search was interrupted. Not tried: ") ||
			strings.Contains(said, "No change that the scenario format") || strings.Contains(said, "nothing to fix") {
			t.Errorf("after %d runs: %s", after, said)
		}
	}
}

// If nobody can acquire a lock anymore once its holder has crashed, the report says so, and the lock counts as the most
// expensive.
func TestALockWithoutAnEndIsNeverCheap(t *testing.T) {
	endless := 0
	for _, d := range locks.Definitions() {
		servers := fmt.Sprintf("{%s: 3}", d.Backend)
		if d.Backend == locks.OnRedis && !d.Several {
			servers = "{redis: 1}"
		}
		s := parsed(t, fmt.Sprintf("name: a\nservers: %s\nlock: {protocol: %s}\n", servers, d.Name))
		b, err := newSubject(s, Options{From: 1, Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		of, err := b.cost(b.doc)
		if err != nil {
			t.Fatal(err)
		}
		if of.Lease <= 0 || (of.Lease == forever) == d.Expires || costOf(of).Endless == d.Expires {
			t.Errorf("%s expires: %v, and its lease is %v", d.Name, d.Expires, of.Lease)
		}
		if of.Lease != forever {
			continue
		}
		endless++
		base := Cost{Acquire: time.Second, Requests: 10, Servers: 9, Lease: time.Second}
		if words := compared(of, base); !strings.Contains(words,
			"A holder that crashes blocks the others forever (before: for 1s).") {
			t.Errorf("%s: %s", d.Name, words)
		}
		a := &Advice{Base: &Tried{Cost: base}}
		notes := (&Report{Advice: a}).remarks(&Tried{Cost: of})
		if !slices.ContainsFunc(notes, func(p document.Paragraph) bool {
			return p.Words == "! a holder that crashes blocks the others forever"
		}) {
			t.Errorf("%s: notes %v", d.Name, notes)
		}
		dear := &Tried{Cost: Cost{Acquire: time.Minute, Requests: 100, Servers: 99, Lease: time.Hour}}
		if a.compare(&Tried{Cost: of}, dear) <= 0 || a.compare(dear, &Tried{Cost: of}) >= 0 {
			t.Errorf("%s comes before a lock that expires", d.Name)
		}
	}
	if endless == 0 {
		t.Error("no protocol is without an expiry")
	}
}

// If a file does not list any faults and its lock breaks without faults, the advice covers only the promises that break
// that way, not those that random faults break.
func TestALockThatBreaksWithoutFaultsIsAskedAboutThat(t *testing.T) {
	s := parsed(t, "name: mine\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 3s, reentrant: uncounted, "+
		"extension: {}}\nwork: {cycles: 2, writes: 1, hold: 1s, nested: on}\npromise: [lease-exclusion, ownership]\n")
	a := advice(t, s, testkit.Size(2, 2, 40))
	if !a.Own || a.Explored > 0 || !slices.Equal(a.Broken, []checker.Law{checker.LeaseExclusion}) || !a.saved() ||
		a.Mending[0].String() != "lock.reentrant: counted" {
		t.Errorf("%+v", a)
	}
	said := (&Report{Advice: a, Scenario: s}).conclusion()
	if want := fmt.Sprintf("Set lock.reentrant to counted: then every promise is kept, in 20 runs without faults and "+
		"%d with other seeds.", 51*a.Seeds); !strings.Contains(strings.ReplaceAll(said, ",0", "0"), want) {
		t.Errorf("%s\nnot\n%s", said, want)
	}
}

// If the lock broke under the file's own faults, the advice covers only the promises that they broke. Fresh faults may
// break another promise with and without the change. The report says so, but this does not count against the change. If
// the lock broke under faults drawn from the file's mix, the advice covers all promises.
func TestOnlyWhatTheOwnFaultsBreakIsAskedAbout(t *testing.T) {
	stuck := Breach{Finding: campaign.Finding{Law: checker.DeadlockFreedom,
		Cause: checker.Cause{Kind: checker.StuckInCycle}, Runs: 12}, Of: 2120}
	outlived := Breach{Finding: campaign.Finding{Law: checker.MutualExclusion,
		Cause: checker.Cause{Kind: checker.HolderOutlivedLease}, Runs: 7}, Of: 2120, Nature: "why"}
	for _, own := range []bool{true, false} {
		best := &Tried{Changes: []Change{{Key: "lock.ttl", Value: "9s"}}, Given: Trial{Runs: 20},
			Fresh: Trial{Runs: 2100}, Mended: []checker.Law{checker.Ownership}, Known: []Breach{stuck, outlived}}
		a := &Report{Advice: &Advice{Own: own, Promised: checker.Laws, Broken: best.Mended, Base: &Tried{},
			Mending: []*Tried{best}}, Scenario: named(t, "no-elapsed-check")}
		want := "No change and no pair keeps every promise."
		if own {
			want = "Set lock.ttl to 9s: then every promise that broke is kept, in 20 runs under these faults and " +
				"2,100 under new faults of the same kinds. Of these 2,120 runs, 12 break deadlock-freedom, as " +
				"before. Of these 2,120 runs, 7 break mutual-exclusion, which no lock can prevent."
		}
		if said := a.conclusion(); !strings.HasPrefix(said, want) || a.keeps(best) != own {
			t.Errorf("own faults: %v: %s\nnot\n%s", own, said, want)
		}
	}
}

// TestWhatWasNotJudgedNeedsNoConclusion checks the advice for a lock whose holder crashes and keeps it forever. None of
// the runs exercises the promises, so it is unknown whether there is anything to fix.
func TestWhatWasNotJudgedNeedsNoConclusion(t *testing.T) {
	s, err := scenarios.Parse("stuck.yaml", []byte(`
name: stuck
servers: {redis: 1}
lock: {protocol: setnx, ttl: 5s, value: fixed}
work: {cycles: 2, writes: 1, hold: 1s}
promise: [resource-safety, ownership]
faults: [crash client-1 after acquired]
`))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := adviceWithin(t, context.Background(), s, 1_000_000, 1)
	said := a.conclusion()
	if a.Standing() != document.Undecided || strings.Contains(said, "nothing to fix") ||
		!strings.Contains(said, "not every run could be judged") {
		t.Errorf("%v: %s", a.Standing(), said)
	}
}
