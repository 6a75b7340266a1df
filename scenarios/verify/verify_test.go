package verify

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/sim"
)

// soundRedlock keeps its promises under any single fault, except those that it excludes.
const soundRedlock = `name: redlock
servers: {redis: 3, persistence: {append-fsync: always}}
network: {delay: 200us..2ms}
lock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}}
work: {check-validity: on}
mix: {without: [jump of servers, crash losing everything of servers, "cut, no end", drift above 9000ppm]}
promise: [lease-exclusion, ownership, deadlock-freedom, fault-tolerance]
limit: 20s
`

func verify(t *testing.T, text string, o Options) *Verification {
	t.Helper()
	s, err := scenarios.Parse("verified.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Seed, o.Delays = 1, max(o.Delays, 1)
	v, err := Scenario(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestASoundLockHoldsForEveryPlacementOfOneFault(t *testing.T) {
	delays := testkit.Size(1, 1, 2)
	v := verify(t, soundRedlock, Options{Faults: 1, Delays: delays})
	standing, open := v.Standing()
	if standing != document.Passed || v.Found != nil {
		t.Fatalf("standing %v, open %v, found %+v", standing, open, v.Found)
	}
	one := v.Lengths[1]
	if !one.Whole || len(v.Assignments) != delays || one.Schedules < delays*1000 || one.Stands < 1e11 {
		t.Errorf("%d assignments, %d schedules for %g placements, whole %v", len(v.Assignments), one.Schedules,
			one.Stands, one.Whole)
	}
	for i, k := range v.Scope.Every {
		if one.Kinds[i].Schedules == 0 {
			t.Errorf("no %s was tried", k)
		}
	}
	all := one.Schedules + v.Lengths[0].Schedules
	for i := range v.Random {
		if v.Random[i].Schedules != samples {
			t.Errorf("%d random placements of %s", v.Random[i].Schedules, v.Random[i].Kind)
		}
		all += samples
	}
	for _, law := range v.laws() {
		if law.Holds != all {
			t.Errorf("%s was exercised in %d of %d schedules", law.Law, law.Holds, all)
		}
	}
}

// TestBrokenLocksAreRefutedByTheFewestFaults checks that the verification reveals each defect with as few faults as
// possible.
func TestBrokenLocksAreRefutedByTheFewestFaults(t *testing.T) {
	const redlock = "servers: {redis: 3, persistence: {append-fsync: always}}\nnetwork: {delay: 1ms}\nwork: " +
		"{check-validity: on}\nlock: {protocol: redlock, ttl: 2s, retry: {delay: 1s}}\n"
	const single = "servers: {redis: 1, persistence: {append-fsync: always}}\nnetwork: {delay: 1ms}\nwork: " +
		"{check-validity: on}\nlock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}\n"
	for i, x := range []struct {
		defect, text string
		change       [2]string
		law          checker.Law
		cause        string
		faults       int
	}{
		{"it counts its validity from the answers", redlock, [2]string{"retry:", "elapsed-check: off, retry:"},
			checker.LeaseExclusion, "validity miscounted", 1},
		{"its release deletes whatever is there", single, [2]string{"retry:", "release: del, retry:"},
			checker.Ownership, "removed by non-owner", 1},
		{"it compares the owner, and then deletes", single, [2]string{"retry:", "release: get-then-del, retry:"},
			checker.Ownership, "removed by non-owner", 1},
		{"one server is enough for it", redlock, [2]string{"retry:", "quorum: 1, retry:"}, checker.LeaseExclusion,
			"counted without quorum", 1},
		{"its only server answers before it fsyncs", single, [2]string{"always", "everysec"}, checker.LeaseExclusion,
			"lost in crash (unsynced)", 1},
		{"its servers forget: one that had no vote, and one that lost it", redlock,
			[2]string{"{append-fsync: always}", "none"}, checker.LeaseExclusion, "lost in crash (no persistence)", 2},
		{"it never expires: a request that was given up is carried out late", single,
			[2]string{"work: {check-validity: on}\nlock: {protocol: set-nx-px", "lock: {protocol: setnx"},
			checker.DeadlockFreedom, "stuck behind an abandoned key", 1},
		{"back-offs of the same length collide for ever, if one server of three is left out", redlock,
			[2]string{"retry:", "order: rotated, retry:"}, checker.DeadlockFreedom, "stuck although nobody holds", 2},
	} {
		if !testkit.Full() && i%3 > 0 {
			continue
		}
		text := "name: broken\n" + strings.Replace(x.text, x.change[0], x.change[1], 1) + "promise: [" + string(x.law) +
			"]\n"
		v := verify(t, text, Options{Faults: 2, Kinds: []nemesis.Kind{nemesis.Pause, nemesis.Crash}})
		if v.Found == nil {
			t.Errorf("%s: not refuted; %+v", x.defect, v.Lengths)
			continue
		}
		if got := len(v.Found.Plan.Faults); got != x.faults || v.Found.Law != x.law ||
			v.Found.Cause.String() != x.cause {
			t.Errorf("%s: %d faults break %s by %s\n%s", x.defect, got, v.Found.Law, v.Found.Cause, v.Found.Plan)
		}
		for n := range x.faults {
			if !v.Lengths[n].Whole || v.Lengths[n].Laws[0].Violated > 0 {
				t.Errorf("%s: not all of fewer faults were tried: %+v", x.defect, v.Lengths[n])
			}
		}
		if standing, _ := v.Standing(); standing != document.Failed {
			t.Errorf("%s: standing %v", x.defect, standing)
		}
		repeats(t, v)
	}
}

// repeats checks that the counterexample can be reproduced from just its plan and its scenario's text.
func repeats(t *testing.T, v *Verification) {
	t.Helper()
	plan, err := nemesis.ParsePlan("plan.txt", []byte(v.Found.Plan.String()))
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Parse("scenario.yaml", v.Assignments[v.Found.Assignment].Scenario.Text())
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Validate(s.Targets()); err != nil {
		t.Errorf("%v\n%s", err, plan)
	}
	r, err := scenarios.NewRunner(s).Run(plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := checker.Check(r.History).Of(v.Found.Law); f.Outcome != checker.Violated || f.Cause != v.Found.Cause {
		t.Errorf("%s does not repeat: %s %s\n%s", v.Found.Law, f.Outcome, f.Cause, plan)
	}
}

// TestADelayedRestartIsTriedAsSoonAsItIsAllowed checks the verification of a lock whose servers must stay down for one
// TTL after a crash. If a server may restart a little earlier, the verification must find a violation.
func TestADelayedRestartIsTriedAsSoonAsItIsAllowed(t *testing.T) {
	for _, x := range []struct {
		within string
		holds  bool
	}{{"105ms", true}, {"90ms", false}} {
		v := verify(t, `name: delayed-restart
servers: {redis: 1, persistence: none}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 100ms, retry: {delay: 8ms}, timeout: 5ms}
work: {hold: 150ms, stagger: 1ms, check-validity: on}
mix: {without: ["crash of servers, restart within `+x.within+`", "shut down, restart within `+x.within+`"]}
promise: [lease-exclusion]
limit: 1s
`, Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Crash, nemesis.ShutDown}})
		if (v.Found == nil) != x.holds {
			t.Errorf("no restart within %s: %+v", x.within, v.Found)
		}
		within, _ := time.ParseDuration(x.within)
		if v.Found != nil && v.Found.Plan.Faults[0].Restart < within {
			t.Errorf("an excluded restart was tried: %s", v.Found.Plan)
		}
	}
}

// TestAServerThatMustRestartIsNeverLeftDown checks that crashes without a restart are not tried if the scenario
// excludes them. After such a crash, no client could ever acquire the lock again.
func TestAServerThatMustRestartIsNeverLeftDown(t *testing.T) {
	for _, x := range []struct {
		without string
		holds   bool
	}{{"", false}, {`mix: {without: ["crash of servers, no restart", "crash of servers, restart within 1h"]}`, true}} {
		v := verify(t, `name: one
servers: {redis: 1, persistence: {append-fsync: always}}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 2s, retry: {delay: 1s}}
limit: 2h
promise: [deadlock-freedom, availability]
`+x.without, Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Crash}})
		if (v.Found == nil) != x.holds || v.Found != nil && v.Found.Plan.Faults[0].Restart != 0 {
			t.Errorf("%q: found %+v", x.without, v.Found)
		}
		if schedules := v.Lengths[1].Kinds[0].Schedules; x.holds && schedules < 40 {
			t.Errorf("%d schedules show little", schedules)
		}
	}
}

