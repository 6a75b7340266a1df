package consul

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// leaders returns the members that believe they are the leader.
func (l *lab) leaders() (all []int) {
	for _, m := range l.Members() {
		if m.Leading() {
			all = append(all, m.Number())
		}
	}
	return all
}

// TestANewLeaderRestartsTheTTL checks that after an election, each session again lasts for twice its TTL. The new
// leader does not know which sessions its predecessor renewed.
func TestANewLeaderRestartsTheTTL(t *testing.T) {
	l := newLab(t, 3)
	var ended time.Duration
	l.client("client-1", func(c *caller) {
		c.member = 1
		a := c.session(SessionOptions{TTL: "10s"})
		c.want(Acquire("lock", a, ""), 200, "true")
		for ; c.ask(sessionInfo(a), time.Second).Body != "[]"; c.env.Sleep(100 * ms) {
		}
		ended = c.env.Monotonic()
	})
	l.At(sim.Time(15*time.Second), func() { l.Stop("consul-1", sim.PowerLoss) })
	l.run(2 * time.Minute)
	if ended < 40*time.Second || ended > 46*time.Second {
		t.Errorf("the session ended after %v, want an election (5 to 10 s) and 20 s after 15 s", ended)
	}
}

// TestALeaderThatIsCutOffResignsWhenItsLeaseIsOver checks that a leader that is cut off answers reads in the default
// mode until its lease ends, but no longer. Reads with ?consistent must fail as soon as the leader is cut off.
func TestALeaderThatIsCutOffResignsWhenItsLeaseIsOver(t *testing.T) {
	l := newLab(t, 3)
	for _, other := range l.names[1:] {
		l.At(sim.Time(time.Second), func() { l.Cut("consul-1", other); l.Cut(other, "consul-1") })
	}
	type seen struct{ byLeader, consistent, stale int }
	early, late := seen{}, seen{}
	l.client("client-1", func(c *caller) {
		c.want(put("/v1/kv/key", "x"), 200, "true")
		for _, look := range []struct {
			at time.Duration
			s  *seen
		}{{2 * time.Second, &early}, {5 * time.Second, &late}} {
			c.env.Sleep(look.at - c.env.Monotonic())
			look.s.byLeader = c.ask(GetKey("key", false, 0, 0), 200*ms).Code
			look.s.consistent = c.ask(GetKey("key", true, 0, 0), 200*ms).Code
			r := GetKey("key", false, 0, 0)
			r.URI += "?stale"
			look.s.stale = c.ask(r, 200*ms).Code
		}
	})
	l.run(12 * time.Second)
	if want := (seen{200, 0, 200}); early != want {
		t.Errorf("within the lease: %+v, want %+v", early, want)
	}
	if want := (seen{0, 0, 200}); late != want {
		t.Errorf("after the lease: %+v, want %+v", late, want)
	}
	if all := l.leaders(); len(all) != 1 || all[0] == 1 {
		t.Errorf("leaders: %v, want another than 1", all)
	}
}

// TestASessionEndsByAFault checks that an ExpireSession fault ends a single client's sessions, and that their keys'
// lock delay begins.
func TestASessionEndsByAFault(t *testing.T) {
	l := newLab(t, 3)
	l.At(sim.Time(5*time.Second), func() {
		for _, name := range l.names {
			l.ServerFault(name, sim.ServerFault{Kind: sim.ExpireSession, To: "client-1"})
		}
	})
	for _, name := range []string{"client-1", "client-2"} {
		l.client(name, func(c *caller) {
			a := c.session(SessionOptions{})
			c.want(Acquire(name, a, ""), 200, "true")
			c.env.Sleep(6 * time.Second)
			if ended := c.pair(name).Session == ""; ended != (name == "client-1") {
				t.Errorf("the session of %s has ended: %t", name, ended)
			}
		})
	}
	l.run(time.Minute)
	var gone []history.Event
	for _, e := range l.Finish().Events {
		if e.F == history.KeyGone {
			gone = append(gone, e)
		}
	}
	if len(gone) != 1 || gone[0].Why != history.Expired || gone[0].Of != "client-1/1" {
		t.Errorf("gone: %v", gone)
	}
}

