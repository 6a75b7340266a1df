package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// round is one pass over the servers of a lock on Redis, measured on the configured clock. The steps are Redlock's
// (Sanfilippo, "Distributed locks with Redis"); a careful client of one Redis counts likewise.
type round struct {
	sim.Grant
	start time.Duration
	ttl   time.Duration // granted by the servers
}

// begin is step 1: it reads the clock.
func begin(env sim.Env, c *Config) round {
	r := round{start: read(env, c.Clock), ttl: c.TTL}
	r.Since = env.Mark()
	return r
}

// decide is step 3: it reads the clock again and returns the validity left (step 4), perhaps none.
func (r *round) decide(env sim.Env, c *Config) time.Duration {
	now := read(env, c.Clock)
	validity := r.ttl - (now - r.start) - c.Drift.of(r.ttl)
	r.Granted = env.Mark()
	r.Until = sim.Deadline{Clock: c.Clock, At: now + validity}
	return validity
}

// restart counts the validity from now on, whatever time has passed.
func (r *round) restart(env sim.Env, c *Config) time.Duration {
	validity := r.ttl - c.Drift.of(r.ttl)
	r.Until = sim.Deadline{Clock: c.Clock, At: read(env, c.Clock) + validity}
	return validity
}

// of is what is subtracted from a validity.
func (a Allowance) of(ttl time.Duration) time.Duration {
	return ttl/1_000_000*time.Duration(a.PPM) + a.Plus
}
