package claims

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// asTheSame changes plans in a way that should not make a difference. It checks that effects, verdicts and causes stay
// the same.
func asTheSame(t *testing.T, relation string, few, many int,
	change func(r *rand.Rand, s *scenarios.Scenario, p nemesis.Plan) []nemesis.Plan) {
	t.Helper()
	tried := newTally(t, relation)
	for _, s := range subjects(t) {
		for i, p := range plansOf(t, s, plans(few, many)) {
			var before *outcome
			for _, q := range change(rand.New(rand.NewPCG(uint64(i), 7)), s, p) {
				if err := q.Validate(s.Targets()); err != nil {
					t.Fatalf("%s: %v\n%s", s.Name, err, q)
				}
				if before == nil {
					before = run(t, s, p)
				}
				after := run(t, s, q)
				tried.done()
				if !differ(t, s.Name, before, after, p, q) && laws(before.verdict, true) != laws(after.verdict, true) {
					t.Errorf("%s:\n%s\n%s\n%s%s", s.Name, laws(before.verdict, true), laws(after.verdict, true), p, q)
				}
			}
		}
	}
}

// splittable reports whether a fault can be replaced by two consecutive faults. A drift cannot be split: its rate would
// be set again in the middle, and whenever a rate is set, the clock is rounded to whole nanoseconds.
func splittable(f *nemesis.Fault) bool {
	return f.Trigger.Point == "" && !f.Trigger.Message.Named() && f.For > 1 && (f.Kind == nemesis.Cut ||
		f.Kind == nemesis.Pause || f.Kind == nemesis.DelayLink || f.Kind == nemesis.SlowFsync)
}

// If a fault is split into two halves, and the second half strikes when the first ends, the halves have the same effect
// as the whole.
func TestAFaultSplitInTimeActsAsTheWhole(t *testing.T) {
	asTheSame(t, "split in time", 6, 150,
		func(r *rand.Rand, s *scenarios.Scenario, p nemesis.Plan) (list []nemesis.Plan) {
			for i, f := range p.Faults {
				if !splittable(&f) {
					continue
				}
				first, second := f, f
				first.For = 1 + time.Duration(r.Int64N(int64(f.For-1)))
				second.Trigger.Time, second.For = f.Trigger.Time+first.For, f.For-first.For
				list = append(list, withFaults(p,
					slices.Concat(p.Faults[:i], []nemesis.Fault{first, second}, p.Faults[i+1:])...))
			}
			return list
		})
}

// A cut or a pause that strikes at the start, before anything else happens, can also be split without changing its
// effect.
func TestAFaultFromTheStartSplitInTimeActsAsTheWhole(t *testing.T) {
	tried := newTally(t, "split in time from 0s")
	for _, s := range subjects(t) {
		names := s.Targets()
		servers := slices.Concat(names.Redis, names.Consensus)
		for i := range plans(1, 12) {
			length := time.Duration(i+1) * 1500 * time.Millisecond
			for _, f := range []nemesis.Fault{
				{Kind: nemesis.Cut, Left: names.Clients[:1], Right: servers, For: length},
				{Kind: nemesis.Cut, Left: names.Clients[:1], Right: servers[:1], For: length, OneWay: true},
				{Kind: nemesis.Pause, Target: servers[0], For: length},
				{Kind: nemesis.Pause, Target: names.Clients[0], For: length},
			} {
				first, second := f, f
				first.For = length / 3
				second.Trigger.Time, second.For = first.For, length-first.For
				p := nemesis.Plan{Scenario: s.Name, Seed: uint64(i), Faults: []nemesis.Fault{f}}
				q := withFaults(p, first, second)
				before, after := run(t, s, p), run(t, s, q)
				tried.done()
				if !differ(t, s.Name, before, after, p, q) && laws(before.verdict, true) != laws(after.verdict, true) {
					t.Errorf("%s:\n%s\n%s\n%s%s", s.Name, laws(before.verdict, true), laws(after.verdict, true), p, q)
				}
			}
		}
	}
}

