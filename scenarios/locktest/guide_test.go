package locktest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// guided returns a Config that tests a lock with a scenario's mix of faults. Unless the test has its smallest size, its
// seeds extend beyond the first block of 512.
func guided(t *testing.T, mix string, lock constructor) Config {
	t.Helper()
	if testing.Short() {
		t.Skip("-short makes too few runs for any to be guided")
	}
	file := filepath.Join(t.TempDir(), "guided.yaml")
	text := "name: guided\nservers: {redis: 1}\nclients: 2\nlock: {protocol: library, ttl: 8s}\n" +
		"work: {cycles: 2, hold: 3s}\nmix: {" + mix + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Config{New: lock, Scenario: file, Seeds: testkit.Size(128, 515, 1100), SkipTrial: true,
		Laws: []checker.Law{checker.Ownership}, IgnoredGoroutines: []string{"statistics"}}
}

// unlucky is a lock that fails in some runs. Whether it fails depends only on the seed, so a run whose plan is a
// variation of a failing run's plan also fails.
type unlucky struct {
	careless
	fail func()
}

func (l *unlucky) Lock(ctx context.Context) error {
	var drawn [1]byte
	if l.n == 1 && l.c.Name == "client-1" {
		if _, err := rand.Read(drawn[:]); err == nil && drawn[0] < 10 {
			l.fail()
		}
	}
	return l.careless.Lock(ctx)
}

// outcomes returns each run's digest, by seed, or "failed" for a run that could not be judged.
func outcomes(p *parent) map[uint64]string {
	all := map[uint64]string{}
	for _, r := range p.runs {
		all[r.Seed] = fmt.Sprintf("%x", r.Digest)
		if r.Failure != "" {
			all[r.Seed] = "failed"
		}
	}
	return all
}

// TestAGuidedRunIsAFunctionOfItsSeed checks that a seed always leads to the same run, whatever the number of workers,
// and even if no other seed is requested. This must also be true if workers are replaced in the middle of a block of
// seeds because the lock leaves goroutines behind or ends its process.
func TestAGuidedRunIsAFunctionOfItsSeed(t *testing.T) {
	testkit.ThoroughOnly(t)
	folder := t.TempDir() // this folder also receives temporary files of workers that end without removing them
	t.Setenv("TMPDIR", folder)
	t.Setenv("GOTMPDIR", folder)
	const mix = "guided: 80%, aimed: 0%"
	examined := func(name, mix string, lock constructor) (p *parent) {
		t.Run(name, func(t *testing.T) { p = examine(t, guided(t, mix, lock)) })
		return p
	}
	failing := func(fail func()) constructor {
		return making(func(c *Client) Lock { return &unlucky{careless{plain{c: c, ttl: 8 * time.Second}}, fail} })
	}
	whole := examined("panics", mix, failing(func() { panic("unlucky") }))
	replaced := examined("ends its process", mix, failing(func() { os.Exit(3) }))
	crowded := replaced
	if testkit.Full() {
		crowded = examined("leaves goroutines behind", mix, failing(func() {
			for range frozenCrowd + 1 {
				go statistics()
			}
			panic("unlucky")
		}))
	}
	var drawn *parent
	if testkit.Full() {
		drawn = examined("guides nothing", "guided: 0%, aimed: 0%", failing(func() { panic("unlucky") }))
	}
	if whole == nil || replaced == nil || crowded == nil {
		return
	}
	want := outcomes(whole)
	failed, other := 0, 0
	for seed, outcome := range want {
		if outcome == "failed" {
			failed++
		}
		if drawn != nil && outcome != outcomes(drawn)[seed] {
			other++
		}
	}
	if failed < 3 || len(want) != whole.config.Seeds || drawn != nil && other < len(want)/8 {
		t.Fatalf("of %d runs %d failed, and %d are not those that nothing guides", len(want), failed, other)
	}
	for name, p := range map[string]*parent{"ends its process": replaced, "leaves goroutines behind": crowded} {
		if got := outcomes(p); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v; %q", name, got, want, p.problems)
		}
	}
	for workers := testkit.Size(2, 2, 1); workers <= testkit.Size(2, 2, 3); workers++ {
		again := &parent{t: whole.t, config: whole.config, call: whole.call, begun: whole.begun, guided: true}
		asked := []uint64{200, 201}
		if testkit.Full() {
			asked = []uint64{200, 201, 700, 1030}
		}
		for _, share := range again.shares(asked, workers) {
			again.exploreShare(t.Context(), share)
		}
		got := outcomes(again)
		if len(got) != len(asked) || again.finished != len(asked) {
			t.Errorf("%d workers made %d runs, and finished %d", workers, len(got), again.finished)
		}
		for seed, outcome := range got {
			if outcome != want[seed] {
				t.Errorf("%d workers: seed %d is %s, not %s", workers, seed, outcome, want[seed])
			}
		}
	}
}