// TestAnAnswerToAnEarlierLifeReachesNobody checks that a member that has restarted drops the answer to a query that it
// had forwarded to the leader before it crashed.
func TestAnAnswerToAnEarlierLifeReachesNobody(t *testing.T) {
	l := newLab(t, 3)
	l.At(sim.Time(2*time.Second), func() { l.Stop("consul-2", sim.PowerLoss) })
	l.At(sim.Time(4*time.Second), func() { l.Restart("consul-2") })
	l.client("client-1", func(c *caller) {
		c.member = 1
		c.ask(GetKey("old", false, 1, time.Minute), 3*time.Second)
	})
	l.client("client-2", func(c *caller) {
		c.member = 1
		c.env.Sleep(6 * time.Second)
		if a := c.ask(GetKey("new", false, 1, time.Minute), 5*time.Second); a.Code != 0 {
			t.Errorf("a query that waits for another key is answered: %+v", a)
		}
	})
	l.client("client-3", func(c *caller) {
		c.env.Sleep(8 * time.Second)
		c.want(put("/v1/kv/old", "x"), 200, "true")
	})
	l.run(time.Minute)
}

// TestAnEmptyDiskLosesAllLocks checks that if the only member loses its disk, it comes back without keys. The indexes
// must restart.
func TestAnEmptyDiskLosesAllLocks(t *testing.T) {
	l := newLab(t, 1)
	l.At(sim.Time(time.Second), func() { l.Stop("consul-1", sim.LoseAllState) })
	l.At(sim.Time(2*time.Second), func() { l.Restart("consul-1") })
	l.client("client-1", func(c *caller) {
		a := c.session(SessionOptions{})
		c.want(Acquire("lock", a, ""), 200, "true")
		c.env.Sleep(20 * time.Second)
		c.env.Close(sim.Conn{Server: "consul-1"})
		if p := c.pair("lock"); p.Key != "" {
			t.Errorf("after the loss of the disk: %+v", p)
		}
		c.want(Acquire("lock", a, ""), 500, "raft apply failed: invalid session")
	})
	l.run(time.Minute)
	if !slices.ContainsFunc(l.Finish().Events, func(e history.Event) bool {
		return e.F == history.KeyGone && e.Why == history.LostDisk && e.Of == "client-1/1"
	}) {
		t.Error("the loss of the lock is not recorded")
	}
}

// TestARunIsAFunctionOfItsSeed checks that two runs with the same seed, faults and servers are identical.
func TestARunIsAFunctionOfItsSeed(t *testing.T) {
	l := newLab(t, 3)
	run := func() sim.Digest {
		for i, name := range []string{"client-1", "client-2", "client-3"} {
			l.client(name, func(c *caller) {
				c.member = i
				for range 5 {
					a := c.ask(CreateSession(SessionOptions{TTL: "10s", LockDelay: "1s"}), time.Second).Session()
					c.ask(Acquire("lock", a, ""), time.Second)
					c.ask(GetKey("lock", true, 1, time.Second), 2*time.Second)
					c.ask(ReleaseKey("lock", a, ""), time.Second)
				}
			})
		}
		l.At(sim.Time(2*time.Second), func() { l.Stop("consul-1", sim.PowerLoss) })
		l.At(sim.Time(9*time.Second), func() { l.Restart("consul-1") })
		l.run(time.Minute)
		return l.Digest()
	}
	first := run()
	l.World.Reset(7, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}})
	l.Cluster.Reset()
	l.AddTo(l.World.AddServer)
	if second := run(); first != second {
		t.Errorf("digests %v and %v", first, second)
	}
}
