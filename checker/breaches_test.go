package checker

import (
	"slices"
	"strings"
	"testing"
)

// broken returns the finding that a law is violated, with one breach for each of the given causes.
func broken(causes ...Cause) Finding {
	f := Finding{Law: MutualExclusion, Outcome: Violated, Cause: causes[0]}
	for _, c := range causes[1:] {
		f.Further = append(f.Further, Finding{Law: f.Law, Outcome: Violated, Cause: c})
	}
	return f
}

// causesOf lists the causes of a finding's breaches.
func causesOf(f *Finding) (all []CauseKind) {
	for b := range f.Breaches() {
		all = append(all, b.Cause.Kind)
	}
	return all
}

func TestAFindingHasABreachForEachCause(t *testing.T) {
	f := broken(Cause{Kind: LostInFailover}, Cause{Kind: LostUpdate}, Cause{Kind: DeposedMaster})
	want := "violated by lost in failover, also by update lost and by granted by a deposed master"
	if got := f.Came(); got != want {
		t.Errorf("it came out %s, want %s", got, want)
	}
	if b := f.By(Cause{Kind: DeposedMaster}); b != &f.Further[1] || f.By(Cause{Kind: TooSlow}) != nil {
		t.Errorf("found %+v", b)
	}
	for _, c := range []struct {
		without CauseKind
		left    []CauseKind
	}{
		{LostUpdate, []CauseKind{LostInFailover, DeposedMaster}},
		{LostInFailover, []CauseKind{LostUpdate, DeposedMaster}}, // the second breach becomes the first
		{TooSlow, []CauseKind{LostInFailover, LostUpdate, DeposedMaster}},
	} {
		g := broken(f.Cause, f.Further[0].Cause, f.Further[1].Cause)
		left := g.Retain(func(b *Finding) bool { return b.Cause.Kind != c.without })
		if got := causesOf(&g); !left || !slices.Equal(got, c.left) {
			t.Errorf("without %s: %v, want %v", c.without, got, c.left)
		}
	}
	if f.Retain(func(*Finding) bool { return false }) || len(causesOf(&f)) != 3 {
		t.Errorf("nothing is to be kept: %s", f.Came())
	}
	if sound := (&Finding{Law: MutualExclusion, Outcome: Holds}); len(causesOf(sound)) > 0 {
		t.Error("a law that holds has breaches")
	}
}

// A violation breaks the promise if at least one of its breaches is not excused, regardless of the order of the
// breaches.
func TestAPromiseCountsEveryBreach(t *testing.T) {
	lost, other := Cause{Kind: NoQuorumLeft}, Cause{Kind: StuckWithoutHolder}
	p := Promise{Laws: []Law{MutualExclusion}}
	for _, c := range []struct {
		of      Finding
		breaks  CauseKind // empty: none
		excused bool
	}{
		{broken(lost), "", true},
		{broken(lost, other), other.Kind, false},
		{broken(other, lost), other.Kind, false},
		{Finding{Law: MutualExclusion, Outcome: Holds}, "", false},
	} {
		got := CauseKind("")
		if b := p.BrokenBy(&c.of); b != nil {
			got = b.Cause.Kind
		}
		if got != c.breaks || p.ExcusesAll(&c.of) != c.excused {
			t.Errorf("%s: broken by %q, excused %t", c.of.Came(), got, p.ExcusesAll(&c.of))
		}
	}
	all := broken(lost)
	if p.Availability = true; p.BrokenBy(&all) == nil || p.ExcusesAll(&all) {
		t.Error("availability was promised")
	}
}

