package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOnlyWhatTheHostDisturbsIsRunAgain checks that if a test fails while the host is stopping its process, the test is
// run again, at most twice. Its cleanups run each time. The third run reports directly to the test.
func TestOnlyWhatTheHostDisturbsIsRunAgain(t *testing.T) {
	for _, c := range []struct {
		name          string
		fails         []bool          // whether the test fails, in each run
		still         []time.Duration // how long the host stands still during each of the first two runs
		runs          int
		failed, other bool // whether the test failed, and whether it was skipped
	}{
		{name: "holds", fails: []bool{false}, still: []time.Duration{time.Hour}, runs: 1},
		{name: "fails", fails: []bool{true}, still: []time.Duration{0}, runs: 1, failed: true},
		{name: "disturbed", fails: []bool{true, false}, still: []time.Duration{time.Second, 0}, runs: 2},
		{name: "disturbed, then fails", fails: []bool{true, true}, still: []time.Duration{time.Second, 0}, runs: 2,
			failed: true},
		{name: "disturbed twice", fails: []bool{true, true, true}, still: []time.Duration{time.Second, time.Second},
			runs: 3, failed: true},
		{name: "skipped", still: []time.Duration{0}, runs: 1, other: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			noted := filepath.Join(t.TempDir(), "repeats")
			t.Setenv(repeats, noted)
			outer := &attempt{TB: t}
			var did []string
			outer.run(func(outer testing.TB) {
				run := 0
				watch := func() func() time.Duration {
					still := c.still[run]
					return func() time.Duration { return still }
				}
				undisturbed(outer, watch, func(t testing.TB) {
					run++
					t.Cleanup(func() { did = append(did, fmt.Sprint("cleaned ", run)) })
					did = append(did, fmt.Sprint("ran ", run))
					if c.other {
						t.Skip("not here")
					}
					if c.fails[run-1] {
						t.Fatal("it says why")
					}
				})
			})
			var want []string
			for run := 1; run <= c.runs; run++ {
				want = append(want, fmt.Sprint("ran ", run), fmt.Sprint("cleaned ", run))
			}
			if !slices.Equal(did, want) || outer.Failed() != c.failed || outer.Skipped() != c.other {
				t.Errorf("%q, failed: %v, skipped: %v", did, outer.Failed(), outer.Skipped())
			}
			why := slices.ContainsFunc(outer.lines, func(line string) bool {
				return strings.Contains(line, "undisturbed_test.go:") && strings.HasSuffix(line, ": it says why")
			})
			if why != (len(c.fails) > 0 && c.fails[0]) {
				t.Errorf("%q", outer.lines)
			}
			text, err := os.ReadFile(noted)
			if n := strings.Count(string(text), t.Name()+": the host stood still for "); n != c.runs-1 ||
				err != nil && n > 0 {
				t.Errorf("%d repeats are noted of %d: %q %v", n, c.runs-1, text, err)
			}
		})
	}
}
