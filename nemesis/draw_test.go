package nemesis

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

func newGenerator(t testing.TB, change func(*Mix)) *Generator {
	t.Helper()
	mix := DefaultMix()
	if change != nil {
		change(&mix)
	}
	g, err := NewGenerator(mix, testNames, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTenThousandDrawnFaultsArePossiblePrintAndParseBack(t *testing.T) {
	g := newGenerator(t, nil)
	kinds, forms := map[Kind]int{}, map[string]int{}
	drawn := 0
	for seed := uint64(0); drawn < 10_000; seed++ {
		plan := Plan{Scenario: "a", Seed: seed, Faults: g.Draw(seed)}
		if n := len(plan.Faults); n < g.mix.Fewest || n > g.mix.Most {
			t.Fatalf("seed %d: %d faults", seed, n)
		}
		if err := plan.Validate(testNames); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := ParsePlan("p", []byte(plan.String())); err != nil || !reflect.DeepEqual(again, plan) {
			t.Fatalf("seed %d: %s parsed back as %+v, %v", seed, plan, again, err)
		}
		for _, f := range plan.Faults {
			drawn++
			kinds[f.Kind]++
			for _, word := range []string{"after ", "the 2nd ", "the 3rd ", " by client-", " -> ", " | ", "losing everything",
				"losing unsynced", "restart", "by -", "by +", "resource", "replica", "etcd"} {
				if strings.Contains(f.String(), word) {
					forms[word]++
				}
			}
		}
	}
	sum := 0
	for _, k := range Kinds {
		sum += g.mix.Weights[k]
	}
	for _, k := range Kinds {
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
	within := func(f Fault, name string, d time.Duration, s Span) {
		if d = max(d, -d); d%time.Millisecond != 0 || d < s.Min || d > s.Max {
			t.Errorf("%v: %s %v is not whole milliseconds from %v to %v", f, name, d, s.Min, s.Max)
		}
	}
	for seed := range uint64(3000) {
		for _, f := range g.Draw(seed) {
			within(f, "time", f.Trigger.Time, Span{0, time.Minute - time.Millisecond})
			switch f.Kind {
			case Pause:
				within(f, "pause", f.For, g.mix.Pause)
			case Jump:
				within(f, "jump", f.By, g.mix.Jump)
			case DelayLink, DelayMessage:
				within(f, "delay", f.By, g.mix.Delay)
			case SlowFsync:
				within(f, "fsync", f.By, g.mix.Fsync)
			}
			if f.For != 0 && f.Kind != Pause {
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

// TestEqualSeedsDrawEqualFaults also pins the draw: a changed digest means that saved seeds no longer show what they showed.
func TestEqualSeedsDrawEqualFaults(t *testing.T) {
	g := newGenerator(t, nil)
	digest, different := fnv.New64a(), map[string]bool{}
	for seed := range uint64(1000) {
		first := fmt.Sprint(g.Draw(seed))
		g.Draw(seed + 7) // another draw in between changes nothing
		again, err := Draw(DefaultMix(), testNames, time.Minute, seed)
		if err != nil || fmt.Sprint(again) != first || fmt.Sprint(g.Draw(seed)) != first {
			t.Fatalf("seed %d: drew %s, then %v, %v", seed, first, again, err)
		}
		digest.Write([]byte(first))
		different[first] = true
	}
	if len(different) < 995 {
		t.Errorf("1000 seeds drew %d different plans", len(different))
	}
	if got, want := fmt.Sprintf("%016x", digest.Sum64()), "3f142ade0b012ba8"; got != want {
		t.Errorf("digest of the first 1000 draws is %s, was %s", got, want)
	}
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
	redis := Names{Clients: ids("client-1"), Redis: ids("redis-1")}
	for _, test := range []struct {
		name  string
		names Names
		never []Kind
	}{
		{"one Redis node", redis, []Kind{FailOver, ExpireSession}},
		{"a cluster", Names{Clients: ids("client-1"), Consensus: ids("etcd-1 etcd-2 etcd-3")}, []Kind{FailOver, SlowFsync}},
		{"servers without clients", Names{Redis: ids("redis-1 redis-2")},
			[]Kind{FailOver, Cut, DelayLink, DelayMessage, Break, ExpireSession}},
	} {
		g, err := NewGenerator(DefaultMix(), test.names, time.Second)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		seen := map[Kind]bool{}
		for seed := range uint64(1000) {
			for _, f := range g.Draw(seed) {
				seen[f.Kind] = true
				if err := Validate(f, test.names); err != nil {
					t.Fatalf("%s: %v: %v", test.name, f, err)
				}
			}
		}
		for _, k := range Kinds {
			if never := slices.Contains(test.never, k); seen[k] == never {
				t.Errorf("%s: %q drawn: %v", test.name, k, seen[k])
			}
		}
	}
}

func TestMixIsObeyedAtItsEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Mix)
		right  func(Fault) bool
	}{
		{"always a time", func(m *Mix) { m.AtPoint = 0 }, func(f Fault) bool { return f.Trigger.Point == "" }},
		{"always a point", func(m *Mix) { m.AtPoint = 100 },
			func(f Fault) bool { return !f.Kind.HasTrigger() || f.Trigger.Point != "" }},
		{"no points", func(m *Mix) { m.AtPoint, m.Points = 100, nil }, func(f Fault) bool { return f.Trigger.Point == "" }},
		{"one point, once", func(m *Mix) { m.AtPoint, m.Points, m.Passes = 100, []sim.Point{sim.BeforeWrite}, 1 },
			func(f Fault) bool {
				return !f.Kind.HasTrigger() || f.Trigger.Point == sim.BeforeWrite && f.Trigger.Pass == 1
			}},
		{"everything ends", func(m *Mix) { m.Forever = 0 },
			func(f Fault) bool {
				return (f.Kind != Cut && f.Kind != Drift || f.For > 0) && (f.Kind != Crash && f.Kind != ShutDown || f.Restart > 0 || IsClient(f.Target))
			}},
		{"nothing ends", func(m *Mix) { m.Forever = 100 },
			func(f Fault) bool { return (f.Kind != Cut && f.Kind != Drift || f.For == 0) && f.Restart == 0 }},
		{"one length", func(m *Mix) { m.Pause = Span{7 * time.Second, 7 * time.Second} },
			func(f Fault) bool { return f.Kind != Pause || f.For == 7*time.Second }},
		{"pauses only", func(m *Mix) { m.Weights = Weights{Pause: 1} }, func(f Fault) bool { return f.Kind == Pause }},
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
		m.Weights, m.PPM, m.Fewest, m.Most = Weights{Drift: 1}, MaxPPM, 20, 20
	})
	for seed := range uint64(200) {
		if err := (Plan{Scenario: "a", Faults: g.Draw(seed)}).Validate(testNames); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDurationsOfEveryOrderOfMagnitudeAreDrawn(t *testing.T) {
	g := newGenerator(t, func(m *Mix) {
		m.Weights, m.Pause = Weights{Pause: 1}, Span{time.Millisecond, 16*time.Second + 383*time.Millisecond}
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
	for i := range 14 { // the larger of two even draws
		want := float64(all*(2*i+1)) / (14 * 14)
		if got := float64(doublings[i]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("%g pauses of %v and less than double, expected about %g", got, time.Millisecond<<i, want)
		}
	}
}

func TestWrongMixesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Mix){
		`mix: the weight of "cut" is -1, not from 0 to 1000000`:   func(m *Mix) { m.Weights[Cut] = -1 },
		`mix: a weight is set at 0, which is no kind`:             func(m *Mix) { m.Weights[0] = 1 },
		`mix: Fewest is -1, not from 0 to 1000`:                   func(m *Mix) { m.Fewest = -1 },
		`mix: Most is 2, not from 3 to 1000`:                      func(m *Mix) { m.Fewest, m.Most = 3, 2 },
		`mix: PPM is 500001, not from 1 to 500000`:                func(m *Mix) { m.PPM = 500_001 },
		`mix: Forever is 101, not from 0 to 100`:                  func(m *Mix) { m.Forever = 101 },
		`mix: AtPoint is -1, not from 0 to 100`:                   func(m *Mix) { m.AtPoint = -1 },
		`mix: Messages is 0, not from 1 to 1000000`:               func(m *Mix) { m.Messages = 0 },
		`mix: Passes is 0, not from 1 to 1000000`:                 func(m *Mix) { m.Passes = 0 },
		`mix: Pause is 1µs to 1s, not a range from 1ms to 24h`:    func(m *Mix) { m.Pause = Span{time.Microsecond, time.Second} },
		`mix: Delay is 2s to 1s, not a range from 1ms to 24h`:     func(m *Mix) { m.Delay = Span{2 * time.Second, time.Second} },
		`mix: Jump is 2s to 25h0m0s, not a range from 1ms to 24h`: func(m *Mix) { m.Jump = Span{2 * time.Second, 25 * time.Hour} },
		`mix: there is no point "lunch"`:                          func(m *Mix) { m.Points = []sim.Point{"lunch"} },
	} {
		mix := DefaultMix()
		change(&mix)
		if _, err := NewGenerator(mix, testNames, time.Minute); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, horizon := range []time.Duration{0, time.Microsecond, MaxDuration + 1} {
		if _, err := NewGenerator(DefaultMix(), testNames, horizon); err == nil {
			t.Errorf("a horizon of %v is accepted", horizon)
		}
	}
	for _, ttl := range []time.Duration{-1, 0, 1, time.Second, 1000 * time.Hour} {
		if _, err := NewGenerator(MixFor(ttl), testNames, time.Minute); err != nil {
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

func BenchmarkParse(b *testing.B) {
	for _, line := range []string{"pause client-1 for 15s after acquired",
		"crash redis-2 losing unsynced writes at 1.2s, restart after 500ms"} {
		b.Run(strings.Fields(line)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	f, err := Parse("crash redis-2 losing unsynced writes at 1.2s, restart after 500ms")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = f.String()
	}
}

// BenchmarkDraw draws plans of five faults; its time is that of a plan.
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
		mix := DefaultMix()
		five(&mix)
		b.ReportAllocs()
		for seed := uint64(0); b.Loop(); seed++ {
			if _, err := Draw(mix, testNames, time.Minute, seed); err != nil {
				b.Fatal(err)
			}
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
