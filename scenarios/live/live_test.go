//go:build linux

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/etcdserver"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// scenario returns a scenario in which two clients use a lock with a TTL of one second, plus the given additional
// lines. The clients check the elapsed time. Otherwise, their lease would begin when they receive the reply, so a host
// stall could make the lease outlast the key.
func scenario(t *testing.T, protocol string, more ...string) *scenarios.Scenario {
	t.Helper()
	lines := []string{"name: live-test", "summary: x", "source: x", "servers: {redis: 1}",
		"lock: {protocol: " + protocol + ", ttl: 1s, elapsed-check: on, retry: {delay: 20ms..50ms}}", "limit: 60s",
		"expect: {lease-exclusion: holds}"}
	replaced := map[string]bool{}
	for _, line := range more {
		key, _, _ := strings.Cut(line, ":")
		replaced[key] = true
	}
	var text []string
	for _, line := range lines {
		if key, _, _ := strings.Cut(line, ":"); !replaced[key] {
			text = append(text, line)
		}
	}
	s, err := scenarios.Parse("live-test.yaml", []byte(strings.Join(append(text, more...), "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a scenario with processes of the test binary as clients. If how is empty, they are Fencepost's own clients.
// Otherwise, they act as a user's clients, and how selects what they do.
func run(t testing.TB, s *scenarios.Scenario, how string) (*Result, error) {
	t.Helper()
	return runOn(t, s, how, Simulated{})
}

// runOn is like run, but uses the given servers.
func runOn(t testing.TB, s *scenarios.Scenario, how string, on Fleet) (*Result, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	o := Options{Scenario: s, Host: "127.0.0.1", Fleet: on, Keeper: fleettest.Keeper(t), Context: ctx,
		Patience: Patience, Own: process.Command{Path: self, Args: []string{"own"}, Env: []string{mode + "=own"}}}
	if how != "" {
		o.Command = fmt.Sprintf("test \"$%s\" && %s='%s' exec '%s'", inherited, mode, how, self)
	}
	if strings.Contains(how, "silent") {
		o.Patience = 3 * time.Second
	}
	return Run(o, s.Plan(1))
}

// outcomes returns the outcomes of the given laws, with their causes.
func outcomes(r *Result, laws ...checker.Law) string {
	v := checker.Check(r.History)
	var said []string
	for _, law := range laws {
		f := v.Of(law)
		line := f.Outcome.String()
		if f.Outcome == checker.Violated {
			line += " by " + f.Cause.String()
		}
		said = append(said, line)
	}
	return strings.Join(said, "; ")
}

var excluding = []checker.Law{checker.LeaseExclusion, checker.MutualExclusion, checker.ResourceSafety,
	checker.Ownership, checker.DeadlockFreedom}

// TestAPauseBeyondTheLease checks that a pause has the same effect in real time as in virtual time, both for a user's
// client and for one of Fencepost's own.
func TestAPauseBeyondTheLease(t *testing.T) {
	t.Parallel()
	const pause = "faults: [pause client-1 for 3s after acquired]"
	const outlived = "violated by holder outlived its lease (pause)"
	for _, test := range []struct {
		protocol, fencing, client, resource string
	}{
		{"set-nx-px", "off", "works", "violated by superseded holder took effect"},
		{"set-nx-px", "off", "", "violated by superseded holder took effect"},
		{"redlock", "off", "", "violated by superseded holder took effect"},
		{"fenced", "on", "fenced", "holds"},
		{"fenced", "on", "", "holds"},
	} {
		servers := "servers: {redis: 1}"
		if test.protocol == "redlock" {
			servers = "servers: {redis: 3}"
		}
		// client-2 acquires the lock after client-1, in either the first or the second cycle
		work := fmt.Sprintf("work: {cycles: 2, think: %v, writes: 1}", thinks)
		s := scenario(t, test.protocol, servers, work, "resource: {fencing: "+test.fencing+"}", pause)
		t.Run(test.protocol+" "+test.client, func(t *testing.T) {
			if testing.Short() && test.protocol == "set-nx-px" {
				t.Skip("it takes seconds; with tokens the same happens")
			}
			t.Parallel()
			testkit.Undisturbed(t, func(t testing.TB) {
				r, err := run(t, s, test.client)
				if err != nil {
					t.Fatal(err)
				}
				got, want := outcomes(r, excluding...), "holds; "+outlived+"; "+test.resource+"; holds; holds"
				if got != want || r.Limited {
					t.Errorf("%s, want %s", got, want)
				}
				if !strings.Contains(r.Notes[0], "real time") {
					t.Errorf("%q", r.Notes)
				}
			})
		})
	}
}

// TestAClientOfOurOwnSeesHowLateItIs checks that one of Fencepost's own clients does not write after being paused
// during its work for longer than the lease, if it checks its clock.
func TestAClientOfOurOwnSeesHowLateItIs(t *testing.T) {
	testkit.FullOnly(t)
	t.Parallel()
	for check, want := range map[string]int{"on": 0, "off": 1} {
		s := scenario(t, "set-nx-px", "clients: 1", "work: {writes: 1, compute: 900ms, check-validity: "+check+"}",
			"faults: [pause client-1 for 2s at 450ms]")
		r, err := run(t, s, "")
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		for _, e := range r.History.Events {
			if e.F == history.Write && e.Type == history.Invoke {
				writes++
			}
		}
		if writes != want {
			t.Errorf("check-validity %s: %d writes, want %d", check, writes, want)
		}
	}
}

// TestWhatComesInAPauseComesFirst checks that one of Fencepost's own clients receives the replies that arrived during a
// pause before its timeouts fire.
func TestWhatComesInAPauseComesFirst(t *testing.T) {
	testkit.FullOnly(t)
	t.Parallel()
	s := scenario(t, "set-nx-px", "clients: 1", "network: {delay: 300ms}", "work: {hold: 10ms}",
		"lock: {protocol: set-nx-px, ttl: 5s, timeout: 900ms, retry: {count: 1}}",
		"faults: [pause client-1 for 3s at 300ms]")
	r, err := run(t, s, "")
	if err != nil {
		t.Fatal(err)
	}
	acquired := 0
	for _, e := range r.History.Events {
		if e.Process == "client-1" && e.F == history.Acquire {
			switch e.Type {
			case history.OK:
				acquired++
			case history.Fail:
				t.Errorf("it has not acquired: %s", e.Why)
			}
		}
	}
	if acquired == 0 {
		t.Error("it has not acquired")
	}
}

// TestSectionsExclude checks that no violation is reported for a sound lock, either with a user's clients or with
// Fencepost's own.
func TestSectionsExclude(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ protocol, client, more string }{
		{"set-nx-px", "works", "resource: {fencing: off}"},
		{"set-nx-px", "works",
			"faults: [pause client-1 for 300ms after acquired, pause client-2 for 300ms after after-read]"},
		{"set-nx-px", "works", "faults: [crash client-1 after acquired]"},
		{"set-nx-px", "works", "faults: [cut client-1 | redis-1 after before-release for 300ms]"},
		{"set-nx-px", "", "faults: [crash client-1 after acquired]"},
		{"redlock", "", `faults: ["crash redis-1 losing unsynced writes at 100ms, restart after 500ms"]`},
	} {
		s := scenario(t, test.protocol, "clients: 3", "work: {cycles: 3, writes: 1, hold: 10ms}", test.more)
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			testkit.OneIn(t, 4)
			t.Parallel()
			r, err := run(t, s, test.client)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range checker.Check(r.History).Findings {
				if f.Outcome == checker.Violated || f.Outcome == checker.Undecided {
					t.Errorf("%s %s by %s: %s", f.Law, f.Outcome, f.Cause, f.Explanation)
				}
			}
			got := outcomes(r, checker.LeaseExclusion, checker.MutualExclusion, checker.DeadlockFreedom)
			if got != "holds; holds; holds" {
				t.Error(got)
			}
		})
	}
}

// TestMeasuresAreThoseThatRequestsShow checks that the safety measures of a user's client are inferred from its
// requests rather than from the scenario's protocol.
func TestMeasuresAreThoseThatRequestsShow(t *testing.T) {
	testkit.FullOnly(t)
	t.Parallel()
	s := scenario(t, "set-nx-px", "clients: 2", "work: {cycles: 2, hold: 10ms}",
		"lock: {protocol: set-nx-px, ttl: 1s, release: script}")
	for how, want := range map[string]string{
		"works":    "[expiry own-value owner-check relative-expiry]",
		"careless": "[expiry relative-expiry]",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, s, how)
			if err != nil {
				t.Fatal(err)
			}
			h := &r.History.Header
			slices.Sort(h.Measures)
			if got := fmt.Sprint(h.Measures); got != want {
				t.Errorf("applied %s, want %s", got, want)
			}
			if careless := how == "careless"; h.MayApply(history.OwnerCheck) == careless ||
				h.MayApply(history.OwnValue) == careless || !h.Unsure(history.MonotonicClock) {
				t.Errorf("applied %v, not known %v", h.Measures, h.Unknown)
			}
		})
	}
}

