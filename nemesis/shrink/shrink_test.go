package shrink

import (
	"hash/fnv"
	"reflect"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
	"github.com/fencepost-sim/fencepost/sim"
)

// numbered returns a plan of n faults that differ only in their numbers.
func numbered(n int) nemesis.Plan {
	p := nemesis.Plan{Scenario: "a", Seed: 99}
	for i := range n {
		p.Faults = append(p.Faults,
			nemesis.Fault{Kind: nemesis.Break, Target: "client-1", Peer: "redis-1", Number: i + 1})
	}
	return p
}

// set returns the numbers in a plan's faults as a bit set. The lowest bit stands for number 1.
func set(p nemesis.Plan) uint {
	s := uint(0)
	for _, f := range p.Faults {
		s |= 1 << (f.Number - 1)
	}
	return s
}

// TestReduceLeavesNoFaultThatCanBeTaken checks that the reduced plan fails, and that no further fault can be removed
// from it. It tries every way in which some subsets of four faults fail and others do not. The whole plan always fails,
// but adding a fault to a subset may make a failure go away.
func TestReduceLeavesNoFaultThatCanBeTaken(t *testing.T) {
	const faults, whole = 4, 1<<4 - 1
	plan := numbered(faults)
	for failing := uint(1 << whole); failing < 1<<(whole+1); failing++ {
		fails := func(p nemesis.Plan) bool { return failing>>set(p)&1 == 1 }
		small := set(Reduce(plan, fails))
		if failing>>small&1 == 0 {
			t.Fatalf("%b: %04b does not fail", failing, small)
		}
		for i := range faults {
			if less := small &^ (1 << i); less != small && failing>>less&1 == 1 {
				t.Fatalf("%b: %04b fails, and so does %04b", failing, small, less)
			}
		}
	}
}

// TestReduceFindsTheSetThatFails makes a plan fail if and only if it contains a particular set of faults. Reduce must
// return that set. The plans have up to eight faults.
func TestReduceFindsTheSetThatFails(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for cause := uint(0); cause < 1<<n; cause++ {
			if small := set(Reduce(numbered(n), func(p nemesis.Plan) bool { return set(p)&cause == cause })); small !=
				cause {
				t.Fatalf("of %d faults %0*b: %0*b is left", n, n, cause, n, small)
			}
		}
	}
}

// TestReduceTriesOtherSeeds checks that Reduce returns a plan from which no fault can be removed under any of the seeds
// that it tries. Which sets of faults fail is random, and different for each seed.
func TestReduceTriesOtherSeeds(t *testing.T) {
	const faults = 5
	lower := 0
	for draw := range uint64(3000) {
		fails := func(p nemesis.Plan) bool {
			return len(p.Faults) == faults && p.Seed == 99 || coin(draw, p.Seed, uint64(set(p)))%8 == 0
		}
		small := Reduce(numbered(faults), fails)
		if !fails(small) {
			t.Fatalf("draw %d: what is left does not fail", draw)
		}
		if small.Seed != 99 {
			lower++
		}
		for i := range small.Faults {
			if less, ok := UnderSomeSeed(withoutFaults(small, i, 1), fails); ok {
				t.Fatalf("draw %d: %05b under seed %d, but also %05b under %d", draw, set(small), small.Seed, set(less),
					less.Seed)
			}
		}
		for seed := uint64(1); seed <= OtherSeeds && seed < small.Seed; seed++ {
			if fails(withSeed(small, seed)) {
				t.Fatalf("draw %d: seed %d is left, and %d would do", draw, small.Seed, seed)
			}
		}
	}
	if lower < 2000 {
		t.Errorf("another seed helped in %d of 3000 draws", lower)
	}
}

// coin returns a hash of the numbers.
func coin(numbers ...uint64) uint64 {
	h := fnv.New64a()
	for _, n := range numbers {
		h.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)})
	}
	return h.Sum64() >> 20
}

// checkMinimal checks each guarantee in Shrink's comment.
func checkMinimal(t *testing.T, small nemesis.Plan, fails func(nemesis.Plan) bool) {
	t.Helper()
	if err := small.Validate(nemesistest.Names); err != nil || !fails(small) {
		t.Errorf("what is left does not fail, or is not valid (%v):\n%s", err, small)
	}
	for i := range small.Faults {
		if less, ok := UnderSomeSeed(withoutFaults(small, i, 1), fails); ok {
			t.Errorf("left was\n%sbut this is less:\n%s", small, less)
		}
		for _, f := range Simpler(small.Faults[i], nemesistest.Names) {
			if q := withFault(small, i, f); q.Validate(nemesistest.Names) == nil && fails(q) &&
				Often(q, fails) >= Often(small, fails) {
				t.Errorf("left was\n%sbut this is simpler:\n%s", small, q)
			}
		}
	}
}

