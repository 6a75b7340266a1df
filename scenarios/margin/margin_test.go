package margin

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// measured is a run, its verdict and its closest calls.
type measured struct {
	scenarios.Result
	verdict checker.Verdict
	calls   []Call
}

// meter performs runs of one scenario and measures them.
type meter struct {
	runner  *scenarios.Runner
	checker checker.Checker
	reader  Reader
}

func newMeter(s *scenarios.Scenario) *meter {
	m := &meter{runner: scenarios.NewRunner(s)}
	m.runner.ReportSent(true)
	return m
}

func (m *meter) measure(t *testing.T, p nemesis.Plan) measured {
	t.Helper()
	r, err := m.runner.Run(p)
	if err != nil {
		t.Fatal(err)
	}
	v := m.checker.Check(r.History)
	return measured{r, v, m.reader.Read(m.checker.Trace(r.History), &v, r.Sent)}
}

// closestOf returns the closest call among those in which a law could have been violated in way w. ok is false if there
// was none.
func (m *measured) closestOf(w Way) (c Call, ok bool) {
	i := slices.IndexFunc(m.calls, func(c Call) bool { return c.Way == w })
	if i < 0 {
		return c, false
	}
	return m.calls[i], true
}

// each calls f for runs of the named catalog scenarios, both under their own faults and under random faults.
func each(t *testing.T, names []string, seeds int, f func(t *testing.T, s *scenarios.Scenario, m measured)) {
	for _, name := range names {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := draw.NewGenerator(s.Mix, s.Targets(), s.Limit)
		if err != nil {
			t.Fatal(err)
		}
		meter := newMeter(s)
		f(t, s, meter.measure(t, s.Plan(1)))
		for seed := range uint64(seeds) {
			f(t, s, meter.measure(t, nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: g.Draw(seed)}))
		}
	}
}

// TestAMarginIsZeroExactlyIfTheLawIsViolated checks that a way's margin is 0 if and only if the checker found a law
// violated in that way. All other margins must be positive. If a law is violated, it must not have a positive margin.
func TestAMarginIsZeroExactlyIfTheLawIsViolated(t *testing.T) {
	zero, positive := [Ways]int{}, [Ways]int{}
	each(t, scenarios.Names(), testkit.Size(1, 3, 200), func(t *testing.T, s *scenarios.Scenario, m measured) {
		want := map[Way]bool{}
		broken := map[checker.Law]bool{}
		for b := range m.verdict.Breaches() {
			if w, ok := violatedIn(b.Law, b.Cause); ok {
				want[w], broken[b.Law] = true, true
			}
		}
		for _, c := range m.calls {
			switch {
			case c.Value < 0 || math.IsNaN(c.Value) || math.IsInf(c.Value, 0):
				t.Errorf("%s, %v: a margin of %v\n%s", s.Name, c.Way, c.Value, m.Plan)
			case (c.Value == 0) != want[c.Way], c.Value > 0 && broken[c.Way.Law()]:
				t.Errorf("%s, %v: a margin of %v, although the law came out as %v\n%s", s.Name, c.Way, c.Value,
					m.verdict.Of(c.Way.Law()).Outcome, m.Plan)
			case c.Value == 0:
				zero[c.Way]++
			default:
				positive[c.Way]++
			}
			delete(want, c.Way)
		}
		if len(want) > 0 {
			t.Errorf("%s: no margin of %v\n%s", s.Name, want, m.Plan)
		}
	})
	for w := range Way(Ways) {
		if zero[w] == 0 || positive[w] == 0 {
			t.Errorf("%v: a margin of 0 in %d runs, a positive one in %d", w, zero[w], positive[w])
		}
	}
}

// lostInCrashes returns the servers that lost an attempt's key in a crash, in the half-open interval [from, to). It
// uses only the servers' records.
func lostInCrashes(h *history.History, of history.Attempt, from, to history.Time) (servers []history.Process) {
	for i := range h.Events {
		e := &h.Events[i]
		lost := e.Why == history.LostUnpersisted || e.Why == history.LostUnsynced || e.Why == history.LostDisk
		if e.F == history.KeyGone && lost && e.Of == of && e.Time >= from && e.Time < to &&
			!slices.Contains(servers, e.Process) {
			servers = append(servers, e.Process)
		}
	}
	slices.Sort(servers)
	return servers
}