// TestGrantsAreWhatTheServersGave checks that a grant's times (since, granted and until) agree with the servers'
// records if the client does not report how long its lock is valid.
func TestGrantsAreWhatTheServersGave(t *testing.T) {
	t.Parallel()
	r, err := run(t, scenario(t, "set-nx-px", "work: {cycles: 2, writes: 1}"), "works")
	if err != nil {
		t.Fatal(err)
	}
	grants, set := 0, history.Event{}
	for _, e := range r.History.Events {
		switch {
		case e.F == history.KeySet:
			set = e
		case e.F == history.Acquire && e.Type == history.OK && e.Process != history.Probe:
			grants++
			g := e.Grant
			if g == nil || fmt.Sprint(g.Counted) != "[redis-1]" || set.Of != e.Attempt || g.Granted <= set.Time ||
				g.Granted > e.Time ||
				g.Since >= g.Granted || g.Until != set.Until || g.Until < set.Time+history.Of(999*time.Millisecond) ||
				g.Until > set.Time+history.Of(1001*time.Millisecond) { // Redis counts in whole ms
				t.Errorf("%+v grants %+v after %+v", e, g, set)
			}
		}
	}
	if grants != 4 {
		t.Errorf("%d grants", grants)
	}
}

// TestAllBeginTogether checks that no section begins until all clients are ready, and that the clients then begin one
// after another.
func TestAllBeginTogether(t *testing.T) {
	t.Parallel()
	r, err := run(t, scenario(t, "set-nx-px", "clients: 3"), "works")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range r.History.Events {
		if e.F != history.Acquire || e.Type != history.Invoke || e.Process == history.Probe {
			continue
		}
		want, at := fmt.Sprintf("client-%d", n+1), time.Duration(n)*startInterval
		if string(e.Process) != want || e.Time < history.Of(at) {
			t.Errorf("%s asks at %v, want %s at %v", e.Process, e.Time, want, at)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d asked", n)
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	s := scenario(t, "set-nx-px")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(Options{Scenario: s, Host: "127.0.0.1", Fleet: Simulated{}, Keeper: fleettest.Keeper(t), Context: ctx,
		Patience: Patience, Command: "exec sleep 1000"}, s.Plan(1))
	if !errors.Is(err, ErrInterrupted) {
		t.Error(err)
	}
}

// TestWhatCannotBeDoneIsRefused checks that a fault that cannot be carried out is refused before anything starts, and
// that the error contains the fault's line and the reason. Because the test has no process keeper, nothing could be
// started.
func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	user := func(faults string) Options {
		s := scenario(t, "set-nx-px", "faults: ["+faults+"]")
		return Options{Scenario: s, Command: "exit 9", Fleet: Simulated{}}
	}
	passing := Options{Command: "exit 9", Fleet: asBytes{}, Scenario: scenario(t, "etcd", "servers: {etcd: 3}",
		"lock: {protocol: etcd, ttl: 5s}", `faults: ['delay the 1st "/etcdserverpb.KV/Txn" of client-1 to etcd-1 by 1s']`)}
	partial := user("jump redis-1 clock by +1s at 0s")
	partial.Fleet = clockless{}
	cluster := user("")
	cluster.Scenario = scenario(t, "set-nx-px", "servers: {redis: 3, cluster: on}")
	for _, test := range []struct {
		o    Options
		want string
	}{
		{user("pause client-1 for 1s after acquired, jump client-2 clock by +1s at 1s"),
			`fault 2, "jump client-2 clock by +1s at 1s", cannot be carried out: the clocks of client-2`},
		{user("drift client-1 clock by +100ppm from 0s"), "the clocks of client-1 are the host's"},
		{user("pause client-1 for 1s after clock-read"), "clock-read is inside the client's library"},
		{user("cut client-1 | redis-1 after quorum-reached for 1s"), "quorum-reached is inside"},
		{user("delay the SET of client-1 to redis-1 in attempt 1 by 1s"), "only the client's library knows"},
		{partial, "these servers have no clocks of their own"},
		{cluster, "has a Redis Cluster, which is simulated in virtual time only: use run or explore"},
		{passing, "without being decoded, so a fault cannot name a request"},
	} {
		o := test.o
		_, err := Run(o, o.Scenario.Plan(1))
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// TestAFaultThatNamesAMessageStrikesIt checks that a fault whose trigger is a message takes effect, both with a
// user's client and with one of Fencepost's own. Such a fault may affect the message itself, or
// strike another target when the message leaves or arrives. If the named message is never sent, the report must list
// the messages that were sent.
func TestAFaultThatNamesAMessageStrikesIt(t *testing.T) {
	t.Parallel()
	s := scenario(t, "set-nx-px", "work: {cycles: 2, think: 50ms}", `faults: [delay the SET of client-1 to redis-1 by 200ms,
  pause client-2 for 100ms after the answer to its SET to redis-1,
	break client-1 | redis-1 before the answer to the 2nd SET,
  delay the 99th SET of client-1 to redis-1 by 1s]`)
	for _, client := range []string{"works", ""} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			testkit.Undisturbed(t, func(t testing.TB) {
				r, err := run(t, s, client)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Missed) != 1 || r.Missed[0].Line != s.Faults[3].String() || len(r.Missed[0].Asked) == 0 {
					t.Errorf("missed: %+v", r.Missed)
				}
				for _, f := range s.Faults[:3] {
					struck := func(e history.Event) bool { return e.Type == history.OK && e.Value == f.String() }
					if !slices.ContainsFunc(r.History.Events, struck) {
						t.Errorf("%s did not strike", f)
					}
				}
			})
		})
	}
}