// TestShrinkLeavesNothingThatCanBeSimpler checks that the result of Shrink cannot be simplified any further. A plan may
// break reply 1, reply 2 or no reply from each of two servers, so there are nine plans. The test tries every set of
// failing plans that contains the largest plan.
func TestShrinkLeavesNothingThatCanBeSimpler(t *testing.T) {
	reply := func(server sim.ProcessID, n int) nemesis.Fault {
		return nemesis.Fault{Kind: nemesis.Break, Target: "client-1", Peer: server, Number: n}
	}
	largest := nemesis.Plan{Scenario: "a", Seed: 1, Faults: []nemesis.Fault{reply("etcd-1", 2), reply("redis-1", 2)}}
	place := func(p nemesis.Plan) uint { // 0 to 8
		n := uint(0)
		for _, f := range p.Faults {
			if f.Peer == "redis-1" {
				n += 3 * uint(f.Number)
			} else {
				n += uint(f.Number)
			}
		}
		return n
	}
	for failing := uint(1 << 8); failing < 1<<9; failing++ {
		fails := func(p nemesis.Plan) bool { return failing>>place(p)&1 == 1 }
		small := Shrink(largest, nemesistest.Names, fails)
		checkMinimal(t, small, fails)
		if monotone := failing&0b111111110 == 0b111111110; monotone && len(small.Faults) > 1 {
			t.Errorf("%b: %s", failing, small)
		}
	}
}

// TestShrinkComesToAnEndWhateverFails checks Shrink with plans that fail at random, independently of each other. The
// plans have up to five random faults. They fail rarely for some seeds and often for others.
func TestShrinkComesToAnEndWhateverFails(t *testing.T) {
	g := newGenerator(t, nil)
	for draw := range uint64(30) {
		plan := nemesis.Plan{Scenario: "a", Seed: draw, Faults: g.Draw(draw)}
		known := map[string]bool{plan.String(): true}
		fails := func(p nemesis.Plan) bool {
			text := p.String()
			failed, ok := known[text]
			if !ok {
				h := fnv.New64a()
				h.Write([]byte(text))
				failed = coin(h.Sum64())%(2+draw*4) == 0
				known[text] = failed
			}
			return failed
		}
		small := Shrink(plan, nemesistest.Names, fails)
		checkMinimal(t, small, fails)
		if again := Shrink(small, nemesistest.Names, fails); !reflect.DeepEqual(again, small) {
			t.Errorf("shrunk once more,\n%sbecame\n%s", small, again)
		}
	}
}

// TestShrinkFindsTheShortestPlan checks that Shrink returns only a pause if the plan fails whenever the lock's holder
// is paused for longer than its lease, and the other faults have no effect.
func TestShrinkFindsTheShortestPlan(t *testing.T) {
	plan := nemesis.Plan{Scenario: "a", Seed: 12345}
	for _, line := range []string{
		"crash redis-3 losing everything at 734ms, restart after 2.861s",
		"pause client-2 for 13.377s after the 2nd acquired by client-1",
		"cut redis-1 redis-2 -> client-3 at 5.117s for 1.229s",
		"drift redis-2 clock by +31000ppm from 91ms for 8.4s",
	} {
		plan.Faults = append(plan.Faults, mustParse(t, line))
	}
	small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
		for _, f := range p.Faults {
			early := f.Trigger.Point == sim.Acquired || f.Trigger.Point == sim.BeforeWrite
			if f.Kind == nemesis.Pause && f.For > 9800*time.Millisecond && early {
				return true
			}
		}
		return false
	})
	if want := "scenario a\nseed 1\npause client-1 for 10s after acquired\n"; small.String() != want {
		t.Errorf("got\n%swant\n%s", small, want)
	}
}

// TestShrinkDoesNotMakeAFailureRarer checks that Shrink returns a pause of 20s, which fails under every seed, rather
// than one of 10s, which fails only under one seed.
func TestShrinkDoesNotMakeAFailureRarer(t *testing.T) {
	plan := nemesis.Plan{Scenario: "a", Seed: 1, Faults: []nemesis.Fault{
		mustParse(t, "pause client-1 for 14.5s after acquired")}}
	small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
		if len(p.Faults) != 1 || p.Faults[0].Trigger.Point == "" {
			return false
		}
		length := p.Faults[0].For
		return length >= 11*time.Second || length >= 10*time.Second && p.Seed == 1
	})
	if want := "scenario a\nseed 1\npause client-1 for 20s after acquired\n"; small.String() != want {
		t.Errorf("got\n%swant\n%s", small, want)
	}
}

