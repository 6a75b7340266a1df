//go:build race

package locktest

import (
	"context"
	"strings"
	"testing"
	"time"
)

// racing is a lock that two goroutines write to at a time.
type racing struct {
	plain
	count int
}

func (l *racing) Lock(ctx context.Context) error {
	go func() { l.count++ }()
	l.count++
	return l.plain.Lock(ctx)
}

// TestARaceFailsItsSeed: the run that shows it says so, and the other seeds go on.
func TestARaceFailsItsSeed(t *testing.T) {
	p := examine(t, Config{New: func(c *Client) Lock { return &racing{plain: plain{c: c, ttl: 8 * time.Second}} },
		Seeds: 2, Plan: []string{"pause client-1 for 1ms at 1s"}})
	if p == nil {
		return
	}
	if len(p.runs) != 2 {
		t.Errorf("%d runs of 2", len(p.runs))
	}
	for _, r := range p.runs {
		if !strings.Contains(r.Failure, "DATA RACE") || !strings.Contains(r.Failure, "racing") {
			t.Errorf("seed %d: %q", r.Seed, r.Failure)
		}
	}
}
