package checker

import (
	"reflect"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestALawIsJudgedTheSameAlone checks that the finding for a law does not depend on which other laws or histories were
// judged before.
func TestALawIsJudgedTheSameAlone(t *testing.T) {
	var c, fresh Checker
	for _, h := range []*history.History{busy(t, 400), busy(t, 40), {}, busy(t, 120)} {
		whole := Check(h)
		for _, law := range Laws {
			fresh = Checker{}
			for _, judge := range []*Checker{&c, &fresh} {
				alone := judge.CheckOnly(h, []Law{law})
				if len(alone.Findings) != 1 || !reflect.DeepEqual(alone.Findings[0], whole.Of(law)) {
					t.Errorf("alone: %s\nwith all: %s", show(alone.Of(law)), show(whole.Of(law)))
				}
			}
		}
	}
}