// A law is violated if a later breach is certain, even if the clocks are too inexact to show whether the first breach
// happened.
func TestClocksLeaveSingleBreachesOpen(t *testing.T) {
	h := fromLog(t, `
		header servers=redis-1,redis-2 shards=redis-1+redis-2 quorum=1 ttl=9s
		0s client-1 acquire invoke
		1ms redis-1 key-set of=client-1/1 until=9s
		2ms client-1 acquire ok until=8.9s
		1s redis-2 key-set of=client-2/1 until=10s
		2s redis-2 key-set of=client-3/1 until=10s
		2s redis-1 key-set of=client-2/1 until=10s
		3s redis-1 key-prolonged of=client-2/1 by=client-1/1 until=11s`)
	h.Header.ClockError = 10e6
	f := new(Checker).CheckOnly(h, []Law{Ownership}).Findings[0]
	if f.Outcome != Violated || f.Cause.Kind != ProlongedByNonOwner || len(f.Further) > 0 {
		t.Errorf("%s", show(f))
	}
	h.Header.ClockError = 0
	f = new(Checker).CheckOnly(h, []Law{Ownership}).Findings[0]
	if f.Cause.Detail != Overwritten || len(f.Further) != 1 {
		t.Errorf("by exact clocks: %s", show(f))
	}
}

// The results of trials can be used to explain a breach again. This is true of the first breach and of later ones.
func TestABreachIsExplainedAgain(t *testing.T) {
	h := fromLog(t, `
		header servers=redis-1 ttl=10s
		0s client-1 acquire invoke
		1ms redis-1 key-set of=client-1/1 until=10s
		2ms client-1 acquire ok until=9.9s
		1s fault redis-1: crash redis-1 losing unsynced writes at 1s, restart after 1s
		2s fault-ends redis-1: crash redis-1 losing unsynced writes at 1s, restart after 1s
		2s redis-1 key-gone of=client-1/1 why=lost_in_crash_(unsynced)
		3s client-2 acquire invoke
		3.001s redis-1 key-set of=client-2/1 until=13s
		3.002s client-2 acquire ok until=12.9s
		4s client-3 acquire invoke
		5s client-1 release invoke
		5.001s redis-1 key-gone of=client-2/1 by=client-1/1 why=deleted
		5.003s redis-1 key-set of=client-3/1 until=15s
		5.004s client-3 acquire ok until=14.9s`)
	var c Checker
	f := c.CheckOnly(h, []Law{LeaseExclusion}).Findings[0]
	if len(f.Further) != 1 {
		t.Fatalf("%s", show(f))
	}
	crash := 3 // index of the event at which the fault struck
	for b := range f.Breaches() {
		again := c.CheckKnowing(h, b, Known{Needed: []int{crash}})
		if again.At != b.At || again.Cause != b.Cause || !slices.Equal(again.Holders, b.Holders) ||
			len(again.Further) > 0 {
			t.Errorf("explained again, %s is %s", show(*b), show(again))
		}
		if !slices.Contains(again.Faults, crash) {
			t.Errorf("it does not name the crash: %s", show(again))
		}
	}
}

// TestEachBreachAtOneEventIsExplainedAgain takes two breaches that one event causes between the same clients, and
// explains both a second time. The event's token is a repeated one, and it is lower than another one. Each breach must
// keep its own cause.
func TestEachBreachAtOneEventIsExplainedAgain(t *testing.T) {
	h := fromLog(t, `header servers=redis-1 ttl=10s
		0s fault client-3: pause client-3 for 1s at 0s
		1s client-1 acquire invoke
		1s client-1 acquire ok until=9s token=1
		2s client-1 release invoke
		2s client-1 release ok
		3s client-1 acquire invoke
		3s client-1 acquire ok until=12s token=2
		4s client-1 release invoke
		4s client-1 release ok
		5s client-2 acquire invoke
		5s client-2 acquire ok until=14s token=1`)
	var c Checker
	f := c.Check(h).Of(TokenOrder)
	if f.By(Cause{Kind: TokenRepeated}) == nil || f.By(Cause{Kind: TokenWentBack}) == nil {
		t.Fatal(show(f))
	}
	for b := range f.Breaches() {
		again := c.CheckKnowing(h, b, Known{Needed: []int{0}})
		if again.Cause != b.Cause || !strings.Contains(again.Explanation, "does not occur without") {
			t.Errorf("%s: explained again as\n%s", b.Cause, show(again))
		}
	}
}
