package testkit

import (
	"fmt"
	"slices"
	"testing"
)

// environments sets the environment for each of the three test sizes.
var environments = []struct {
	name, ci, full string
	thorough       bool
}{{"every day", "", "", false}, {"continuous integration", "true", "", true}, {"full run", "", "1", true}}

// TestSamplesOfSeveralTestsAreEverything checks that a test always picks the same part of a list, that this part has
// the right size, and that several tests together cover the whole list.
func TestSamplesOfSeveralTestsAreEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("-short asks for the everyday size, whatever the environment says")
	}
	var list []int
	for i := range 25 {
		list = append(list, i)
	}
	for i, e := range environments {
		t.Setenv("CI", e.ci)
		t.Setenv("FENCEPOST_FULL", e.full)
		nth := []int{12, 3, 1}[i]
		var tried []int
		for k := range nth {
			t.Run(string(rune('a'+k)), func(t *testing.T) {
				some := Sample(t, list)
				if least := len(list) / nth; len(some) < least || len(some) > least+1 ||
					!slices.Equal(some, Sample(t, list)) {
					t.Errorf("%s: %v of %v", e.name, some, list)
				}
				tried = append(tried, some...)
			})
		}
		slices.Sort(tried)
		if !slices.Equal(slices.Compact(tried), list) {
			t.Errorf("%s: the tests try %v of %v", e.name, tried, list)
		}
		if one := Sample(t, list[:1]); len(one) != 1 {
			t.Errorf("%s: %v of one element", e.name, one)
		}
		if none := Sample(t, list[:0]); len(none) != 0 {
			t.Errorf("%s: %v of nothing", e.name, none)
		}
		if got := Size(12, 3, 1); got != nth {
			t.Errorf("%s: the size is %d, not %d", e.name, got, nth)
		}
	}
}

// TestOneOfSeveralSubtestsIsTriedEveryDay counts how many subtests run at each test size.
func TestOneOfSeveralSubtestsIsTriedEveryDay(t *testing.T) {
	if testing.Short() {
		t.Skip("-short asks for the everyday size, whatever the environment says")
	}
	const all = 200
	for _, e := range environments {
		t.Setenv("CI", e.ci)
		t.Setenv("FENCEPOST_FULL", e.full)
		tried := 0
		for i := range all {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				OneIn(t, 4)
				tried++
			})
		}
		if e.thorough && tried != all || !e.thorough && (tried < all/8 || tried > all/2) {
			t.Errorf("%s: %d of %d subtests are tried", e.name, tried, all)
		}
	}
}
