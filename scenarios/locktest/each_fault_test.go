package locktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// everyFault is the Config for a test that tries each single fault in a short run.
func everyFault(lock constructor) Config {
	return Config{New: lock, EachFault: true, Clients: 2, Cycles: testkit.Size(1, 1, 2), Hold: 300 * time.Millisecond,
		SkipTrial: true, Faults: append(Faults{"delay message", "break"}, Pauses...),
		Laws: []checker.Law{checker.Ownership}}
}

// TestEachSingleFaultOfARun checks Config.EachFault with two locks. For a lock that deletes its key without comparing
// the owner, EachFault must find the message whose delay makes the lock delete another client's key. A lock that
// compares the owner must pass, and the summary must say which faults were tried.
func TestEachSingleFaultOfARun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short tries the first places alone")
	}
	t.Run("sound", func(t *testing.T) {
		p := examine(t, everyFault(newPlain))
		if p == nil {
			return
		}
		if f := p.failures(); len(f) > 0 || len(p.problems) > 0 {
			t.Fatalf("%v %q\n%s", found(p), p.problems, p.summary())
		}
		lost, late, paused := 0, 0, 0
		for _, r := range p.runs {
			switch r.Kind {
			case nemesis.Break:
				lost++
			case nemesis.DelayMessage:
				late++
			case nemesis.Pause:
				paused++
			}
		}
		if lost < testkit.Size(2, 8, 20) || late < 3*lost || paused < lost {
			t.Errorf("%d lost, %d late, %d paused", lost, late, paused)
		}
		summary := strings.Join(strings.Fields(p.summary()), " ")
		for _, want := range []string{fmt.Sprintf("break each of %d requests and replies lost once: %[1]d runs", lost),
			fmt.Sprintf("%d places, %d runs", len(p.listed.Longest), len(p.runs)),
			"two faults at once, and other seeds",
			"crash: the scenario's mix does not include it"} {
			if !strings.Contains(summary, want) {
				t.Errorf("%q is missing in\n%s", want, p.summary())
			}
		}
	})
	t.Run("careless", func(t *testing.T) {
		r, ok := Explore(t, everyFault(newCareless))
		if !ok {
			return
		}
		if len(r.Breaches) == 0 || r.Breaches[0].Law != checker.Ownership {
			t.Fatalf("%+v", r)
		}
		small, err := r.Shrink(r.Breaches[0])
		if err != nil {
			t.Fatal(err)
		}
		plan, err := nemesis.ParsePlan("plan", []byte(small.Plan))
		if err != nil || len(plan.Faults) != 1 || !small.Minimal {
			t.Errorf("%v, minimal %t\n%s", err, small.Minimal, small.Plan)
		}
	})
}

// TestASingleFaultIsRepeatedByItsNumber checks that the report of a failure contains a command that repeats it. The
// command runs a subtest, and the subtest's name contains the fault's number. The summary must name the fault, and the
// shrunk plan must be stored in a file.
func TestASingleFaultIsRepeatedByItsNumber(t *testing.T) {
	p := examine(t, everyFault(newCareless))
	if p == nil {
		return
	}
	g := p.groups()[0]
	story := p.story(g)
	if want := fmt.Sprintf("/^fault=%d$'", g.first.Seed); !strings.Contains(story, want) {
		t.Errorf("%q is missing in\n%s", want, story)
	}
	if !strings.Contains(strings.Join(strings.Fields(p.summary()), " "), p.fault(&g.first)) {
		t.Errorf("%q is missing in\n%s", p.fault(&g.first), p.summary())
	}
	folder := filepath.Join("_runs", fmt.Sprintf("a-single-fault-is-repeated-by-its-number-fault%d-ownership",
		g.first.Seed))
	if _, err := os.Stat(filepath.Join(folder, search.PlanFile)); err != nil {
		t.Error(err)
	}
	_ = os.RemoveAll("_runs")
}

// fickle is a lock from a library that behaves differently in every second run: it acquires the lock one extra time.
type fickle struct{ plain }

var fickleClients int

func (l *fickle) Lock(ctx context.Context) error {
	if l.n == 0 {
		if fickleClients++; fickleClients%4 < 2 {
			if err := errors.Join(l.plain.Lock(ctx), l.plain.Unlock(ctx)); err != nil {
				return err
			}
		}
	}
	return l.plain.Lock(ctx)
}

