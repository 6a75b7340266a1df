package libraries

import (
	"flag"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

var update = flag.Bool("update", false, "run the matrix and write the README and testdata anew")

// TestLibraries puts each library before the default mix of faults and demands nothing but that its runs can be judged. With
// -locktest.plan FILE it demands every law of the run of that plan, and so tells what breaks it.
func TestLibraries(t *testing.T) { each(t, false) }

// TestFenced is TestLibraries, with a token for every lock.
func TestFenced(t *testing.T) { each(t, true) }

func each(t *testing.T, fenced bool) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			locktest.Run(t, l.config(fenced))
		})
	}
}

func (l *Library) config(fenced bool) locktest.Config {
	return locktest.Config{Servers: l.Servers, TTL: TTL, New: func(c *locktest.Client) locktest.Lock { return l.New(c, fenced) },
		Care: locktest.Care{Fences: fenced}}
}