// parts divides a cut into one cut for each pair of processes that it separates. If oneWay is set, it returns one cut
// for each direction of each pair.
func parts(f nemesis.Fault, names nemesis.Names, oneWay bool) (list []nemesis.Fault) {
	for _, a := range f.Left {
		for _, b := range f.Right {
			g := f
			g.Left, g.Right = []sim.ProcessID{a}, []sim.ProcessID{b}
			if g.Trigger.Point != "" {
				g.Trigger.By = f.PassedBy()
			}
			if nemesis.Validate(g, names) != nil {
				continue
			}
			if !oneWay || f.OneWay {
				list = append(list, g)
				continue
			}
			back := g
			g.OneWay, back.OneWay, back.Left, back.Right = true, true, g.Right, g.Left
			list = append(list, g, back)
		}
	}
	return list
}

// A cut has the same effect as separate cuts between all of its pairs of processes, and each of these has the same
// effect as cuts in both directions.
func TestACutActsAsTheCutsOfItsPairsAndDirections(t *testing.T) {
	asTheSame(t, "pairs and directions of cuts", 6, 150,
		func(_ *rand.Rand, s *scenarios.Scenario, p nemesis.Plan) (list []nemesis.Plan) {
			for i, f := range p.Faults {
				if f.Kind != nemesis.Cut {
					continue
				}
				for _, oneWay := range []bool{false, true} {
					if q := parts(f, s.Targets(), oneWay); len(q) > 1 {
						list = append(list, withFaults(p, slices.Concat(p.Faults[:i], q, p.Faults[i+1:])...))
					}
				}
			}
			return list
		})
}

// A cut is the same whichever side is written first.
func TestTheSidesOfACutCanBeSwapped(t *testing.T) {
	asTheSame(t, "sides of cuts", 6, 150,
		func(_ *rand.Rand, _ *scenarios.Scenario, p nemesis.Plan) (list []nemesis.Plan) {
			for i, f := range p.Faults {
				if f.Kind != nemesis.Cut || f.OneWay {
					continue
				}
				g := f
				if g.Left, g.Right = f.Right, f.Left; g.Trigger.Point != "" {
					g.Trigger.By = f.PassedBy()
				}
				list = append(list, withFaults(p, slices.Concat(p.Faults[:i], []nemesis.Fault{g}, p.Faults[i+1:])...))
			}
			return list
		})
}

// The order of the lines in a plan matters only for faults that strike or end at the same instant.
func TestTheOrderOfLinesOfAPlanDoesNotMatter(t *testing.T) {
	asTheSame(t, "order of lines", 2, 60, func(r *rand.Rand, _ *scenarios.Scenario, p nemesis.Plan) []nemesis.Plan {
		if len(p.Faults) < 2 || coincide(p.Faults) {
			return nil
		}
		backwards, shuffled := slices.Clone(p.Faults), slices.Clone(p.Faults)
		slices.Reverse(backwards)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		return []nemesis.Plan{withFaults(p, backwards...), withFaults(p, shuffled...)}
	})
}

// coincide reports whether any two of the faults may strike or end at the same instant.
func coincide(faults []nemesis.Fault) bool {
	type moment struct {
		at time.Duration
		nemesis.Trigger
		by sim.ProcessID
	}
	seen := map[moment]bool{}
	for _, f := range faults {
		if !f.Kind.Has(nemesis.FieldTrigger) {
			continue
		}
		f.Trigger.SaidAt = false
		own := []moment{{f.Trigger.Time, f.Trigger, f.PassedBy()}}
		own[0].Trigger.By = ""
		if f.Trigger.Point == "" {
			own[0].Trigger = nemesis.Trigger{}
			for _, d := range []time.Duration{f.For, f.Restart, f.For + f.By} {
				if d > 0 {
					own = append(own, moment{at: f.Trigger.Time + d})
				}
			}
		}
		for _, m := range slices.Compact(own) {
			if seen[m] {
				return true
			}
			seen[m] = true
		}
	}
	return false
}
