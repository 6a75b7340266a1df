package draw

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
	"github.com/fencepost-sim/fencepost/sim"
)

func newGenerator(t testing.TB, change func(*Mix)) *Generator {
	t.Helper()
	mix := Default()
	if change != nil {
		change(&mix)
	}
	g, err := NewGenerator(mix, nemesistest.Names, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTenThousandDrawnFaultsArePossiblePrintAndParseBack(t *testing.T) {
	g := newGenerator(t, nil)
	kinds, forms := map[nemesis.Kind]int{}, map[string]int{}
	drawn := 0
	for seed := uint64(0); drawn < 10_000; seed++ {
		plan := nemesis.Plan{Scenario: "a", Seed: seed, Faults: g.Draw(seed)}
		if n := len(plan.Faults); n < g.mix.Fewest || n > g.mix.Most {
			t.Fatalf("seed %d: %d faults", seed, n)
		}
		if err := plan.Validate(nemesistest.Names); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := nemesis.ParsePlan("p", []byte(plan.String())); err != nil || !reflect.DeepEqual(again, plan) {
			t.Fatalf("seed %d: %s parsed back as %+v, %v", seed, plan, again, err)
		}
		for _, f := range plan.Faults {
			drawn++
			kinds[f.Kind]++
			for _, word := range []string{"after ", "the 2nd ", "the 3rd ", " by client-", " -> ", " | ",
				"losing everything", "losing unsynced", "restart", "by -", "by +", "resource", "replica", "etcd"} {
				if strings.Contains(f.String(), word) {
					forms[word]++
				}
			}
		}
	}
	sum := 0
	for _, k := range nemesis.Kinds {
		sum += g.mix.Weights[k]
	}
	for _, k := range nemesis.Kinds {
		if want := drawn * g.mix.Weights[k] / sum; math.Abs(float64(kinds[k]-want)) > 5*math.Sqrt(float64(want)) {
			t.Errorf("%q drawn %d times, expected about %d", k, kinds[k], want)
		}
	}
	if len(forms) != 14 {
		t.Errorf("some forms never drawn: %v", forms)
	}
}

func TestDrawnValuesAreReadableAndWithinTheMix(t *testing.T) {
	g := newGenerator(t, nil)
	within := func(f nemesis.Fault, name string, d time.Duration, s Span) {
		if d = max(d, -d); d%time.Millisecond != 0 || d < s.Min || d > s.Max {
			t.Errorf("%v: %s %v is not whole milliseconds from %v to %v", f, name, d, s.Min, s.Max)
		}
	}
	for seed := range uint64(3000) {
		for _, f := range g.Draw(seed) {
			within(f, "time", f.Trigger.Time, Span{0, time.Minute - time.Millisecond})
			switch f.Kind {
			case nemesis.Pause:
				within(f, "pause", f.For, g.mix.Pause)
			case nemesis.Jump:
				within(f, "jump", f.By, g.mix.Jump)
			case nemesis.DelayLink, nemesis.DelayMessage:
				within(f, "delay", f.By, g.mix.Delay)
			case nemesis.SlowFsync:
				within(f, "fsync", f.By, g.mix.Fsync)
			}
			if f.For != 0 && f.Kind != nemesis.Pause {
				within(f, "outage", f.For, g.mix.Outage)
			}
			if f.Restart != 0 {
				within(f, "downtime", f.Restart, g.mix.Downtime)
			}
			if f.Number > g.mix.Messages || f.Trigger.Pass > g.mix.Passes || max(f.PPM, -f.PPM) > g.mix.PPM {
				t.Errorf("%v: number, pass or rate out of the mix", f)
			}
		}
	}
}

// TestEqualSeedsDrawEqualFaults checks that the same seed always draws the same faults. It also compares a digest of
// all draws with a known one. If the digest changes, saved seeds no longer reproduce the failures that they were saved
// for.
func TestEqualSeedsDrawEqualFaults(t *testing.T) {
	g := newGenerator(t, nil)
	digest, different := fnv.New64a(), map[string]bool{}
	for seed := range uint64(1000) {
		first := fmt.Sprint(g.Draw(seed))
		g.Draw(seed + 7) // another draw in between must not change the result
		again := newGenerator(t, nil).Draw(seed)
		if fmt.Sprint(again) != first || fmt.Sprint(g.Draw(seed)) != first {
			t.Fatalf("seed %d: drew %s, then %v", seed, first, again)
		}
		digest.Write([]byte(first))
		different[first] = true
	}
	if len(different) < 995 {
		t.Errorf("1000 seeds drew %d different plans", len(different))
	}
	testkit.Golden(t, "testdata/draws.txt", fmt.Sprintf("%016x\n", digest.Sum64()))
}

func TestEqualBytesDrawEqualFaults(t *testing.T) {
	g, different := newGenerator(t, nil), map[string]bool{}
	data := make([]byte, 256)
	for i := range data {
		data[i] = byte(i * 37)
	}
	for i := range data {
		data[i] ^= 0x55
		first := fmt.Sprint(g.DrawBytes(data))
		if again := fmt.Sprint(g.DrawBytes(slices.Clone(data))); again != first {
			t.Fatalf("drew %s, then %s", first, again)
		}
		different[first] = true
	}
	if len(different) < 30 {
		t.Errorf("256 changes of one byte drew %d different plans", len(different))
	}
}

func TestOnlyWhatTheRunCanSufferIsDrawn(t *testing.T) {
	redis := nemesis.Names{Clients: []sim.ProcessID{"client-1"}, Redis: []sim.ProcessID{"redis-1"}}
	cluster := nemesis.Names{Clients: redis.Clients, Consensus: []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"},
		Sessions: true}
	for _, test := range []struct {
		name  string
		names nemesis.Names
		never []nemesis.Kind
	}{
		{"one Redis node", redis, []nemesis.Kind{nemesis.FailOver, nemesis.ExpireSession}},
		{"a cluster", cluster, []nemesis.Kind{nemesis.FailOver, nemesis.SlowFsync}},
		{"servers without clients", nemesis.Names{Redis: []sim.ProcessID{"redis-1", "redis-2"}},
			[]nemesis.Kind{nemesis.FailOver, nemesis.Cut, nemesis.DelayLink, nemesis.DelayMessage, nemesis.Break,
				nemesis.ExpireSession}},
	} {
		g, err := NewGenerator(Default(), test.names, time.Second)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		seen := map[nemesis.Kind]bool{}
		for seed := range uint64(1000) {
			for _, f := range g.Draw(seed) {
				seen[f.Kind] = true
				if err := nemesis.Validate(f, test.names); err != nil {
					t.Fatalf("%s: %v: %v", test.name, f, err)
				}
			}
		}
		for _, k := range nemesis.Kinds {
			never := slices.Contains(test.never, k) || k.Weight() == 0
			if seen[k] == never {
				t.Errorf("%s: %q drawn: %v", test.name, k, seen[k])
			}
		}
	}
}

func TestMixIsObeyedAtItsEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Mix)
		right  func(nemesis.Fault) bool
	}{
		{"always a time", func(m *Mix) { m.AtPoint = 0 }, func(f nemesis.Fault) bool { return f.Trigger.Point == "" }},
		{"always a point", func(m *Mix) { m.AtPoint = 100 },
			func(f nemesis.Fault) bool { return !f.Kind.Has(nemesis.FieldTrigger) || f.Trigger.Point != "" }},
		{"no points", func(m *Mix) { m.AtPoint, m.Points = 100, nil },
			func(f nemesis.Fault) bool { return f.Trigger.Point == "" }},
		{"one point, once", func(m *Mix) { m.AtPoint, m.Points, m.Passes = 100, []sim.Point{sim.BeforeWrite}, 1 },
			func(f nemesis.Fault) bool {
				return !f.Kind.Has(nemesis.FieldTrigger) || f.Trigger.Point == sim.BeforeWrite && f.Trigger.Pass == 1
			}},
		{"everything ends", func(m *Mix) { m.Forever = 0 },
			func(f nemesis.Fault) bool {
				return (f.Kind != nemesis.Cut && f.Kind != nemesis.Drift || f.For > 0) &&
					(f.Kind != nemesis.Crash && f.Kind != nemesis.ShutDown || f.Restart > 0 ||
						nemesis.IsClient(f.Target))
			}},
		{"nothing ends", func(m *Mix) { m.Forever = 100 },
			func(f nemesis.Fault) bool {
				return (f.Kind != nemesis.Cut && f.Kind != nemesis.Drift || f.For == 0) && f.Restart == 0
			}},
		{"one length", func(m *Mix) { m.Pause = Span{7 * time.Second, 7 * time.Second} },
			func(f nemesis.Fault) bool { return f.Kind != nemesis.Pause || f.For == 7*time.Second }},
		{"pauses only", func(m *Mix) { m.Weights = weightsOf(nemesis.Pause) },
			func(f nemesis.Fault) bool { return f.Kind == nemesis.Pause }},
	} {
		g := newGenerator(t, test.change)
		for seed := range uint64(500) {
			for _, f := range g.Draw(seed) {
				if !test.right(f) {
					t.Fatalf("%s: drew %v", test.name, f)
				}
			}
		}
	}
}