// TestShrinkFindsOneFaultInPlaceOfTwo checks that Shrink replaces two faults with one. The plan fails with a small jump
// and a crash, or with a large jump alone. Neither the small jump nor the crash can be removed, but the large jump can
// replace both.
func TestShrinkFindsOneFaultInPlaceOfTwo(t *testing.T) {
	plan := nemesis.Plan{Scenario: "a", Seed: 1, Faults: []nemesis.Fault{
		mustParse(t, "jump redis-1 clock by +1.3s after acquired by client-1"),
		mustParse(t, "crash client-1 after acquired")}}
	small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
		jump, crash := time.Duration(0), false
		for _, f := range p.Faults {
			jump, crash = max(jump, f.By), crash || f.Kind == nemesis.Crash
		}
		return jump >= 10*time.Second || jump >= time.Second && crash
	})
	if want := "scenario a\nseed 1\njump redis-1 clock by +10s at 0s\n"; small.String() != want {
		t.Errorf("got\n%swant\n%s", small, want)
	}
}

// TestShrinkTidiesUp checks that Shrink gives a client that is named in two faults, a crash and a cut, the lowest
// possible number, and that it sorts the faults.
func TestShrinkTidiesUp(t *testing.T) {
	plan := nemesis.Plan{Scenario: "a", Seed: 1, Faults: []nemesis.Fault{
		mustParse(t, "crash client-3 after acquired"), mustParse(t, "cut client-3 | redis-2 redis-4 at 1.5s")}}
	small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
		var crash, cut nemesis.Fault
		for _, f := range p.Faults {
			if f.Kind == nemesis.Crash {
				crash = f
			} else {
				cut = f
			}
		}
		return crash.Trigger.Point == sim.Acquired && len(cut.Left) > 0 && cut.Left[0] == crash.Target
	})
	want := "scenario a\nseed 1\ncut client-1 | redis-1 at 0s\ncrash client-1 after acquired\n"
	if small.String() != want {
		t.Errorf("got\n%swant\n%s", small, want)
	}
}

// TestShrinkNamesTheFirstLock checks that Shrink replaces a lock that several faults name by the run's first lock. The
// plan fails only if both faults name the same lock, so the lock of one fault alone cannot be replaced.
func TestShrinkNamesTheFirstLock(t *testing.T) {
	plan := nemesis.Plan{Scenario: "a", Seed: 1, Faults: []nemesis.Fault{
		mustParse(t, "delete key of orders:1/a on redis-1 at 0s"),
		mustParse(t, "evict key of orders:1/a on redis-1 at 0s")}}
	small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
		return len(p.Faults) == 2 && p.Faults[0].Kind != p.Faults[1].Kind && p.Faults[0].Lock == p.Faults[1].Lock
	})
	want := "scenario a\nseed 1\ndelete key of lock on redis-1 at 0s\nevict key of lock on redis-1 at 0s\n"
	if small.String() != want {
		t.Errorf("got\n%swant\n%s", small, want)
	}
}

// TestShrinkStopsWhenNothingMoreIsTried checks that Shrink returns the smallest plan known to fail if the search has
// used up its runs. The callback then reports that no plan fails.
func TestShrinkStopsWhenNothingMoreIsTried(t *testing.T) {
	g := newGenerator(t, func(m *draw.Mix) { m.Fewest, m.Most = 6, 6 })
	plan := nemesis.Plan{Scenario: "a", Seed: 50, Faults: g.Draw(50)}
	worst := len(plan.Faults)
	for budget := 0; budget < 400; budget += 9 {
		asked, failed := 0, map[string]bool{plan.String(): true}
		small := Shrink(plan, nemesistest.Names, func(p nemesis.Plan) bool {
			if asked++; asked > budget {
				return false
			}
			fails := len(p.Faults) > 0 && p.Faults[0].Kind == plan.Faults[0].Kind
			if fails {
				failed[p.String()] = true
			}
			return fails
		})
		if !failed[small.String()] {
			t.Fatalf("after %d questions it is left with what was never known to fail:\n%s", budget, small)
		}
		if asked > budget+2000 {
			t.Errorf("after %d answers it went on to ask %d more", budget, asked-budget)
		}
		worst = min(worst, len(small.Faults))
	}
	if worst != 1 {
		t.Errorf("never fewer than %d faults", worst)
	}
}