// clockless is a Fleet of servers that do not have their own clocks.
type clockless struct{ Simulated }

func (clockless) Can(f *nemesis.Fault) error {
	if f.Kind.Does().IsClock() {
		return errors.New("these servers have no clocks of their own")
	}
	return nil
}

// asBytes is a Fleet whose servers receive clients' bytes unchanged.
type asBytes struct{ Simulated }

func (asBytes) Front(sim.Front) sim.Front { return etcdserver.Bytes{} }

// TestAnExtensionThatFailedIsBlamed checks that the explanation of a violation names an extension that a cut prevented,
// if the user's client reports its extensions. If the client does not report them, the explanation must not name one.
func TestAnExtensionThatFailedIsBlamed(t *testing.T) {
	testkit.FullOnly(t)
	for how, blamed := range map[string]bool{"prolongs": true, "prolongs in silence": false} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := scenario(t, "set-nx-px", "work: {cycles: 1, writes: 1}", "resource: {fencing: off}", "limit: 20s",
				"faults: [cut client-1 | redis-1 after acquired for 2s]")
			r, err := run(t, s, how)
			if err != nil {
				t.Fatal(err)
			}
			f := checker.Check(r.History).Of(checker.MutualExclusion)
			reported := strings.Contains(f.Explanation, "an extension of client-1 did not get through")
			if reported != blamed || f.Outcome != checker.Violated {
				t.Errorf("%s by %s: %s", f.Outcome, f.Cause, f.Explanation)
			}
		})
	}
}