func TestTheNumberOfWorkersChangesNothing(t *testing.T) {
	servers, kinds, crews := "redis: 1", []nemesis.Kind{nemesis.Break}, []int{3}
	if testkit.Full() {
		servers, kinds, crews = "redis: 2", append(kinds, nemesis.Crash), []int{2, 5}
	}
	text := strings.Replace(soundRedlock, "redis: 3", servers, 1)
	first := verify(t, text, Options{Faults: 2, Crew: campaign.Crew{Workers: 1}, Kinds: kinds})
	for _, workers := range crews {
		v := verify(t, text, Options{Faults: 2, Crew: campaign.Crew{Workers: workers}, Kinds: kinds})
		if !reflect.DeepEqual(v.Lengths, first.Lengths) || !reflect.DeepEqual(v.Found, first.Found) ||
			v.Ending != first.Ending {
			t.Errorf("%d workers: %+v %+v, one: %+v %+v", workers, v.Lengths, v.Found, first.Lengths, first.Found)
		}
	}
}

// TestWhatEndedEarlyIsUndecided checks that a verification that ended early is undecided if it has not found anything.
func TestWhatEndedEarlyIsUndecided(t *testing.T) {
	pauses := []nemesis.Kind{nemesis.Pause}
	v := verify(t, soundRedlock, Options{Faults: 2, Kinds: pauses, Budget: 1500})
	standing, open := v.Standing()
	if standing != document.Undecided || v.Ending != campaign.OutOfRuns || len(open) != 1 || v.runs() < 1500 ||
		v.Lengths[len(v.Lengths)-1].Whole {
		t.Errorf("standing %v, stop %v, open %q, %d runs", standing, v.Ending, open, v.runs())
	}
	s, err := scenarios.Parse("verified.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v, err = Scenario(ctx, s, Options{Faults: 2, Kinds: pauses, Delays: 1, Seed: 1,
		Crew: campaign.Crew{Progress: func(what string, done, _ int) {
			if what == "parts with 2 faults" && done == 3 {
				cancel()
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if standing, _ := v.Standing(); standing != document.Undecided || v.Ending != campaign.Interrupted ||
		!v.Lengths[1].Whole || v.Lengths[2].Whole {
		t.Errorf("interrupted: standing %v, stop %v, %+v", standing, v.Ending, v.Lengths)
	}
}

// TestALawThatNothingExercisesIsNoPass checks that a verification does not pass if a law is never exercised. Here this
// law is token-order, because there is a single client and there are no tokens to compare.
func TestALawThatNothingExercisesIsNoPass(t *testing.T) {
	v := verify(t, "name: alone\nservers: {redis: 1}\nclients: 1\nlock: {protocol: set-nx-px}\npromise: "+
		"[token-order]\n", Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Pause}})
	standing, open := v.Standing()
	if standing != document.Undecided || len(open) == 0 || v.laws()[0].Exercised() != 0 {
		t.Errorf("standing %v, open %q, %+v", standing, open, v.laws())
	}
}

// TestACrashForGoodIsTriedAtItsFirstInstantToo checks that a crash without a restart is also tried at the first instant
// of an interval. A process counts as stuck only if it waits too long between the crash and the end of the run. With a
// crash at the last instant of the interval, the run would end before the wait became too long.
func TestACrashForGoodIsTriedAtItsFirstInstantToo(t *testing.T) {
	s, err := scenarios.Parse("tiny.yaml", []byte(tiny[4].text))
	if err != nil {
		t.Fatal(err)
	}
	g := newGrower(context.Background(),
		&Verification{Scenario: s, Assignments: []Assignment{{"", s}}, Options: Options{Seed: 1}})
	if err := g.climb(&branch{stands: 1}, false); err != nil {
		t.Fatal(err)
	}
	crash := nemesis.Fault{Kind: nemesis.Crash, Target: "client-1"}
	openings := g.openings(&crash)
	holding := slices.IndexFunc(openings,
		func(o opening) bool { return o.isInterval() && (o.at-o.since).Duration() == 300*time.Millisecond })
	if holding < 0 {
		t.Fatalf("%+v", openings)
	}
	o := &openings[holding]
	if err := g.place(crash, o); err != nil {
		t.Fatal(err)
	}
	if g.found == nil || g.found.Law != checker.DeadlockFreedom ||
		g.found.Plan.Faults[0].Trigger.Time != (o.since+1).Duration() {
		t.Errorf("found %+v in the interval from %v to %v", g.found, o.since, o.at)
	}
}

// TestAssignmentsFixEveryDelay checks that every delay is within the scenario's range, and that links with their own
// delays keep them.
func TestAssignmentsFixEveryDelay(t *testing.T) {
	s, err := scenarios.Parse("verified.yaml", []byte(strings.Replace(soundRedlock, "200us..2ms",
		"200us..2ms, tail: 1% 10ms..50ms, links: {client-2 -> redis-1: 5ms..7ms}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := assign(s, &Options{Delays: 99, Orders: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3*(1+2+3) { // equal delays, each client closer, each server farther; each of these in three orders
		t.Errorf("%d assignments", len(list))
	}
	names := map[string]bool{}
	for _, a := range list {
		names[a.Name] = true
		n := a.Scenario.Network
		travel := travelOf(a.Scenario)
		for _, l := range append(n.Links, sim.LinkDelay{Delay: n.Delay}) {
			if l.Delay.Lo != l.Delay.Hi || l.Delay.Lo < 200*time.Microsecond {
				t.Errorf("%s: %+v", a.Name, l)
			}
		}
		own := travel.of("client-2", "redis-1").Duration()
		if n.Tail.PPM != 0 || own < 6*time.Millisecond || own > 6*time.Millisecond+10 {
			t.Errorf("%s: tail %+v, client-2 -> redis-1 %v", a.Name, n.Tail, own)
		}
	}
	if len(names) != len(list) {
		t.Errorf("two assignments have the same name: %v", names)
	}
}

// TestRequestsAtOneInstantAreTriedInBothOrders checks runs in which two clients request the lock at the same instant.
// In the usual order, client-1 must get the lock; in the opposite order, client-2 must get it.
func TestRequestsAtOneInstantAreTriedInBothOrders(t *testing.T) {
	s, err := scenarios.Parse("tie.yaml", []byte(`name: tie
servers: {redis: 1}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 2s}
work: {stagger: 0s}
`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := assign(s, &Options{Delays: 1, Orders: true})
	if err != nil {
		t.Fatal(err)
	}
	var winners []history.Process
	for _, a := range list {
		r, err := scenarios.NewRunner(a.Scenario).Run(a.Scenario.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.History.Events,
			func(e history.Event) bool { return e.F == history.Acquire && e.Type == history.OK })
		winners = append(winners, r.History.Events[i].Process)
	}
	if !slices.Equal(winners, []history.Process{"client-1", "client-1", "client-2"}) {
		t.Errorf("the lock goes to %v", winners)
	}
}

// TestExcludedMessagesAreNotHeldUp checks that a scenario that excludes faults on some processes also excludes faults
// that affect these processes' messages and links. The targets of such faults are not known until the fault is placed.
func TestExcludedMessagesAreNotHeldUp(t *testing.T) {
	text := "name: x\nservers: {redis: 1}\nnetwork: {delay: 1ms}\nlock: {protocol: set-nx-px}\nwork: {writes: 1}\n"
	for _, k := range []nemesis.Kind{nemesis.Break, nemesis.DelayMessage, nemesis.Cut}[:testkit.Size(1, 3, 3)] {
		all := verify(t, text+"promise: [ownership]\n", Options{Faults: 1, Kinds: []nemesis.Kind{k}})
		some := verify(t, text+"promise: [ownership]\nmix: {without: ["+k.String()+" of resource]}\n",
			Options{Faults: 1, Kinds: []nemesis.Kind{k}})
		none := verify(t, text+"promise: [ownership]\nmix: {without: ["+k.String()+" of clients]}\n",
			Options{Faults: 1, Kinds: []nemesis.Kind{k}})
		a, b, c := all.Lengths[1].Schedules, some.Lengths[1].Schedules, none.Lengths[1].Schedules
		if a <= b || b == 0 || c != 0 {
			t.Errorf("%s: %d schedules, %d without the resource, %d without clients", k, a, b, c)
		}
	}
}

// TestAKindThatIsNotTriedIsRefused checks that the verification returns an error for kinds of faults that it cannot
// try. The scenario excludes server clock jumps, the only clock jumps that affect the lock. A failover is also
// impossible, because there are no replicas.
func TestAKindThatIsNotTriedIsRefused(t *testing.T) {
	s, err := scenarios.Parse("verified.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	for k, why := range map[nemesis.Kind]string{
		nemesis.Jump:     "jump is not tried: no process reads its wall clock",
		nemesis.FailOver: "fail over is not tried: it affects nothing in this scenario",
	} {
		_, err := Scenario(context.Background(), s, Options{Faults: 1, Delays: 1, Kinds: []nemesis.Kind{k}})
		if !errors.Is(err, errNoKind) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", k, err)
		}
	}
}

// TestEveryKindIsTriedOrLeftOutForAReason checks that every kind that can affect the run is either tried or omitted for
// the expected reason.
func TestEveryKindIsTriedOrLeftOutForAReason(t *testing.T) {
	const redis = "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n"
	for _, x := range []struct{ text, none string }{
		{redis, "[]"},
		{redis + "mix: {without: [jump]}\n", "[{jump " + notPromised + "}]"},
		{redis + "mix: {without: [jump of servers]}\n",
			"[{jump no process reads its wall clock except those for which the scenario excludes the fault}]"},
		{strings.Replace(redis, "-px", "-px, expiry: absolute", 1) + "mix: {without: [jump of servers]}\n", "[]"},
		{strings.Replace(redis, "-px", "-px, retry: {patience: 9s, patience-clock: wall}", 1) +
			"mix: {without: [jump of servers]}\n", "[]"},
		{redis + "mix: {without: [pause of servers, pause of clients, pause of resource]}\n",
			"[{pause " + notPromised + "}]"},
		{redis + "mix: {weights: {" + weightsWithout(nemesis.DelayLink, nemesis.SlowFsync, nemesis.Break) + "}}\n",
			"[{delay the scenario's mix does not include it} {slow fsync the scenario's mix does not include it} " +
				"{break the scenario's mix does not include it}]"},
		{"name: x\nservers: {etcd: 3}\nlock: {protocol: etcd}\n", "[{jump no process reads its wall clock}]"},
		{"name: x\nservers: {zookeeper: 3}\nlock: {protocol: zookeeper}\n", "[{jump no process reads its wall clock}]"},
	} {
		s, err := scenarios.Parse("verified.yaml", []byte(x.text))
		if err != nil {
			t.Fatal(err)
		}
		scope := ScopeOf(s)
		if got := fmt.Sprint(scope.None); got != x.none {
			t.Errorf("%s\nleaves out %s, not %s", x.text, got, x.none)
		}
		names := s.Targets()
		targets := nemesis.TargetsOf(&names)
		for _, k := range nemesis.Kinds {
			left := slices.ContainsFunc(scope.None, func(r Reason) bool { return r.Kind == k })
			asked := k.Weight() > 0 || s.Mix.Weights[k] > 0
			if (asked && targets.Has(k)) != (left != scope.Tries(k)) {
				t.Errorf("%s\n%s: possible %v, tried %v, left out %v", x.text, k, targets.Has(k), scope.Tries(k), left)
			}
		}
	}
}

// weightsWithout returns a weight of 1 for each kind except the given ones.
func weightsWithout(kinds ...nemesis.Kind) string {
	var list []string
	for _, k := range nemesis.Kinds {
		if !slices.Contains(kinds, k) {
			list = append(list, k.String()+": 1")
		}
	}
	return strings.Join(list, ", ")
}

// TestRandomPlacementsRefuteToo checks that a violation found at random is a counterexample like any other. In this
// test, clocks may drift by more than the lock's allowance.
func TestRandomPlacementsRefuteToo(t *testing.T) {
	sound := strings.Replace(soundRedlock, "work: {check", "work: {hold: validity, check", 1)
	text := strings.Replace(sound, "9000ppm", "99000ppm", 1)
	for faults, workers := range []int{1, 3}[:testkit.Size(1, 2, 2)] {
		v := verify(t, text, Options{Faults: faults + 1, Kinds: []nemesis.Kind{nemesis.Drift},
			Crew: campaign.Crew{Workers: workers}})
		if v.Found == nil || !v.Found.AtRandom || v.Found.Law != checker.LeaseExclusion {
			t.Fatalf("found %+v of %+v", v.Found, v.Random)
		}
		if standing, _ := v.Standing(); standing != document.Failed || v.Random[0].Schedules == 0 {
			t.Errorf("standing %v, %+v", standing, v.Random)
		}
		repeats(t, v)
	}
	v := verify(t, sound, Options{Faults: 2, Kinds: []nemesis.Kind{nemesis.Drift}})
	if standing, open := v.Standing(); standing != document.Passed || v.Random[0].Schedules != 2*samples {
		t.Errorf("standing %v %v, %+v", standing, open, v.Random)
	}
	v = verify(t, sound, Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Drift}, Budget: 100})
	if standing, _ := v.Standing(); standing != document.Undecided || v.Random[0].Schedules >= samples {
		t.Errorf("after 100 runs: standing %v, %+v", standing, v.Random)
	}
}

// TestAClientsClockJumpsSoFarThatADeadlineFlips checks that the verification refutes locks that break only when a
// client's clock jumps by just the right amount. Random draws rarely hit this amount.
func TestAClientsClockJumpsSoFarThatADeadlineFlips(t *testing.T) {
	const head = "name: clocked\nservers: {redis: 1, persistence: {append-fsync: always}}\nnetwork: {delay: 1ms}\n" +
		"mix: {without: [jump of servers]}\n"
	for _, x := range []struct {
		text, cause string
		law         checker.Law
	}{
		{"lock: {protocol: set-nx-px, ttl: 3s, expiry: absolute, elapsed-check: on, retry: {delay: 1s}}\n" +
			"work: {hold: 2s, check-validity: on}\n", "validity miscounted", checker.LeaseExclusion},
		{"lock: {protocol: set-nx-px, ttl: 3s, clock: wall, elapsed-check: on, retry: {delay: 1s}}\n" +
			"work: {hold: validity, check-validity: on}\n", "validity miscounted", checker.LeaseExclusion},
	} {
		v := verify(t, head+x.text+"promise: ["+string(x.law)+"]\n",
			Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Jump}})
		if v.Found == nil || v.Found.AtRandom || v.Found.Law != x.law || v.Found.Cause.String() != x.cause {
			t.Errorf("%s\n%+v", x.text, v.Found)
			continue
		}
		repeats(t, v)
	}
}

// TestCutsAreTriedWithAndWithoutAnEnd checks that cuts that never end are tried too, unless the scenario excludes them.
// Such a scenario must still survive cuts that end.
func TestCutsAreTriedWithAndWithoutAnEnd(t *testing.T) {
	const text = "name: cuts\nservers: {redis: 1}\nnetwork: {delay: 1ms}\nlock: {protocol: set-nx-px, ttl: 2s, " +
		"retry: {delay: 1s}}\npromise: [deadlock-freedom, availability]\n"
	cuts := Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Cut}}
	v := verify(t, text, cuts)
	if v.Found == nil || v.Found.Plan.Faults[0].For != 0 || v.Found.Cause.String() != "no quorum left" {
		t.Errorf("no cut without an end was tried: %+v", v.Found)
	}
	v = verify(t, strings.Replace(text, ", availability", "", 1), cuts)
	if of := v.laws().Of(checker.DeadlockFreedom); v.Found != nil || of.Excused == 0 || of.Breaks() > 0 {
		t.Errorf("a quorum lost for good counts although that is not promised: %+v, found %+v", of, v.Found)
	}
	v = verify(t, text+"mix: {without: [\"cut, no end\"]}\n", cuts)
	if v.Found != nil || v.Lengths[1].Schedules < 100 {
		t.Errorf("%d schedules, found %+v", v.Lengths[1].Schedules, v.Found)
	}
}
