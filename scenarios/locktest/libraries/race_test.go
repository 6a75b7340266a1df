//go:build race

package libraries

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestNoRaceIsOurs runs every library and a handmade lock under all faults with the race detector (go test -race).
// Fencepost's code must not have any data races. With FENCEPOST_FULL=1, the test executes 100 runs of each lock, which
// takes about two minutes of processor time.
func TestNoRaceIsOurs(t *testing.T) {
	seeds := testkit.Size(3, 3, 100)
	own := Library{Name: "watchdog", Servers: locktest.Redis(1),
		New: func(c *locktest.Client, _ bool) (locktest.Lock, error) { return newWatchdog(c) }}
	for _, l := range append([]Library{own}, All...) {
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(false)
			c.Seeds = seeds
			r, ok := locktest.Explore(t, c)
			if !ok {
				return
			}
			judgeable(t, r)
			if r.Runs != seeds {
				t.Errorf("%d runs of %d", r.Runs, seeds)
			}
			t.Logf("%d runs, %.1f s of CPU", r.Runs, r.CPU.Seconds())
		})
	}
}
