package testkit

import (
	"slices"
	"testing"
)

// TestSamplesOfSeveralTestsAreEverything checks that each test always picks the same third of a list, and that several
// tests together cover the whole list. In a full run, each test covers all of it.
func TestSamplesOfSeveralTestsAreEverything(t *testing.T) {
	list := []string{"a", "b", "c", "d", "e", "f", "g"}
	var tried []string
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			some := Sample(t, list)
			if want := len(list) / 3; !Full() && (len(some) < want || len(some) > want+1) ||
				!slices.Equal(some, Sample(t, list)) {
				t.Errorf("%q of %q", some, list)
			}
			tried = append(tried, some...)
		})
	}
	slices.Sort(tried)
	if !slices.Equal(slices.Compact(tried), list) {
		t.Errorf("the tests try %q of %q", tried, list)
	}
}
