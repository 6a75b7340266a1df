package claims

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// everyone returns the names of all processes that have clocks.
func everyone(s *scenarios.Scenario) []sim.ProcessID {
	names := s.Targets()
	all := slices.Concat(names.Clients, names.Redis, names.Consensus, []sim.ProcessID{names.Resource})
	if names.Sentinel != "" {
		all = append(all, names.Sentinel)
	}
	return all
}

// If all clocks jump by the same amount at the start, no process can notice, because no absolute time comes from
// outside. There are two exceptions, in which a running server compares its wall clock with an earlier reading. One is
// the time of the last fsync with everysec. After a jump, the server fsyncs immediately, so a crash loses less, a slow
// fsync delays more, and a client that is waiting for the fsync has a shorter wait. The other is each replica's last
// acknowledgment with min-replicas-to-write. After a jump forward, no replica seems to have sent an acknowledgment
// recently.
func TestAJumpOfAllClocksChangesNoEffect(t *testing.T) {
	tried := newTally(t, "a jump of all clocks")
	for _, s := range subjects(t) {
		for i, p := range plansOf(t, s, plans(2, 60)) {
			if comparesClocks(s, p) {
				continue
			}
			by := []time.Duration{time.Hour, -time.Hour, 1234 * time.Second}[i%3]
			q := withFaults(p)
			for _, id := range everyone(s) {
				q.Faults = append(q.Faults, nemesis.Fault{Kind: nemesis.Jump, Target: id, By: by})
			}
			q.Faults = append(q.Faults, p.Faults...)
			if err := q.Validate(s.Targets()); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			before, after := run(t, s, p), run(t, s, q)
			tried.done()
			differ(t, s.Name, before, after, p, q)
		}
	}
}

// comparesClocks reports whether some server in a run compares its clock with a reading from before all clocks jumped.
func comparesClocks(s *scenarios.Scenario, p nemesis.Plan) bool {
	if s.Servers.Backend != locks.OnRedis || s.Servers.Persistence != store.Everysec {
		return s.Servers.MinReplicasToWrite > 0
	}
	wait := s.Clients[0].Lock.Wait
	return s.Servers.MinReplicasToWrite > 0 || wait != nil && wait.Fsync != locks.NoDisks ||
		slices.ContainsFunc(p.Faults, func(f nemesis.Fault) bool {
			return f.Loss == nemesis.LosesUnsynced || f.Kind == nemesis.SlowFsync
		})
}

// A jump of all clocks does not make a difference even to a lock whose clients set its expiry as an absolute time, or
// to the probe, which acquires the lock last.
func TestAJumpOfAllClocksMovesAbsoluteExpiryWithIt(t *testing.T) {
	tried := newTally(t, "a jump of all clocks, with absolute expiry")
	for clients := 1; clients <= 3; clients++ {
		text := fmt.Sprintf("name: absolute\nservers: {redis: 1}\nclients: %d\nlock: {protocol: set-nx-px, ttl: 2s, "+
			"expiry: absolute, clock: wall}\n", clients)
		s, err := scenarios.Parse("absolute.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []time.Duration{time.Hour, -time.Hour, 3 * time.Second, -10 * time.Hour} {
			p := s.Plan(1)
			q := withFaults(p)
			for _, id := range everyone(s) {
				q.Faults = append(q.Faults, nemesis.Fault{Kind: nemesis.Jump, Target: id, By: by})
			}
			before, after := run(t, s, p), run(t, s, q)
			tried.done()
			differ(t, s.Name, before, after, p, q)
			for _, law := range []checker.Law{checker.LeaseExclusion, checker.MutualExclusion,
				checker.DeadlockFreedom} {
				if f := after.verdict.Of(law); f.Outcome != checker.Holds {
					t.Errorf("%d clients, %v: %s is %v", clients, by, law, f.Outcome)
				}
			}
		}
	}
}

// scaled returns the scenario with fixed delays, and with all times multiplied by the given factor.
func scaled(s *scenarios.Scenario, by time.Duration) *scenarios.Scenario {
	c := *s
	fixed := func(d sim.Delay) sim.Delay { return sim.Delay{Lo: by * d.Lo, Hi: by * d.Lo} }
	c.Network = scenarios.Network{Delay: fixed(s.Network.Delay)}
	c.Servers.Fsync *= by
	c.Limit, c.Bound, c.Resource.Timeout = by*s.Limit, by*s.Bound, by*s.Resource.Timeout
	c.Clients = slices.Clone(s.Clients)
	for i := range c.Clients {
		k := &c.Clients[i]
		k.Work.Start, k.Work.Think = fixed(k.Work.Start), fixed(k.Work.Think)
		k.Work.Compute, k.Work.Hold = by*k.Work.Compute, by*k.Work.Hold
		k.Lock.TTL, k.Lock.Retry, k.Lock.Timeout, k.Lock.Patience = by*k.Lock.TTL, fixed(k.Lock.Retry),
			by*k.Lock.Timeout, by*k.Lock.Patience
		k.Lock.Drift.Plus *= by
		if x := k.Lock.Extension; x != nil {
			longer := *x
			longer.Every, longer.TTL = by*longer.Every, by*longer.TTL
			k.Lock.Extension = &longer
		}
	}
	return &c
}

