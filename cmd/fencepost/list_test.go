package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAMisspelledPatternGetsOneThatFinds checks that if a misspelled word does not match anything, the word that is
// suggested instead does. It takes words that "fencepost list" can find, and leaves out a letter or swaps two. The test
// tries a sample of the words, which is larger in continuous integration and in a full run.
func TestAMisspelledPatternGetsOneThatFinds(t *testing.T) {
	all, err := catalog()
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Compact(slices.Sorted(slices.Values(searched(all))))
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 5 || len(w) > 20 })
	wrong, slips := 0, 0
	step := testkit.Size(500, 50, 4)
	for i, word := range words {
		if i%step > 0 {
			continue
		}
		for _, slip := range []string{word[:2] + word[3:], word[:2] + word[3:4] + word[2:3] + word[4:]} {
			slips++
			if _, err := sectionsLike([]string{slip}); err == nil {
				continue
			} else if _, offered, _ := strings.Cut(err.Error(), "did you mean \""); offered == "" {
				t.Errorf("%s: %v", word, err)
			} else if _, err := sectionsLike([]string{strings.TrimSuffix(offered, "\"?)")}); err != nil {
				t.Errorf("%s for %s: %v", offered, slip, err)
			}
			wrong++
		}
	}
	t.Logf("%d of %d slips match nothing", wrong, slips)
	if wrong == 0 || 2*wrong < slips {
		t.Errorf("only %d of %d slips match nothing", wrong, slips)
	}
}
