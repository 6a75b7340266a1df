package checker

import (
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// TestWhatADelayCostIsWhatItsGoingSaves checks all sets of up to three small delays. For each delay, saved must return
// how much shorter the total delay is without it. Without the delays that enoughOf blames, the total must be shorter by
// at least as much as the client was late.
func TestWhatADelayCostIsWhatItsGoingSaves(t *testing.T) {
	var kinds []delay
	for from := range history.Time(4) {
		for to := from; to < 4; to++ {
			kinds = append(kinds, delay{from: from, to: to})
		}
	}
	kinds = append(kinds, delay{amount: 2})
	faults := make([]trace.Fault, 3)
	for code := range len(kinds) * len(kinds) * len(kinds) {
		all := make([]delay, 3)
		for i, n := range []int{code % len(kinds), code / len(kinds) % len(kinds), code / len(kinds) / len(kinds)} {
			all[i] = kinds[n]
			all[i].fault = &faults[i]
		}
		without := func(gone ...*trace.Fault) []delay {
			var left []delay
			for _, d := range all {
				if !slices.Contains(gone, d.fault) {
					left = append(left, d)
				}
			}
			return left
		}
		for i, saves := range saved(all) {
			if want := spent(all) - spent(without(all[i].fault)); saves != want {
				t.Fatalf("%v: the going of %v saves %d, want %d", all, all[i], saves, want)
			}
		}
		for late := range history.Time(9) {
			blamed := enoughOf(late, without())
			if enough := spent(all) >= late && spent(all) > 0; enough != (blamed != nil) {
				t.Fatalf("%v, late by %d: %d are blamed", all, late, len(blamed))
			}
			if blamed != nil && spent(all)-spent(without(blamed...)) < late {
				t.Fatalf("%v, late by %d: %d are blamed, which is not enough", all, late, len(blamed))
			}
		}
	}
}