// timeless reports whether every time that matters to the scenario and the plan is one of the scenario's settings. It
// returns false if there are replicas or consensus among the servers. It also returns false if the plan stops a server
// or slows down an fsync, because a once-per-second fsync could then matter, or if it makes a clock drift. Finally, it
// returns false if the lock is fair, because the places in its queue expire after a fixed time defined in another
// package.
func timeless(s *scenarios.Scenario, p nemesis.Plan) bool {
	first := s.Clients[0].Lock.Protocol
	if s.Servers.Replicas > 0 || locks.Define(first).Service.Kind().OneLog || first == locks.Fair {
		return false
	}
	return !slices.ContainsFunc(p.Faults, func(f nemesis.Fault) bool {
		return (f.Kind == nemesis.Crash || f.Kind == nemesis.ShutDown) && !nemesis.IsClient(f.Target) ||
			f.Kind == nemesis.SlowFsync || f.Kind == nemesis.Drift
	})
}

// If all times are doubled, the run is the same at half the speed, except where Redis uses fixed times. Redis rounds to
// milliseconds, so what happens within two milliseconds of an expiry may differ. It also searches for expired keys
// every 100 ms, and whatever follows such a search waits for the fsync of the deletion.
//
// The maximum time for which a waiting client may be stuck includes one second that does not depend on the scenario
// (Header.Slack). Therefore, the longer run is judged with two seconds instead.
func TestAllTimesDoubledIsTheSameRunAtHalfTheSpeed(t *testing.T) {
	tried, rounded := newTally(t, "all times doubled"), 0
	for _, s := range subjects(t) {
		for _, p := range plansOf(t, s, plans(3, 100)) {
			if !timeless(s, p) {
				continue
			}
			q := withFaults(p)
			for _, f := range p.Faults {
				f.Trigger.Time, f.For, f.By, f.Restart = 2*f.Trigger.Time, 2*f.For, 2*f.By, 2*f.Restart
				q.Faults = append(q.Faults, f)
			}
			before, after := run(t, scaled(s, 1), p), run(t, scaled(s, 2), q)
			tried.done()
			after.history.Header.Slack += history.Of(time.Second)
			after.verdict = checker.Check(after.history)
			short, long := before.history.Events, after.history.Events
			if i := diverge(short, long); i >= 0 {
				if !nearExpiry(short, i, 2) && !nearExpiry(long, i, 4) &&
					!nearCron(short, i, 2) && !nearCron(long, i, 4) {
					t.Errorf("%s: the runs part at event %d\n%s\n%s\n%s", s.Name, i, eventText(short, i),
						eventText(long, i), p)
				}
				rounded++
				continue
			}
			if laws(before.verdict, true) != laws(after.verdict, true) {
				t.Errorf("%s:\n%s\n%s\n%s", s.Name, laws(before.verdict, true), laws(after.verdict, true), p)
			}
		}
	}
	t.Logf("%d parted at an expiry", rounded)
	if rounded > tried.tried/5 {
		t.Errorf("%d of %d parted at an expiry: too many to say that the others agree", rounded, tried.tried)
	}
}

func eventText(events []history.Event, i int) string {
	if i >= len(events) {
		return "the end"
	}
	return line(&events[i])
}

// diverge returns the index of the first event in which two runs differ, ignoring times, or -1 if there is none.
func diverge(a, b []history.Event) int {
	what := func(e history.Event) history.Event {
		e.Index, e.Time, e.Until, e.Grant, e.Fault = 0, 0, 0, nil, nil
		if e.Process == history.Nemesis || isDeadline(&e) {
			e.Value = ""
		}
		return e
	}
	for i := range a {
		if i == len(b) || what(a[i]) != what(b[i]) {
			return i
		}
	}
	if len(b) > len(a) {
		return len(a)
	}
	return -1
}

// nearExpiry reports whether a key expired no more than the given number of milliseconds before or after event i.
func nearExpiry(events []history.Event, i int, millis history.Time) bool {
	if i >= len(events) {
		i = len(events) - 1
	}
	near := func(e history.Event) bool {
		d := e.Time - events[i].Time
		return e.F == history.KeyGone && e.Why == history.Expired && max(d, -d) <= millis*1e6
	}
	return slices.ContainsFunc(events, near)
}

// nearCron reports whether event i happened shortly after a periodic search for expired keys that found one. millis is
// the maximum time between the two, in milliseconds.
func nearCron(events []history.Event, i int, millis history.Time) bool {
	const every = 100 * 1e6 // Redis's default, hz 10 (redis.conf)
	at := events[min(i, len(events)-1)].Time
	return at%every <= millis*1e6 && slices.ContainsFunc(events, func(e history.Event) bool {
		return e.F == history.KeyGone && e.Why == history.Expired && e.Time <= at && at-e.Time <= every+millis*1e6
	})
}