func TestManyStrongDriftsLeaveClocksGoingForward(t *testing.T) {
	g := newGenerator(t, func(m *Mix) {
		m.Weights, m.PPM, m.Fewest, m.Most = weightsOf(nemesis.Drift), nemesis.MaxPPM, 20, 20
	})
	for seed := range uint64(200) {
		if err := (nemesis.Plan{Scenario: "a", Faults: g.Draw(seed)}).Validate(nemesistest.Names); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDurationsOfEveryOrderOfMagnitudeAreDrawn(t *testing.T) {
	g := newGenerator(t, func(m *Mix) {
		m.Weights, m.Pause = weightsOf(nemesis.Pause), Span{time.Millisecond, 16*time.Second + 383*time.Millisecond}
	})
	doublings := map[int]int{}
	for seed := range uint64(3000) {
		for _, f := range g.Draw(seed) {
			doublings[int(math.Log2(float64(f.For/time.Millisecond)))]++
		}
	}
	all := 0
	for _, n := range doublings {
		all += n
	}
	if all < 3000 {
		t.Fatalf("only %d pauses were drawn", all)
	}
	for i := range 14 { // the expected distribution: the larger of two uniform draws
		want := float64(all*(2*i+1)) / (14 * 14)
		if got := float64(doublings[i]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%g pauses of %v and less than double, expected about %g", got, time.Millisecond<<i, want)
		}
	}
}

func TestWrongMixesAreRefused(t *testing.T) {
	const sec = time.Second
	for want, change := range map[string]func(*Mix){
		`mix: the weight of "cut" is -1; it must be between 0 and 1000000`: func(m *Mix) { m.Weights[nemesis.Cut] = -1 },
		`mix: there is a weight for kind 0, which does not exist`:          func(m *Mix) { m.Weights[0] = 1 },
		`mix: Fewest is -1; it must be between 0 and 1000`:                 func(m *Mix) { m.Fewest = -1 },
		`mix: Most is 2; it must be between 3 and 1000`:                    func(m *Mix) { m.Fewest, m.Most = 3, 2 },
		`mix: PPM is 500001; it must be between 1 and 500000`:              func(m *Mix) { m.PPM = 500_001 },
		`mix: Forever is 101; it must be between 0 and 100`:                func(m *Mix) { m.Forever = 101 },
		`mix: AtPoint is -1; it must be between 0 and 100`:                 func(m *Mix) { m.AtPoint = -1 },
		`mix: Messages is 0; it must be between 1 and 1000000`:             func(m *Mix) { m.Messages = 0 },
		`mix: Passes is 0; it must be between 1 and 1000000`:               func(m *Mix) { m.Passes = 0 },
		`mix: Pause is 1µs to 1s, not a range from 1ms to 24h`: func(m *Mix) {
			m.Pause = Span{time.Microsecond, sec}
		},
		`mix: Delay is 2s to 1s, not a range from 1ms to 24h`: func(m *Mix) { m.Delay = Span{2 * sec, sec} },
		`mix: Jump is 2s to 25h0m0s, not a range from 1ms to 24h`: func(m *Mix) {
			m.Jump = Span{2 * sec, 25 * time.Hour}
		},
		`mix: there is no point "lunch"`: func(m *Mix) { m.Points = []sim.Point{"lunch"} },
	} {
		mix := Default()
		change(&mix)
		if _, err := NewGenerator(mix, nemesistest.Names, time.Minute); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, horizon := range []time.Duration{0, time.Microsecond, nemesis.MaxDuration + 1} {
		if _, err := NewGenerator(Default(), nemesistest.Names, horizon); err == nil {
			t.Errorf("a horizon of %v is accepted", horizon)
		}
	}
	for _, ttl := range []time.Duration{-1, 0, 1, time.Second, 1000 * time.Hour} {
		if _, err := NewGenerator(For(ttl), nemesistest.Names, time.Minute); err != nil {
			t.Errorf("the mix for a TTL of %v: %v", ttl, err)
		}
	}
}

func TestSplitMixIsThePublishedGenerator(t *testing.T) {
	s := &splitMix{state: 1234567}
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
		16408922859458223821} {
		if got := s.Uint64(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// FuzzDrawBytes checks that faults drawn from arbitrary bytes are valid for the run.
func FuzzDrawBytes(f *testing.F) {
	g, err := NewGenerator(Default(), nemesistest.Names, time.Minute)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, fault := range g.DrawBytes(data) {
			if err := nemesis.Validate(fault, nemesistest.Names); err != nil {
				t.Fatalf("%v: %v", fault, err)
			}
		}
	})
}

// BenchmarkDraw measures how long it takes to draw one plan of five faults.
func BenchmarkDraw(b *testing.B) {
	five := func(m *Mix) { m.Fewest = 5 }
	b.Run("kept generator", func(b *testing.B) {
		g := newGenerator(b, five)
		b.ReportAllocs()
		for seed := uint64(0); b.Loop(); seed++ {
			g.Draw(seed)
		}
	})
	b.Run("new generator", func(b *testing.B) {
		b.ReportAllocs()
		for seed := uint64(0); b.Loop(); seed++ {
			newGenerator(b, five).Draw(seed)
		}
	})
	b.Run("bytes", func(b *testing.B) {
		g, data := newGenerator(b, five), make([]byte, 1024)
		b.ReportAllocs()
		for b.Loop() {
			g.DrawBytes(data)
		}
	})
}

// TestAMixAllowsWhatItDraws draws all kinds of faults with ranges that differ from the default and from each other. The
// mix must allow each fault.
func TestAMixAllowsWhatItDraws(t *testing.T) {
	g := newGenerator(t, func(m *Mix) {
		second := func(from, to time.Duration) Span { return Span{from * time.Second, to * time.Second} }
		m.Pause, m.Jump, m.Delay = second(1, 2), second(3, 4), second(5, 6)
		m.Fsync, m.Outage, m.Downtime = second(7, 8), second(9, 10), second(11, 12)
		for _, k := range nemesis.Kinds {
			m.Weights[k] = max(1, m.Weights[k])
		}
	})
	seen := map[nemesis.Kind]bool{}
	for seed := range uint64(2000) {
		for _, f := range g.Draw(seed) {
			if seen[f.Kind] = true; !g.Allows(f) {
				t.Fatalf("drew %v and does not allow it", f)
			}
		}
	}
	if !seen[nemesis.ClientPause] || len(seen) < 10 {
		t.Errorf("drew only %v", seen)
	}
}
