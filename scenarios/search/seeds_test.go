package search

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// few lists the seeds that the tests build sets from. It includes the highest possible seeds.
var few = []uint64{0, 1, 2, 3, 4, 5, math.MaxUint64 - 2, math.MaxUint64 - 1, math.MaxUint64}

// rangesOf returns the set that contains few[i] for each bit i that is set in bits.
func rangesOf(bits int) (r Ranges) {
	for i, seed := range few {
		if bits&(1<<i) == 0 {
			continue
		}
		if last := len(r) - 1; last >= 0 && seed > 0 && r[last].Last == seed-1 {
			r[last].Last = seed
		} else {
			r = append(r, Range{seed, seed})
		}
	}
	return r
}

// Operations on seed sets give the same results as the same operations on bit sets.
func TestSetsOfSeedsAreSets(t *testing.T) {
	everything := Range{0, math.MaxUint64}
	for a := range 1 << len(few) {
		if r := rangesOf(a); !r.consistent(everything) {
			t.Fatalf("%v is no set", r)
		}
		for b := a % testkit.Size(5, 1, 1); b < 1<<len(few); b += testkit.Size(5, 1, 1) {
			x, y := rangesOf(a), rangesOf(b)
			if got := x.without(y); !slices.Equal(got, rangesOf(a&^b)) {
				t.Fatalf("%v without %v is %v", x, y, got)
			}
			if got := x.common(y); !slices.Equal(got, rangesOf(a&b)) {
				t.Fatalf("%v in %v is %v", x, y, got)
			}
			if got := slices.Clone(x).union(y); !slices.Equal(got, rangesOf(a|b)) {
				t.Fatalf("%v with %v is %v", x, y, got)
			}
		}
	}
}

// The portions of a set, in order, add up to the set.
func TestPortionsAreTheSet(t *testing.T) {
	for bits := range 1 << len(few) {
		r := rangesOf(bits)
		for size := uint64(1); size < 5; size++ {
			var got Ranges
			for i := range r.portions(size) {
				p := r.portion(i, size)
				if p.First > p.Last || p.Last-p.First >= size || len(got) > 0 && got[len(got)-1].Last >= p.First {
					t.Fatalf("portion %d of %v is %v, after %v", i, r, p, got)
				}
				got = got.union(Ranges{p})
			}
			if !slices.Equal(got, r) {
				t.Fatalf("portions of %v are %v", r, got)
			}
		}
	}
}

func TestSeedsAreNamed(t *testing.T) {
	for want, r := range map[string]Ranges{
		"7":                               {{7, 7}},
		"51–70 and 301–500":               {{51, 70}, {301, 500}},
		"1, 3 and 5":                      {{1, 1}, {3, 3}, {5, 5}},
		"0, 2, 4, 6, 8 and 2 more ranges": {{0, 0}, {2, 2}, {4, 4}, {6, 6}, {8, 8}, {10, 10}, {12, 12}},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Ranges that are not in ascending order, or that have no gap between them, are reported as inconsistent.
func TestWhatIsNoSetIsInconsistent(t *testing.T) {
	for _, r := range []Ranges{{{2, 1}}, {{1, 2}, {2, 3}}, {{1, 2}, {3, 4}}, {{5, 6}, {1, 2}}, {{0, 3}}, {{3, 11}}} {
		if r.consistent(Range{1, 10}) {
			t.Errorf("%v is taken for a set", r)
		}
	}
}

// Merging parts of an exploration, in any order and grouping, gives the same result as the whole exploration.
func TestSpansMergeInAnyOrderAndGrouping(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	const from, seeds = 5, 120
	want := explored(t, s, from, seeds, Whole, 1)
	name := func(int) string { return "a part" }
	for seed := range uint64(testkit.Size(2, 8, 8)) {
		random := rand.New(rand.NewPCG(seed, 0))
		var parts []*Result
		for at := uint64(from); at < from+seeds; {
			n := min(1+random.Uint64N(40), from+seeds-at)
			parts = append(parts, explored(t, s, at, int(n), Whole, 1))
			at += n
		}
		for len(parts) > 1 {
			random.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
			n := 1 + random.IntN(len(parts))
			one, err := Merge(parts[:n], name)
			if err != nil {
				t.Fatal(err)
			}
			line, err := one.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if one, err = Decode(line); err != nil {
				t.Fatal(err)
			}
			parts = append(parts[n:], one)
		}
		if !reflect.DeepEqual(parts[0], want) {
			t.Fatalf("%+v\nwant %+v", parts[0], want)
		}
	}
}

// Seeds that were not run are reported as missing, even if they lie between seeds that were. They can be run later.
func TestAGapIsAGap(t *testing.T) {
	s := named(t, "kleppmann-gc-pause")
	name := func(int) string { return "a part" }
	got, err := Merge([]*Result{explored(t, s, 71, 30, Whole, 1), explored(t, s, 1, 50, Whole, 1)},
		name)
	if err != nil {
		t.Fatal(err)
	}
	standing, open := got.Standing(s)
	if want := "80 of 100 seeds were run; missing: 51–70"; got.Finished() || !slices.Contains(open, want) {
		t.Errorf("finished: %v, %s, %q; want %q", got.Finished(), standing, open, want)
	}
	if err := got.Run(t.Context(), s, 2, nil); err != nil {
		t.Fatal(err)
	}
	if want := explored(t, s, 1, 100, Whole, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
