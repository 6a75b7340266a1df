package scenarios

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// This file holds every default of the format, and nothing else does. FORMAT.md states them; a test holds it to that.

// newFile is a file in which no key has been given.
func newFile(r *reader) *file {
	return &file{
		reader: r,
		scenario: &Scenario{
			Servers: Servers{Persistence: redis.AppendEverysec, Fsync: time.Millisecond,
				MinReplicasMaxLag: redis.DefaultMinReplicasMaxLag, SemiSyncTimeout: redis.DefaultSemiSyncTimeout,
				DownAfter: redis.DefaultDownAfter, ReconfigureAfter: redis.DefaultReconfigureAfter},
			Network:  Network{Delay: sim.Delay{Lo: 200 * time.Microsecond, Hi: 2 * time.Millisecond}},
			Resource: ResourceConfig{Timeout: time.Second},
			Limit:    120 * time.Second,
			Expect:   Expect{Laws: map[checker.Law]Expectation{}},
		},
		clients: 2,
		stagger: 10 * time.Millisecond,
		lock: lockSettings{config: locks.Config{
			Key:              "lock",
			TTL:              10 * time.Second,
			Retry:            sim.Delay{Lo: 50 * time.Millisecond, Hi: 250 * time.Millisecond},
			Contact:          locks.Sequential,
			Order:            locks.Listed,
			ElapsedCheck:     true,
			Drift:            locks.Allowance{PPM: 10_000, Plus: 2 * time.Millisecond},
			Clock:            sim.Monotonic,
			ReleaseOnFailure: true,
			TokenScope:       locks.PerRequest,
			Recheck:          true,
			Count:            locks.FromSending,
			Watch:            locks.Predecessor,
			TokenFrom:        locks.OwnNode,
			Names:            locks.MarkedNames,
			CheckSession:     true,
			CompareRevision:  true,
			Expiry:           locks.RelativeExpiry,
			TokenRead:        locks.TokenInStep,
			Reentry:          locks.CountedReentry,
		}},
		work: Work{Cycles: 1, Hold: 100 * time.Millisecond, StopWhenLost: true},
	}
}

// limitNotGiven stands in Extension.Limit until it is known whether the extension runs in the background.
const limitNotGiven = -1

func newWait() *locks.Wait {
	return &locks.Wait{Replicas: 1, Timeout: time.Second, Obey: true, SameConnection: true}
}

func newExtension() *locks.Extension {
	return &locks.Extension{Mode: locks.ExtendChecked, Background: true, Limit: limitNotGiven}
}

// withDefaults fills in what depends on other keys, for a client of a run with n servers.
func withDefaults(c locks.Config, n int) locks.Config {
	if c.Release == "" {
		c.Release = defaultRelease(c.Protocol)
	}
	if c.Quorum == 0 {
		c.Quorum = n/2 + 1
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout(c.Protocol)
	}
	if c.Extension != nil {
		x := *c.Extension
		if x.Every == 0 {
			x.Every = c.TTL / 3
		}
		if x.Limit == limitNotGiven {
			x.Limit = defaultLimit(x.Background)
		}
		c.Extension = &x
	}
	return c
}

// defaultTimeout is short against the TTL, as the Redlock document asks; a consensus service must be given time to elect.
func defaultTimeout(p locks.Protocol) time.Duration {
	if p.Leased() {
		return time.Second
	}
	return 50 * time.Millisecond
}

// defaultRelease is the release that the documents show with a protocol.
func defaultRelease(p locks.Protocol) locks.Release {
	if p == locks.SetNX || p == locks.SetNXExpire {
		return locks.ReleaseDel
	}
	return locks.ReleaseScript
}

// defaultLimit caps extensions between steps, as the Redlock document asks; a keepalive knows no cap.
func defaultLimit(background bool) int {
	if background {
		return 0
	}
	return 3
}

// defaultStart makes clients begin one after another.
func (f *file) defaultStart(client int) sim.Delay {
	d := time.Duration(client) * f.stagger
	return sim.Delay{Lo: d, Hi: d}
}

func (f *file) defaultBound() {
	if f.scenario.Bound == 0 {
		f.scenario.Bound = f.lock.config.TTL
	}
}