// TestAGuidedRunIsCutDown checks that a guided run can be shrunk from its own plan alone, without the earlier runs that
// guided it.
func TestAGuidedRunIsCutDown(t *testing.T) {
	testkit.ThoroughOnly(t)
	p := examine(t, guided(t, "guided: 80%", newCareless))
	if p == nil {
		return
	}
	for _, r := range slices.Backward(p.runs) {
		if len(r.Broken) == 0 {
			continue
		}
		small, why := p.shrink(group{broken: r.Broken[0], first: r})
		if small == nil || r.Seed < 150 {
			t.Fatalf("seed %d: %s", r.Seed, why)
		}
		if plan, err := nemesis.ParsePlan("plan", []byte(small.Plan.Text(""))); err != nil || len(plan.Faults) == 0 ||
			small.finding != r.Broken[0].finding {
			t.Errorf("seed %d: %+v, %v", r.Seed, small, err)
		}
		return
	}
	t.Error("nothing was broken")
}

// TestABlockIsOneWorkers checks that all seeds in a block (a range of seeds in which runs guide later plans) go to the
// same worker, starting with the block's first seed.
func TestABlockIsOneWorkers(t *testing.T) {
	p := &parent{guided: true}
	shares := p.shares([]uint64{510, 511, 512, 513, 1540}, 2)
	if len(shares) != 2 || len(shares[0]) != 512+5 || len(shares[1]) != 2 || len(p.unasked) != 510+4 ||
		shares[0][512] != 1536 || shares[1][0] != 512 {
		t.Errorf("%d, %d unasked", shares, len(p.unasked))
	}
	p.guided = false
	if shares := p.shares([]uint64{5, 6, 7}, 2); !reflect.DeepEqual(shares, [][]uint64{{5, 7}, {6}}) {
		t.Errorf("%d", shares)
	}
}

var opens int

// moody is a lock that waits longer in each call than in the previous one, so all its runs are different.
type moody struct{ plain }

func (l *moody) Lock(ctx context.Context) error {
	opens++
	time.Sleep(time.Duration(opens) * time.Microsecond)
	return l.plain.Lock(ctx)
}

// TestALibraryWhoseRunsDifferIsNotGuided checks that a library is reported if its runs differ although they should be
// the same. The remaining plans must then be drawn without guidance, and all seeds must be run.
func TestALibraryWhoseRunsDifferIsNotGuided(t *testing.T) {
	testkit.ThoroughOnly(t)
	c := guided(t, "guided: 90%", making(func(c *Client) Lock { return &moody{plain{c: c, ttl: 8 * time.Second}} }))
	r, ok := Explore(t, c)
	if !ok {
		return
	}
	p := r.parent
	if len(p.runs) != c.Seeds || len(p.differ) < 1 || !slices.Contains(r.DifferingSeeds, p.differ[0]) {
		t.Errorf("%d runs, differing: %d and %d", len(p.runs), p.differ, r.DifferingSeeds)
	}
	want := fmt.Sprintf("the run with seed %d was different when it was repeated", p.differ[0])
	if text := strings.Join(strings.Fields(p.summary()), " "); !strings.Contains(text, want) {
		t.Errorf("%q is missing in\n%s", want, p.summary())
	}
}