// TestALibraryWhoseRunsDifferIsReported checks that if two runs of a library differ although they should be equal,
// faults that name a message are still tried. The others must be skipped, and the report must say how many there are.
func TestALibraryWhoseRunsDifferIsReported(t *testing.T) {
	p := examine(t, everyFault(making(func(c *Client) Lock { return &fickle{plain{c: c, ttl: 8 * time.Second}} })))
	if p == nil {
		return
	}
	if !p.listed.Differs || p.listed.Unnamed == 0 || len(p.listed.Longest) < 40 || len(p.problems) > 0 {
		t.Fatalf("differs %t, %d unnamed of %d, %q", p.listed.Differs, p.listed.Unnamed, len(p.listed.Longest),
			p.problems)
	}
	for _, line := range p.listed.Longest {
		if f, err := nemesis.Parse(line); err != nil || !f.Trigger.Message.Named() {
			t.Errorf("%s: %v", line, err)
		}
	}
	summary := strings.Join(strings.Fields(p.summary()), " ")
	for _, want := range []string{"two fault-free runs with seed 1 differ",
		fmt.Sprintf("which leaves out %d places", p.listed.Unnamed), "was never sent"} {
		if !strings.Contains(summary, want) {
			t.Errorf("%q is missing in\n%s", want, p.summary())
		}
	}
}

func TestWhatDoesNotGoWithEachFault(t *testing.T) {
	for want, c := range map[string]Config{
		"Config.Plan cannot be used with EachFault: each run has a single fault": {EachFault: true,
			Plan: []string{}},
		"Config.Seeds cannot be used with EachFault: all faults are tried in a run with the same seed": {
			EachFault: true,
			Seeds:     5},
		"": {EachFault: true},
	} {
		if got := c.eachFaultRefused(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhatDoesNotGoWithAScenario(t *testing.T) {
	for want, c := range map[string]Config{
		"Config.Seeds must not be negative: it is -1": {Seeds: -1},
		"Config.Servers cannot be used with Scenario: write it in the scenario file, lock.yaml": {Scenario: "lock.yaml",
			Servers: Redis(3)},
		"Config.Plan cannot be used with Scenario: write it in the scenario file, lock.yaml": {Scenario: "lock.yaml",
			Plan: []string{"pause client-1 for 3s at 1s"}},
		"Config.Precautions cannot be used with Scenario: write it in the scenario file, lock.yaml": {
			Scenario: "lock.yaml", Precautions: Precautions{Fences: true}},
		"": {Scenario: "lock.yaml", Plan: []string{}, Seeds: 5, SkipTrial: true, Laws: LeaseLaws},
	} {
		if got := c.fieldsRefused(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAFaultThatNeverStrikesIsReported checks that the report says so if a fault names a message that no run sends. A
// name that matches two messages must be rejected, and both messages must be listed.
func TestAFaultThatNeverStrikesIsReported(t *testing.T) {
	for line, want := range map[string]string{
		"delay the 40th DEL of client-2 to redis-1 by 7s": "never struck: client-2 asked for",
		`delay the 2nd "…" of client-2 to redis-1 by 7s`:  `"…" matches both "SET" and "`,
		"delay the 2nd SET of client-2 to redis-1 by 7s":  "",
	} {
		t.Run(strings.Fields(line)[3], func(t *testing.T) {
			p := examine(t, Config{New: newPlain, Seeds: 3, SkipTrial: true, Plan: []string{line}})
			if p == nil {
				return
			}
			problems := strings.Join(p.problems, "\n")
			if (problems == "") != (want == "") || !strings.Contains(problems, want) || len(p.failures()) > 0 ||
				want == "" && len(p.runs) != 3 {
				t.Errorf("%s: %d runs, %q, want %q; %v", line, len(p.runs), problems, want, p.failures())
			}
		})
	}
}

// TestEveryBrokenRunIsAccountedFor checks that every run that breaks a law is listed among the findings, unless the
// summary explains why no lock can uphold this law under these faults.
func TestEveryBrokenRunIsAccountedFor(t *testing.T) {
	c := everyFault(newPlain)
	c.Faults, c.Clients, c.Cycles, c.Laws = Faults{"shut down"}, 1, 1, []checker.Law{checker.DeadlockFreedom}
	p := examine(t, c)
	if p == nil {
		return
	}
	listed, l := 0, p.laws()[slices.Index(checker.Laws, checker.DeadlockFreedom)]
	for _, f := range p.failures() {
		listed += f.runs
	}
	summary := strings.Join(strings.Fields(p.summary()), " ")
	want := fmt.Sprintf("deadlock-freedom is broken in %d of %d runs "+
		"after the servers had lost their quorum for good; "+
		"no lock helps in that case, so this breaks no promise unless Config.Availability is "+
		"set", l.Violated-listed, len(p.runs))
	if l.Violated == listed || !strings.Contains(summary, want) {
		t.Errorf("%d broken, %d listed: %q is missing in\n%s", l.Violated, listed, want, p.summary())
	}
}
