package libraries

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// family is a family of faults, from the default mix.
type family struct {
	name   string
	faults locktest.Faults // nil: all
}

var families = []family{
	{"pauses", locktest.Pauses},
	{"network", locktest.Network},
	{"restarts", locktest.Restarts},
	{"failovers", locktest.Failovers},
	{"clocks", locktest.Clocks},
	{"all", nil},
}

// care is what a client does about its lock.
type care struct {
	name string
	care locktest.Care
}

var cares = []care{
	{"none", locktest.Care{}},
	{"careful", locktest.Care{ChecksValidity: true, StopsWhenTold: true}},
	{"fenced", locktest.Care{Fences: true}},
}

// work is how long a client holds its lock. It reads at the beginning and writes at the end.
type work struct {
	name    string
	compute time.Duration
	renewed bool
}

var works = []work{
	{"short", TTL / 2, false},
	{"renewed", TTL * 5 / 2, true},
}

// matrixSeeds is how many runs each cell of the matrix is made of.
const matrixSeeds = 100

// cell is one library under one family of faults, in the hands of one client.
type cell struct {
	library *Library
	family  family
	work    work
	care    care
}

// cells are those of one library. A fail-over needs a replica, and work beyond the TTL somebody who renews.
func cells(l *Library) (all []cell) {
	for _, f := range families {
		if f.name == "failovers" && l.Servers == l.Servers.Replicated(0) {
			continue
		}
		for _, w := range works {
			if w.renewed && l.Renewal == ByNobody {
				continue
			}
			for _, c := range cares {
				all = append(all, cell{l, f, w, c})
			}
		}
	}
	return all
}

func (c *cell) config(seeds int) locktest.Config {
	config := c.library.config(c.care.care.Fences)
	config.Faults, config.Compute, config.Seeds, config.Care = c.family.faults, c.work.compute, seeds, c.care.care
	config.Cycles, config.Laws = 2, checker.Laws
	if c.work.renewed && c.library.Renewal == ByUser {
		config.Care.Extends = TTL / 3
	}
	return config
}

func TestMatrix(t *testing.T) {
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			for _, c := range cells(&l) {
				r, ok := locktest.Explore(t, c.config(40))
				if !ok {
					continue
				}
				for _, b := range r.Breaches {
					t.Logf("%-20s %-9s %-8s %-8s %-18s %-45s %3d of %d, seed %d, %v", l.Name, c.family.name, c.work.name, c.care.name, b.Law, b.Cause, b.Runs,
						r.Runs, b.Seed, r.CPU)
				}
				if len(r.Failures)>0 || len(r.Differing) > 0 {
					t.Logf("%-20s %-9s %-8s %-8s FAIL %v %d", l.Name, c.family.name, c.work.name, c.care.name, r.Differing, len(r.Failures))
					if len(r.Failures) >0 { t.Log(r.Failures[0].Text) }
				}
			}
		})
	}
}
