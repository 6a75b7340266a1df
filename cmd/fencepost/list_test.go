package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAMisspelledPatternGetsOneThatFinds takes words that "fencepost list" can find, and leaves out a letter or swaps
// two. If the misspelled word matches nothing, the word that is suggested instead must match something. The test tries
// every 200th word; in a full run (see testkit.Full), every fourth.
func TestAMisspelledPatternGetsOneThatFinds(t *testing.T) {
	words := slices.Compact(slices.Sorted(slices.Values(searched())))
	wrong, slips := 0, 0
	step := testkit.Size(800, 200, 4)
	for i, word := range words {
		if len(word) < 5 || len(word) > 20 || i%step > 0 {
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
