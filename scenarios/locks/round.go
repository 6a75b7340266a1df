package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// round measures, on the configured clock, how long one pass over the servers of a Redis lock takes. Its steps are
// those of Redlock (Sanfilippo, "Distributed locks with Redis"). A client that uses a single Redis server and checks
// its validity computes it in the same way.
type round struct {
	sim.Grant
	start time.Duration
	ttl   time.Duration // TTL that the servers granted
}

// begin performs step 1 of Redlock: it reads the clock before the first request.
func begin(env sim.Env, c *Config) round {
	r := round{start: read(env, c.Clock), ttl: c.TTL}
	r.Since = env.Mark()
	return r
}

// decide performs steps 3 and 4 of Redlock: it reads the clock again and returns the remaining validity, which may be
// negative.
func (r *round) decide(env sim.Env, c *Config) time.Duration {
	now := read(env, c.Clock)
	validity := r.ttl - (now - r.start) - c.Drift.forTTL(r.ttl)
	r.Granted = env.Mark()
	r.Until = sim.Deadline{Clock: c.Clock, At: now + validity}
	return validity
}

// restart returns a validity that begins now, no matter how long the round took.
func (r *round) restart(env sim.Env, c *Config) time.Duration {
	validity := r.ttl - c.Drift.forTTL(r.ttl)
	r.Until = sim.Deadline{Clock: c.Clock, At: read(env, c.Clock) + validity}
	return validity
}

// forTTL returns how much to subtract from the validity of a lock with the given TTL.
func (a Allowance) forTTL(ttl time.Duration) time.Duration {
	return ttl/1_000_000*time.Duration(a.PPM) + a.Plus
}
