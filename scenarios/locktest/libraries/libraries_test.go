package libraries

import (
	"flag"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestLibraries runs each library. All runs must be judged, and equal seeds must give equal runs. With -locktest.plan
// FILE, it runs that plan instead and requires every law, so that every violation is reported.
func TestLibraries(t *testing.T) { each(t, false) }

// TestFenced is like TestLibraries, but every lock also issues fencing tokens.
func TestFenced(t *testing.T) { each(t, true) }

func each(t *testing.T, fenced bool) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			c := l.config(fenced)
			if flag.Lookup("locktest.plan").Value.String() != "" {
				locktest.Run(t, c)
				return
			}
			c.Seeds = 10
			if r, ok := locktest.Explore(t, c); ok {
				judgeable(t, r)
			}
		})
	}
}

// judgeable fails the test if some runs could not be judged, or had a different result when repeated. It ignores runs
// in which the library is known to stop virtual time.
func judgeable(t *testing.T, r *locktest.Report) {
	t.Helper()
	for _, f := range r.Failures {
		t.Errorf("seed %d: %s", f.Seed, f.Text)
	}
	if len(r.DifferingSeeds) > 0 {
		t.Errorf("the seeds %d gave two different runs", r.DifferingSeeds)
	}
}

func (l *Library) config(fenced bool) locktest.Config {
	return locktest.Config{Servers: l.Servers, TTL: TTL, Precautions: locktest.Precautions{Fences: fenced},
		Laws: checker.Laws, Keys: l.Keys,
		New: func(c *locktest.Client) (locktest.Lock, error) { return l.New(c, fenced) }}
}
