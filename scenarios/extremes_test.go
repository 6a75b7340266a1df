package scenarios

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestEveryExtremeOfASettingRuns sets each numeric setting to the smallest and the largest value that it accepts. It
// varies each setting on its own, both with the usual servers and with a single server whose fsyncs take no time. One
// more file sets all settings to their smallest values. The test runs each protocol with these values, without faults
// and with faults of all kinds, and judges the history.
func TestEveryExtremeOfASettingRuns(t *testing.T) {
	if testkit.Race {
		t.Skip("thousands of runs, each on one goroutine")
	}
	nth := testkit.Size(48, 16, 1) // by default, a sample is tried, which is another one for each protocol
	for n, d := range locks.Definitions() {
		t.Run(string(d.Name), func(t *testing.T) {
			testkit.OneIn(t, 4)
			t.Parallel()
			usual := documentOf(t, minimal[d.Name]+"clients: 3\nwork: {cycles: 2, writes: 1}\nlimit: 60s\n")
			one := usual.Clone()
			one.Set("servers."+string(d.Backend), "1")
			one.Set("servers.fsync", "0s")
			least, extremes, tried := one.Clone(), 0, 0
			for _, base := range []*format.Document{usual, one} {
				if !runsAnyway(t, base) {
					t.Errorf("not accepted:\n%s", base)
				}
				for _, v := range extremeVariables() {
					if doc := withFirst(least, v.Path, leastOf[v.Kind]); doc != nil {
						least = doc
					}
					for _, values := range [][]string{leastOf[v.Kind], greatestOf[v.Kind]} {
						doc := withFirst(base, v.Path, values)
						if doc == nil {
							continue
						}
						if extremes++; extremes%nth == n%nth {
							tried++
							runsAnyway(t, doc)
						}
					}
				}
			}
			if !runsAnyway(t, least) {
				t.Errorf("not accepted:\n%s", least)
			}
			if tried < testkit.Size(1, 4, 60) {
				t.Errorf("%d of %d extremes were tried", tried, extremes)
			}
		})
	}
}

// leastOf and greatestOf list the values to try for each kind of setting. The first one that a setting accepts is its
// extreme. The values for counts are small, so that runs stay short.
var (
	leastOf = map[format.Kind][]string{
		format.Duration: {"0s", "1ns", "1ms", "1s", "2s", "4s"}, format.Delay: {"0s", "0s..1ms"},
		format.Count: {"0", "1", "2"}, format.Allowance: {"0%"}, format.Share: {"100% 0s"},
	}
	greatestOf = map[format.Kind][]string{
		format.Duration: {"24h", "40s", "9s"}, format.Delay: {"24h", "0s..24h"}, format.Count: {"9", "3"},
		format.Allowance: {"99%"}, format.Share: {"100% 24h"},
	}
)

// extremeVariables returns the numeric settings that affect runs.
func extremeVariables() (list []Variable) {
	all, _ := Variables()
	for _, v := range all {
		judged := kindOfOutcome(v.Path) != "run" && v.Path != "bound"
		servers := slices.ContainsFunc(backends, func(b *Backend) bool { return v.Path == "servers."+string(b.Kind) })
		if len(leastOf[v.Kind]) > 0 && !judged && !servers && v.Path != "limit" {
			list = append(list, v)
		}
	}
	return list
}

// withFirst returns a copy of the document in which the setting at path has the first of the given values that it
// accepts, or nil if it accepts none of them.
func withFirst(doc *format.Document, path string, values []string) *format.Document {
	for _, value := range values {
		with := doc.Clone()
		with.Set(path, value)
		if _, err := Parse("x.yaml", []byte(with.String())); err == nil {
			return with
		}
	}
	return nil
}

// runsAnyway runs a scenario without faults, with random faults, and with faults that strike all clients or servers. It
// reports whether the file was accepted.
func runsAnyway(t *testing.T, doc *format.Document) (accepted bool) {
	s, err := Parse("x.yaml", []byte(doc.String()))
	if err != nil {
		return false
	}
	plans := []nemesis.Plan{{Seed: 1}}
	random, err := draw.NewGenerator(s.Mix, s.Targets(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(2) {
		plans = append(plans, nemesis.Plan{Seed: seed, Faults: random.Draw(seed)})
	}
	for _, lines := range faultsOfAll(s) {
		p := nemesis.Plan{Seed: 1}
		for _, line := range lines {
			if f, err := nemesis.ParseFor(line, s.Targets()); err == nil {
				p.Faults = append(p.Faults, f)
			}
		}
		plans = append(plans, p)
	}
	for _, p := range plans {
		runJudged(t, s, p)
	}
	return true
}

// faultsOfAll returns plans in which all clients, or all servers, suffer the same fault.
func faultsOfAll(s *Scenario) (plans [][]string) {
	var ended, paused []string
	for i, at := range []string{"after acquired", "at 10ms", "at 1s"} {
		ended = append(ended, fmt.Sprintf("expire session of client-%d %s", i+1, at))
		paused = append(paused, fmt.Sprintf("pause client-%d for 30s %s", i+1, at))
	}
	plans = append(plans, ended, paused)
	for _, stop := range []string{"crash %s losing unsynced writes", "crash %s losing everything", "shut down %s"} {
		var lines []string
		for _, server := range s.Servers.names() {
			lines = append(lines, fmt.Sprintf(stop+" at 300ms, restart after 100ms", server))
		}
		plans = append(plans, lines)
	}
	return plans
}

// runJudged runs a plan and judges its history.
func runJudged(t *testing.T, s *Scenario, p nemesis.Plan) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			stack, _, _ := strings.Cut(string(debug.Stack()), "testing.tRunner")
			t.Errorf("%s\n%s\npanic: %v\n%s", s.Text(), p, r, stack)
		}
	}()
	r, err := NewRunner(s).Run(p)
	if err != nil {
		t.Errorf("%s\n%s\n%v", s.Text(), p, err)
		return
	}
	s.Judge(r)
}