// TestWhatWasLostIsWhatTheServersRecorded checks that a close call lists a server as having lost keys in a crash only
// if the server's records say so.
func TestWhatWasLostIsWhatTheServersRecorded(t *testing.T) {
	told := 0
	names := []string{"restart-forgets", "single-restart-forgets", "restart-everysec"}
	each(t, names, testkit.Size(150, 150, 2000), func(t *testing.T, s *scenarios.Scenario, m measured) {
		c, ok := m.closestOf(Crashes)
		if !ok || c.Value == 0 {
			return
		}
		recorded := lostInCrashes(m.History, c.Attempt, 0, c.To)
		for _, l := range c.Gone {
			told++
			if !slices.Contains(recorded, l.Server) {
				t.Errorf("%s: %v, but the servers that lost it are %v\n%s", s.Name, l, recorded, m.Plan)
			}
		}
		if len(c.Gone) > len(recorded) {
			t.Errorf("%s: %v of %v\n%s", s.Name, c.Gone, recorded, m.Plan)
		}
	})
	if told < 10 {
		t.Errorf("only %d keys were lost in crashes", told)
	}
}

const redlock = `name: three
servers: {redis: 3, persistence: none}
lock: {protocol: redlock, ttl: 10s}
work: {hold: 5s, stagger: 100ms}
`

// TestEachLostKeyComesCloser checks that each additional fault brings the second client closer to the lock. After the
// last fault, the second client holds the lock at the same time as the first.
func TestEachLostKeyComesCloser(t *testing.T) {
	s, err := scenarios.Parse("three.yaml", []byte(redlock))
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter(s)
	var faults []nemesis.Fault
	before := math.Inf(1)
	for i, step := range []struct {
		line    string
		missing int
		said    string
	}{
		{"", 2, ""},
		{"crash redis-1 losing everything at 1s, restart after 10ms", 1,
			"the lease of client-1 ran until 5.0"},
		{"crash redis-2 losing everything at 2s, restart after 10ms", 0, ""},
	} {
		if step.line != "" {
			f, err := nemesis.Parse(step.line)
			if err != nil {
				t.Fatal(err)
			}
			faults = append(faults, f)
		}
		run := m.measure(t, nemesis.Plan{Scenario: s.Name, Seed: 1, Faults: faults})
		c, ok := run.closestOf(Crashes)
		if !ok || c.Value >= before || c.Missing != step.missing || len(c.Gone) != min(i, 1) && c.Value > 0 {
			t.Errorf("after %d crashes: %+v, %v", i, c, ok)
		}
		if (c.Value == 0) != (i == 2) {
			t.Errorf("after %d crashes the margin is %v, and lease-exclusion %v", i, c.Value,
				run.verdict.Of(checker.LeaseExclusion).Outcome)
		}
		if said := c.String(); step.said != "" && (!c.Telling() || !strings.HasPrefix(said, step.said) ||
			!strings.HasSuffix(said, "redis-1 lost its key in a crash at 1.010 s, while client-2 was asking for the "+
				"lock. "+
				"The loss of 1 more key (of 3) would have let it acquire the lock.")) {
			t.Errorf("%q", said)
		}
		before = c.Value
	}
}

