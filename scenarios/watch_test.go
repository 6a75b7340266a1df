package scenarios

import (
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

// Watching a run does not change it, in any of the catalog's scenarios. The watch ends when the probe begins. The probe
// is a client that checks, at the end of the run, that each lock can still be acquired.
func TestWatchingARunChangesNothingInIt(t *testing.T) {
	for _, name := range testkit.Sample(t, Names()) {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRunner(s)
		alone, err := r.Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		probed := sim.Time(0)
		if i := slices.IndexFunc(alone.History.Events,
			func(e history.Event) bool { return e.Process == history.Probe }); i >= 0 {
			probed = alone.History.Events[i].Time
		}
		seen := 0
		r.Watch(func(m sim.Moment) {
			if seen++; probed > 0 && m.At > probed || m.Process == history.Probe {
				t.Errorf("%s: reported %+v, but the probe began at %v", name, m, probed)
			}
		})
		watched, err := r.Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		if watched.Digest != alone.Digest || seen == 0 {
			t.Errorf("%s: %d moments, digest %x watched and %x alone", name, seen, watched.Digest, alone.Digest)
		}
	}
}