// TestAStallThatMayDecideIsReported checks that a host stall is reported if it is longer than the time that a client
// waits for a reply.
func TestAStallThatMayDecideIsReported(t *testing.T) {
	s := scenario(t, "set-nx-px", "lock: {protocol: set-nx-px, ttl: 1s, timeout: 80ms}")
	for stall, want := range map[time.Duration]bool{80 * time.Millisecond: false, 81 * time.Millisecond: true} {
		if got := stalled(s, stall); want != strings.Contains(got, "client-1 waits for a reply (80ms)") {
			t.Errorf("%v: %q", stall, got)
		}
	}
}

// TestWarnings checks that a warning is printed only if a host stall could have changed the run's outcome.
func TestWarnings(t *testing.T) {
	for lock, want := range map[string]string{
		"{protocol: set-nx-px, ttl: 299ms}": "a TTL of 299ms",
		"{protocol: set-nx-px, ttl: 300ms}": "",
		"{protocol: set-nx-px, ttl: 549ms}": "the TTL is only 49ms longer than the critical sections",
		"{protocol: set-nx-px, ttl: 550ms}": "",
		"{protocol: setnx}":                 "",
	} {
		hold := "work: {hold: 100ms}"
		if strings.Contains(lock, "ttl: 5") {
			hold = "work: {hold: 500ms}"
		}
		got := strings.Join(warnings(scenario(t, "set-nx-px", "lock: "+lock, hold)), "")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", lock, got, want)
		}
	}
}

// TestTheFirstAttemptPassesPointsOfThePlan checks that a fault triggered by a step in a client's work can strike even
// the first client's first attempt.
func TestTheFirstAttemptPassesPointsOfThePlan(t *testing.T) {
	r, err := run(t, scenario(t, "set-nx-px", "faults: [pause client-1 for 1ms after acquire-start]"), "works")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.History.Events, func(e history.Event) bool { return e.Process == history.Nemesis }) {
		t.Error("the fault has not struck")
	}
}
