package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// newFile returns a file in which each setting has its default, unless the default depends on other settings.
func newFile(r *format.Reader) *file {
	f := &file{Reader: r, scenario: &Scenario{Expect: format.All{Laws: map[checker.Law]format.Law{}}},
		clients: 2, lock: lockSettings{config: locks.Config{Key: "lock"}, stated: format.Given{}}}
	s := f.scenario
	s.Servers.Persistence = store.Everysec
	standards(serverSettings(), &s.Servers)
	standards(networkKeys, &s.Network)
	standards(resourceKeys, &s.Resource)
	standards(timeKeys, s)
	standards(workKeys, &f.work)
	standards(staggerKeys, &f.stagger)
	return f
}

// defaultStart returns when a client starts by default. Clients start one after another, f.stagger apart.
func (f *file) defaultStart(client int) sim.Delay {
	d := time.Duration(client) * f.stagger
	return sim.Delay{Lo: d, Hi: d}
}

func (f *file) defaultBound() {
	if f.scenario.Bound == 0 {
		f.scenario.Bound = f.lock.config.TTL + f.scenario.Servers.silence()
	}
}