// TestACallIsWrittenAndRead checks that a close call does not change when it is encoded as JSON and decoded.
func TestACallIsWrittenAndRead(t *testing.T) {
	for w := range Way(Ways) {
		want := Call{Way: w, Value: 0.5, Holder: "client-1", Gone: []Loss{{"redis-1", 5, w}},
			Standing: []history.Process{"redis-2"}, After: history.Never}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Call
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if err := new(Way).UnmarshalText([]byte("by magic")); err == nil {
		t.Error("there is no such way")
	}
}

// TestNothingIsCloseWithoutFaults checks that a fault-free run has no close call worth reporting. There are two
// exceptions: the holders work in the last tenth of their leases, or the lock can be broken without a fault.
func TestNothingIsCloseWithoutFaults(t *testing.T) {
	toTheEnd := []string{"no-drift-allowance", "drift-allowance", "skew-of-an-hour", "printed-simple-lock-late-release",
		"kubernetes-own-lease-duration", "shared-lock-object-value-of-call", "reentrant-uncounted",
		"hash-counter-watchdog-stops"}
	for _, name := range toTheEnd {
		if !slices.Contains(scenarios.Names(), name) {
			t.Errorf("the catalog has no %s", name)
		}
	}
	for _, name := range testkit.Sample(t, scenarios.Names()) {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		m := newMeter(s).measure(t, nemesis.Plan{Scenario: name, Seed: 1})
		close := slices.ContainsFunc(m.calls, func(c Call) bool { return c.Telling() })
		if close != slices.Contains(toTheEnd, name) {
			t.Errorf("%s: close calls without faults: %v: %+v", name, close, m.calls)
		}
	}
}

// TestWhatAHolderDidIsTold checks that the report gives the time of a holder's act relative to the end of its lease. If
// another client entered before the lease had ended, it gives the time relative to that client's entry.
func TestWhatAHolderDidIsTold(t *testing.T) {
	const s = history.Time(1_000_000_000)
	call := func(w Way, value float64, at, after history.Time) *Call {
		return &Call{Way: w, Value: value, Holder: "client-1", Next: "client-2", At: at, After: after, To: 10 * s}
	}
	for _, c := range []struct {
		call *Call
		want string
	}{
		{call(Outlives, 1.05, 9*s, 3*s), "client-1 left its section 1.00 s before its lease ended."},
		{call(Outlives, 0.4, 6*s, 2*s), "client-1 had left its critical section 2.00 s before client-2 came in, " +
			"although the lease of client-1 was still valid."},
		{call(Writes, 0.4, 6*s, 2*s), "client-1 wrote 2.00 s before client-2 used the resource, although the lease " +
			"of client-1 was still valid."},
		{call(Writes, 0.999, 6*s, history.Never), "client-1 wrote 4.00 s before its lease ended."},
		{call(Outlives, 0.5, 11*s, 2*s), "client-1 left its section 1.00 s after its lease had ended; client-2 came " +
			"in 2.00 s later."},
		{&Call{Way: Requests, Holder: "client-1", Next: "client-2", After: s, Standing: []history.Process{"redis-1"}},
			"the last request from client-1 reached redis-1 1.00 s before client-2 set its key there."},
		{&Call{Way: Requests, Holder: "client-1", Next: "client-1", After: s, Standing: []history.Process{"redis-1"}},
			"the last request from client-1 reached redis-1 1.00 s before the next attempt of client-1 set its key " +
				"there."},
	} {
		if got := c.call.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestKeysOfEarlierTriesProtectNothing checks that the lease does not count as too long just because the key that an
// earlier try has set expires first. It counts as too long only if none of the grant's keys lasts as long as the lease.
func TestKeysOfEarlierTriesProtectNothing(t *testing.T) {
	const s = history.Time(1_000_000_000)
	key := func(unit history.Process, set history.Time, next int32) hold {
		return hold{unit: unit, server: unit, of: "client-1/1", set: set, due: set + 8*s, gone: history.Never,
			next: next}
	}
	for _, c := range []struct {
		holds       []hold
		units, need int
		want        history.Time
	}{
		{[]hold{key("redis-1", 1*s, 1), key("redis-1", 5*s, none)}, 1, 1, 13 * s},
		{[]hold{key("redis-1", 1*s, none)}, 1, 1, 9 * s},
		{[]hold{key("redis-1", 1*s, 1), key("redis-2", 2*s, 2), key("redis-1", 5*s, 3), key("redis-2", 6*s, none)},
			3, 2, 13 * s},
	} {
		r := &Reader{holds: c.holds, units: c.units, need: c.need, first: map[history.Attempt]int32{"client-1/1": 0}}
		if got, ok := r.protects(&trace.Grant{Attempt: "client-1/1"}, 6*s); !ok || got != c.want {
			t.Errorf("%v, %v, want %v", got, ok, c.want)
		}
	}
}

// TestKeysOfEarlierTriesDoNotCount checks that if an attempt sets its key on a server several times, only the key that
// exists when the lock is granted counts. An attempt that retries twice sets its key on a server three times and
// removes it twice. A server that loses that key twice is counted once.
func TestKeysOfEarlierTriesDoNotCount(t *testing.T) {
	const s = history.Time(1_000_000_000)
	key := func(set, gone history.Time, next int32) hold {
		return hold{unit: "redis-1", server: "redis-1", of: "client-1/1", set: set, due: set + 8*s, gone: gone,
			way: Removed, by: "client-1/1", next: next, overtaken: none}
	}
	grant := &trace.Grant{Attempt: "client-1/1", Until: 12 * s, Release: trace.Open,
		Lease: &history.Grant{Granted: 4 * s}}
	for _, c := range []struct {
		holds []hold
		want  string
	}{
		{[]hold{key(1*s, 1100e6, 1), key(2*s, 2100e6, 2), key(3*s, history.Never, none)}, "[]"},
		{[]hold{key(1*s, 1100e6, 1), key(2*s, 2100e6, 2), key(3*s, 5*s, none)},
			"[redis-1 had its key removed at 5.000 s]"},
		{[]hold{key(3*s, 5*s, 1), key(6*s, 7*s, none)}, "[redis-1 had its key removed at 5.000 s]"},
		{[]hold{key(1*s, 1100e6, none)}, "[redis-1 had its key removed at 1.100 s]"},
	} {
		r := &Reader{t: &trace.Trace{History: &history.History{}}, holds: c.holds, units: 1, need: 1,
			first: map[history.Attempt]int32{"client-1/1": 0}}
		l, known := r.lost(grant, 10*s, "client-2")
		gone, free := l.keysLost(Removed)
		if fmt.Sprint(gone) != c.want || len(free) != len(gone) || !known {
			t.Errorf("%v, want %s", gone, c.want)
		}
	}
}
