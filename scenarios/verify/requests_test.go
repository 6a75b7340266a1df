package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// lateRelease is a lock that a single delayed message can break, but a single lost message cannot.
const lateRelease = `name: late
servers: {redis: 1, persistence: {append-fsync: always}}
clients: 2
lock: {protocol: set-nx-px, release: RELEASE, ttl: 2s, retry: {delay: 300ms..900ms}}
work: {cycles: 2, hold: 50ms, think: 50ms..200ms, check-validity: on}
mix: {weights: {delay message: 1, break: 1}}
promise: [ownership, lease-exclusion, mutual-exclusion]
limit: 20s
`

func lateReleaseBy(release string) string { return strings.Replace(lateRelease, "RELEASE", release, 1) }

// oneRun verifies a scenario with all single faults in one run.
func oneRun(t *testing.T, text string, o Options) *Verification {
	t.Helper()
	s, err := scenarios.Parse("verified.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o.Faults, o.Requests = 1, true
	v, err := Scenario(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestOneLateMessageBreaksALock checks a lock that one late message can break. A single fault in one run must break it,
// and the fault must name the message. The same lock without the bug must pass.
func TestOneLateMessageBreaksALock(t *testing.T) {
	v := oneRun(t, lateReleaseBy("del"), Options{Seed: 1})
	if v.Found == nil || v.Found.Law != checker.Ownership {
		t.Fatalf("found %+v", v.Found)
	}
	f := v.Found.Plan.Faults[0]
	if f.Kind != nemesis.DelayMessage || f.Trigger.Message.Command != "DEL" {
		t.Errorf("found %s", f)
	}
	repeats(t, v)
	sound := oneRun(t, lateReleaseBy("script"), Options{Seed: 1})
	if standing, open := sound.Standing(); standing != document.Passed {
		t.Errorf("standing %v, open %v, found %+v", standing, open, sound.Found)
	}
}

// ways maps each violation in a run (a law and a cause) to a fault that leads to it.
type ways map[string]nemesis.Fault

func (w ways) add(s *scenarios.Scenario, h *history.History, f nemesis.Fault) {
	var c checker.Checker
	for _, finding := range c.Check(h).Findings {
		if finding.Outcome == checker.Violated {
			w[fmt.Sprintf("%s %s", finding.Law, finding.Cause.Kind)] = f
		}
	}
}

// waysOf tries each single fault in the run with the given seed. It returns the violations and the number of faults.
func waysOf(t *testing.T, s *scenarios.Scenario, seed uint64, each func(nemesis.Fault)) (ways, int) {
	t.Helper()
	all, n := ways{}, 0
	singles, err := NewSingles(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range singles.Longest() {
		err := singles.Try(i, func(p nemesis.Plan, run func() (scenarios.Result, error)) error {
			r, err := run()
			if err != nil {
				return err
			}
			n++
			all.add(s, r.History, p.Faults[0])
			each(p.Faults[0])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, n
}

// locksOfOneRun returns some locks that a single fault in one run can break, and some sound locks.
func locksOfOneRun(t *testing.T) (all []*scenarios.Scenario) {
	t.Helper()
	sound := lateReleaseBy("script")
	for _, text := range []string{lateReleaseBy("del"), lateReleaseBy("get-then-del"), sound,
		strings.Replace(sound, "check-validity: on", "check-validity: off", 1),
		strings.Replace(sound, "ttl:", "value: fixed, ttl:", 1)} {
		s, err := scenarios.Parse("late.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all[:testkit.Size(1, len(all), len(all))]
}

// TestClassesOfDelaysLoseNothing delays messages for many different lengths of time. Each violation that occurs must
// also occur with the enumerated delays.
func TestClassesOfDelaysLoseNothing(t *testing.T) {
	step := time.Duration(testkit.Size(80, 80, 4)) * time.Millisecond
	seen := ways{}
	for _, s := range locksOfOneRun(t) {
		messages := map[string]nemesis.Fault{}
		got, few := waysOf(t, s, 1, func(f nemesis.Fault) {
			if f.Kind == nemesis.DelayMessage {
				f.By = 0
				messages[f.String()] = f
			}
		})
		if len(messages) < 15 {
			t.Errorf("only %d messages", len(messages))
		}
		maps.Copy(seen, compareWays(t, s, got, few, func(try func(nemesis.Fault)) {
			for _, name := range slices.Sorted(maps.Keys(messages)) {
				f := messages[name]
				for f.By = step; f.By < 5*time.Second; f.By += step {
					try(f)
				}
			}
		}))
	}
	seen.include(t, "ownership removed by non-owner")
}

// TestClassesOfPausesLoseNothing pauses a process at each event, for many different lengths of time. Each violation
// that occurs must also occur with the enumerated pauses.
func TestClassesOfPausesLoseNothing(t *testing.T) {
	step := time.Duration(testkit.Size(600, 600, 60)) * time.Millisecond
	seen := ways{}
	for _, s := range locksOfOneRun(t) {
		s.Mix.Weights = draw.Weights{}
		s.Mix.Weights[nemesis.Pause] = 1
		got, few := waysOf(t, s, 1, func(nemesis.Fault) {})
		maps.Copy(seen, compareWays(t, s, got, few, func(try func(nemesis.Fault)) {
			names := s.Targets()
			for _, p := range nemesis.TargetsOf(&names).Processes {
				for _, at := range startsOf(t, s, step) {
					for length := step; length < 5*time.Second; length += step {
						try(nemesis.Fault{Kind: nemesis.Pause, Target: p, For: length,
							Trigger: nemesis.Trigger{Time: at}})
					}
				}
			}
		}))
	}
	seen.include(t, "mutual-exclusion holder outlived its lease")
}

// startsOf returns the instants at which a test makes faults strike, to check the verification's own, sparser
// enumeration: just before, at and just after each event in the fault-free run, and every multiple of step.
func startsOf(t *testing.T, s *scenarios.Scenario, step time.Duration) (all []time.Duration) {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(nemesis.Plan{Scenario: s.Name, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Duration(0)
	for i := range r.History.Events {
		at := r.History.Events[i].Time.Duration()
		end = max(end, at)
		all = append(all, max(at-time.Microsecond, 0), at, at+time.Microsecond)
	}
	for at := time.Duration(0); at < end; at += step {
		all = append(all, at)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lengths returns how long the faults of a test last: without end (0), for a moment, or for a multiple of step.
func lengths(step time.Duration) []time.Duration {
	all := []time.Duration{0, 10 * time.Millisecond}
	for length := step; length < 5*time.Second; length += step {
		all = append(all, length)
	}
	return all
}

// losingLocks returns scenarios of two kinds: the server loses keys when it crashes, or it syncs each write to disk and
// does not lose any.
func losingLocks(t *testing.T) (all []*scenarios.Scenario) {
	t.Helper()
	for _, release := range []string{"script", "del"} {
		for _, persistence := range []string{"none", "{append-fsync: everysec}", "{append-fsync: always}"} {
			text := strings.Replace(lateReleaseBy(release), "{append-fsync: always}", persistence, 1)
			s, err := scenarios.Parse("losing.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all[:testkit.Size(1, len(all), len(all))]
}

// TestClassesOfServerCrashesLoseNothing crashes or shuts down a server at each event, with many different downtimes.
// Each violation that occurs must also occur with the enumerated faults.
func TestClassesOfServerCrashesLoseNothing(t *testing.T) {
	step := time.Duration(testkit.Size(500, 500, 60)) * time.Millisecond
	seen := ways{}
	for _, s := range losingLocks(t) {
		for _, kind := range []nemesis.Kind{nemesis.Crash, nemesis.ShutDown} {
			s.Mix.Weights = draw.Weights{}
			s.Mix.Weights[kind] = 1
			losses := []nemesis.Loss{nemesis.LosesMemory}
			if kind == nemesis.Crash {
				losses = []nemesis.Loss{nemesis.LosesUnsynced, nemesis.LosesEverything}
			}
			got, few := waysOf(t, s, 1, func(nemesis.Fault) {})
			maps.Copy(seen, compareWays(t, s, got, few, func(try func(nemesis.Fault)) {
				for _, at := range startsOf(t, s, step) {
					for _, loss := range losses {
						for _, downtime := range lengths(step) {
							try(nemesis.Fault{Kind: kind, Target: "redis-1", Loss: loss, Restart: downtime,
								Trigger: nemesis.Trigger{Time: at}})
						}
					}
				}
			}))
		}
	}
	seen.include(t, "lease-exclusion lost in crash")
}

// renewedLock is a lock that its holder renews while working.
const renewedLock = `name: renewed
servers: {redis: 1, persistence: {append-fsync: always}}
clients: 2
lock: {protocol: set-nx-px, ttl: 600ms, timeout: 50ms, retry: {delay: 100ms..300ms},
  extension: {every: 200ms, limit: none}}
work: {cycles: 2, hold: 900ms, think: 50ms..200ms, check-validity: on, stop-when-lost: STOPS}
promise: [ownership, lease-exclusion, mutual-exclusion]
limit: 20s
`

// cutLocks returns locks for testing cut links. In two of them, the holder renews the lock, which is impossible during
// a cut. In one of these two, the holder notices that it cannot renew the lock; in the other, it does not.
func cutLocks(t *testing.T) []*scenarios.Scenario {
	t.Helper()
	all := locksOfOneRun(t)
	for _, stops := range []string{"on", "off"} {
		s, err := scenarios.Parse("renewed.yaml", []byte(strings.Replace(renewedLock, "STOPS", stops, 1)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// TestClassesOfCutsLoseNothing cuts one direction of a connection at each event, for many different lengths of time.
// Each violation that occurs must also occur with the enumerated cuts.
func TestClassesOfCutsLoseNothing(t *testing.T) {
	step := time.Duration(testkit.Size(3000, 3000, 150)) * time.Millisecond
	seen := ways{}
	for i, s := range cutLocks(t) {
		if i%testkit.Size(2, 1, 1) > 0 {
			continue
		}
		s.Mix.Weights = draw.Weights{}
		s.Mix.Weights[nemesis.Cut] = 1
		got, few := waysOf(t, s, 1, func(nemesis.Fault) {})
		names := s.Targets()
		maps.Copy(seen, compareWays(t, s, got, few, func(try func(nemesis.Fault)) {
			for _, client := range names.Clients {
				for _, server := range []sim.ProcessID{"redis-1", names.Resource} {
					for _, at := range startsOf(t, s, step) {
						for _, length := range lengths(step) {
							ends := [2][]sim.ProcessID{{client}, {server}}
							for from := range ends {
								try(nemesis.Fault{Kind: nemesis.Cut, Left: ends[from], Right: ends[1-from],
									OneWay: true, For: length, Trigger: nemesis.Trigger{Time: at}})
							}
						}
					}
				}
			}
		}))
	}
	seen.include(t, "mutual-exclusion holder outlived its lease")
}

// compareWays checks that each violation that the slow enumeration finds was also found by the fast one. It returns
// these violations.
func compareWays(t *testing.T, s *scenarios.Scenario, got ways, few int, slow func(try func(nemesis.Fault))) ways {
	t.Helper()
	all, many := ways{}, 0
	runner := scenarios.NewRunner(s)
	slow(func(f nemesis.Fault) {
		r, err := runner.Run(nemesis.Plan{Scenario: s.Name, Seed: 1, Faults: []nemesis.Fault{f}})
		if err != nil {
			t.Fatal(err)
		}
		many++
		all.add(s, r.History, f)
	})
	if few*5 > many {
		t.Errorf("%d runs in place of %d", few, many)
	}
	for way, f := range all {
		if _, shown := got[way]; !shown {
			t.Errorf("release by %s: no class shows %s, as %s does", s.Clients[0].Lock.Release, way, f)
		}
	}
	t.Logf("%d runs in place of %d: %v; the many show %v", few, many, slices.Sorted(maps.Keys(got)),
		slices.Sorted(maps.Keys(all)))
	return all
}

// include checks that the slow enumeration was thorough enough to find the given violation.
func (w ways) include(t *testing.T, violation string) {
	t.Helper()
	if _, shown := w[violation]; !shown {
		t.Errorf("%s: no fault of the slow enumeration leads to it", violation)
	}
}

// TestEachSingleFaultIsOne checks that each tried fault is valid, that its text parses back to the same fault, that it
// strikes a message that is actually sent, and that the scenario does not exclude it.
func TestEachSingleFaultIsOne(t *testing.T) {
	s, err := scenarios.Parse("redlock.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	names := s.Targets()
	kinds := map[nemesis.Kind]int{}
	lost := map[string]bool{}
	named, all := 0, 0
	singles, err := NewSingles(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range singles.Longest() {
		err := singles.Try(i, func(p nemesis.Plan, run func() (scenarios.Result, error)) error {
			f := p.Faults[0]
			if again, err := nemesis.Parse(f.String()); err != nil || !reflect.DeepEqual(again, f) {
				t.Errorf("%s parses back as %s: %v", f, again, err)
			}
			if err := nemesis.Validate(f, names); err != nil || excluded(s, &names, f) {
				t.Errorf("%s: %v, or excluded", f, err)
			}
			r, err := run()
			if len(r.Missed) > 0 {
				t.Errorf("%s: never struck", f)
			}
			if all++; f.Trigger.Message.Named() {
				named++
			}
			kinds[f.Kind]++
			if f.Kind == nemesis.Break {
				lost[f.String()] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(kinds) != 6 || named < all*2/3 {
		t.Errorf("%v, of which %d have a message's name", kinds, named)
	}
	runner := scenarios.NewRunner(s)
	runner.ReportSent(true)
	r, err := runner.Run(s.Plan(3))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Sent {
		for _, answer := range []bool{false, true} {
			f := r.Sent[i].Strike(nemesis.Fault{Kind: nemesis.Break}, answer)
			if !lost[f.String()] {
				t.Errorf("not lost: %s", f)
			}
			delete(lost, f.String())
		}
	}
	if len(lost) > 0 {
		t.Errorf("lost, but not sent: %v", lost)
	}
}

func TestWhatOneRunCannotHaveIsRefused(t *testing.T) {
	s, err := scenarios.Parse("redlock.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Faults: 2}, {Faults: 1, Delays: 2}, {Faults: 1, Orders: true},
		{Faults: 1, AllEnds: true}} {
		o.Requests = true
		if _, err := Scenario(context.Background(), s, o); !errors.Is(err, errOneRun) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	o := Options{Faults: 1, Requests: true, Kinds: []nemesis.Kind{nemesis.Drift}}
	if _, err := Scenario(context.Background(), s, o); !errors.Is(err, errNoKind) {
		t.Errorf("drift, of which not every one can be tried: %v", err)
	}
}

// TestTheClaimSaysWhatWasEnumerated checks that the claim gives the run's exact counts and says what was left out.
func TestTheClaimSaysWhatWasEnumerated(t *testing.T) {
	v := oneRun(t, lateReleaseBy("script"), Options{Seed: 7})
	runner := scenarios.NewRunner(v.Scenario)
	runner.ReportSent(true)
	r, err := runner.Run(v.Scenario.Plan(7))
	if err != nil {
		t.Fatal(err)
	}
	text := squeezed(verifyText(t, &Report{Verification: v}, 80))
	for _, want := range []string{"late single faults in the run with seed 7 holds",
		fmt.Sprintf("In the run with seed 7, none of %d single faults breaks", v.Lengths[1].Schedules),
		fmt.Sprintf("break each of %d requests and replies lost once: %[1]d runs", 2*len(r.Sent)),
		fmt.Sprintf("each of %d messages delayed past each threshold", 2*len(r.Sent)),
		"two faults at once, and other seeds", "pause: the scenario's mix does not include it"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "No way of placing") || strings.Contains(text, "every nanosecond") {
		t.Errorf("it claims more than was tried:\n%s", text)
	}
}

// TestAnOwnFaultThatNeverStrikesIsReported checks a scenario with a fault that never strikes. The report must name this
// fault and list the requests that were sent. A fault must be rejected if its message name matches two messages.
func TestAnOwnFaultThatNeverStrikesIsReported(t *testing.T) {
	text := lateReleaseBy("script") + "faults:\n  - delay the 40th DEL of client-2 to redis-1 by 7s\n"
	for _, o := range []Options{{Faults: 0, Delays: 1}, {Faults: 1, Requests: true,
		Kinds: []nemesis.Kind{nemesis.Break}}} {
		o.Seed, o.KeepFaults = 1, true
		s, err := scenarios.Parse("verified.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Scenario(context.Background(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		want := "never struck delay the 40th DEL of client-2 to redis-1 by 7s without another fault: client-2 asked for"
		if text := squeezed(verifyText(t, &Report{Verification: v}, 80)); !strings.Contains(text, want) {
			t.Errorf("%+v: %q is missing in\n%s", o, want, text)
		}
		s, err = scenarios.Parse("verified.yaml", []byte(strings.Replace(text, "40th DEL", "2nd \"…\"", 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Scenario(context.Background(), s, o); err == nil || !strings.Contains(err.Error(),
			`"…" matches both "SET" and "release"`) {
			t.Errorf("an ambiguous name: %v", err)
		}
	}
}

func TestTheRoundestDurationBetweenTwo(t *testing.T) {
	for _, c := range []struct{ lo, hi, soon, want time.Duration }{
		{0, time.Second, 200 * time.Millisecond, 100 * time.Millisecond},
		{1200 * time.Millisecond, 9 * time.Second, time.Second, 2 * time.Second},
		{1200 * time.Millisecond, 9 * time.Second, 100 * time.Millisecond, 1300 * time.Millisecond},
		{3, 4, 1, 0}, {3, 5, 0, 4}, {time.Second, time.Second + 2, 0, time.Second + 1},
		{0, time.Minute, time.Minute, 10 * time.Second},
	} {
		if got := roundest(c.lo, c.hi, c.soon); got != c.want {
			t.Errorf("between %v and %v: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
	if got := durationsBetween([]sim.Time{30, 10, 10, 11}, 5, 4); !slices.Equal(got, []time.Duration{1, 10}) {
		t.Errorf("got %v", got)
	}
}
