package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// telling is a lock that only reports its loss, some time after its first request.
type telling struct {
	*plain
	after time.Duration // 0: never
	lost  chan struct{}
}

// announcing is like telling, but does not have the ValidUntil method that telling inherits from plain.
type announcing struct{ l *telling }

func (l announcing) Lock(ctx context.Context) error {
	if err := l.l.plain.Lock(ctx); err != nil {
		return err
	}
	l.l.lost = make(chan struct{})
	if l.l.after > 0 {
		lost := l.l.lost
		time.AfterFunc(time.Until(l.l.until.Add(l.l.after-l.l.ttl)), func() { close(lost) })
	}
	return nil
}

func (l announcing) Unlock(ctx context.Context) error { return l.l.plain.Unlock(ctx) }
func (l announcing) Close() error                     { return l.l.plain.Close() }
func (l announcing) Lost() <-chan struct{}            { return l.l.lost }

// noEffect is a plan whose only fault has no effect.
const noEffect = "pause client-2 for 1ms at 1s"

// TestALockThatSaysWhenItIsLostIsValidUntilThen checks that a lock that implements LossNotifier but not Expiring is
// considered valid until it reports its loss or its client crashes. It does not matter whether the client checks the
// lock's validity.
func TestALockThatSaysWhenItIsLostIsValidUntilThen(t *testing.T) {
	const ttl = 8 * time.Second
	for name, test := range map[string]struct {
		after  time.Duration
		hold   time.Duration
		plan   string
		broken bool
	}{
		"in time":                           {ttl, 20 * time.Second, noEffect, false},
		"in time, in a pause":               {ttl, 20 * time.Second, "pause client-1 for 15s at 1s", false},
		"late":                              {ttl + 4*time.Second, 20 * time.Second, noEffect, true},
		"never, and its client has crashed": {0, 7 * time.Second, "crash client-1 after acquired", false},
		"never, and its client works on":    {0, 20 * time.Second, noEffect, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := Explore(t, Config{Seeds: testkit.Size(1, 3, 3), Hold: test.hold, Cycles: 1,
				Plan: []string{test.plan}, SkipTrial: true,
				New: making(func(c *Client) Lock {
					return announcing{&telling{plain: &plain{c: c, ttl: ttl}, after: test.after}}
				})})
			if !ok {
				return
			}
			want := 0
			if test.broken {
				want = r.Runs
			}
			if r.Violated(checker.LeaseExclusion) != want || r.Held(checker.LeaseExclusion) != r.Runs-want {
				t.Errorf("of %d runs, two leases were valid at once in %d", r.Runs, r.Violated(checker.LeaseExclusion))
			}
		})
	}
}

// TestAClientThatChecksForLossDoesNotWrite checks that a client with ChecksValidity notices the loss before it writes,
// even if the loss does not interrupt its work.
func TestAClientThatChecksForLossDoesNotWrite(t *testing.T) {
	for checks, writes := range map[bool]bool{false: true, true: false} {
		name := map[bool]string{false: "does not check", true: "checks"}[checks]
		t.Run(name, func(t *testing.T) {
			r, ok := Explore(t, Config{Seeds: 3, Compute: 20 * time.Second, Cycles: 1,
				Plan: []string{noEffect}, Precautions: Precautions{ChecksValidity: checks},
				New: making(func(c *Client) Lock {
					return announcing{&telling{plain: &plain{c: c, ttl: 8 * time.Second}, after: 8 * time.Second}}
				})})
			if ok && (r.Violated(checker.ResourceSafety) > 0) != writes {
				t.Errorf("violated in %d of %d runs", r.Violated(checker.ResourceSafety), r.Runs)
			}
		})
	}
}

// ending is a lock that reports its loss only when the run is over.
type ending struct{ announcing }

func (l ending) Lost() <-chan struct{} { return l.l.c.Context().Done() }

// TestALossReportedAfterTheRunIsNotRecorded checks that equal seeds give equal runs even if locks report a loss at the
// end of a run.
func TestALossReportedAfterTheRunIsNotRecorded(t *testing.T) {
	c := Config{Seeds: testkit.Size(3, 10, 10), Hold: 24 * time.Hour, Cycles: 1, Plan: []string{noEffect},
		SkipTrial: true,
		New: making(func(c *Client) Lock {
			return ending{announcing{&telling{plain: &plain{c: c, ttl: 8 * time.Second}}}}
		})}
	first, ok := Explore(t, c)
	again, _ := Explore(t, c)
	if !ok {
		return
	}
	for seed, digest := range first.Digests() {
		if again.Digests()[seed] != digest {
			t.Errorf("seed %d: %x, then %x", seed, digest, again.Digests()[seed])
		}
	}
	if len(first.Digests()) != c.Seeds || len(first.DifferingSeeds)+len(again.DifferingSeeds) > 0 {
		t.Errorf("%+v", first)
	}
}
