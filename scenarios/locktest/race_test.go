//go:build race

package locktest

import (
	"context"
	"strings"
	"testing"
	"time"
)

// racing is a lock with a data race between two goroutines.
type racing struct {
	plain
	count int
}

func (l *racing) Lock(ctx context.Context) error {
	go deeply(40, func() { l.count++ })
	deeply(40, func() { l.count++ })
	return l.plain.Lock(ctx)
}

// deeply calls f at a stack depth of n, so that the report on a race in f is long.
func deeply(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deeply(n-1, f)
}

// TestARaceFailsItsSeed checks that a run with a data race fails with the full report, and that the other seeds
// continue. The trial run must also report the race.
func TestARaceFailsItsSeed(t *testing.T) {
	c := Config{Seeds: 2, Plan: []string{noEffect}, SkipTrial: true,
		New: func(c *Client) (Lock, error) { return &racing{plain: plain{c: c, ttl: 8 * time.Second}}, nil }}
	p := examine(t, c)
	c.SkipTrial = false
	tried := examine(t, c)
	if p == nil || tried == nil {
		return
	}
	if len(p.runs) != 2 || len(tried.runs) != 0 || len(tried.problems) != 1 {
		t.Fatalf("%d runs of 2, then %d, %q", len(p.runs), len(tried.runs), tried.problems)
	}
	for _, text := range []string{p.runs[0].Failure, p.runs[1].Failure, tried.problems[0]} {
		first, report, _ := strings.Cut(text, "\n")
		const line = "=================="
		if !strings.Contains(first, "the race detector found a race in the code under test") ||
			!strings.HasPrefix(report, line) || !strings.HasSuffix(report, line) || len(report) < 5<<10 ||
			!strings.Contains(report, "racing") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
}
