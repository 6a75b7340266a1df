package locktest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// watchdog is a lock that renews its key every two seconds, or only claims to do so. It reports how long it is valid.
type watchdog struct {
	plain
	renews bool // asks the server to extend the key
	claims bool // states a longer lease after each renewal
	stops  time.Duration
	mu     sync.Mutex
	end    time.Time
	stop   chan struct{}
}

func (l *watchdog) Lock(ctx context.Context) error {
	if err := l.plain.Lock(ctx); err != nil {
		return err
	}
	l.end, l.stop = l.until, make(chan struct{})
	go l.watch(l.stop, time.Now())
	return nil
}

func (l *watchdog) watch(stop chan struct{}, began time.Time) {
	for l.stops == 0 || time.Since(began) < l.stops {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Second):
		}
		asked := time.Now()
		if l.renews {
			if said, err := l.do(l.c.Context(), "PEXPIRE", l.c.Key, "8000"); err != nil || said != ":1" {
				return
			}
		}
		if l.claims {
			l.mu.Lock()
			l.end = asked.Add(l.ttl)
			l.mu.Unlock()
		}
	}
	if l.stops != 0 {
		l.mu.Lock()
		l.end = time.Time{}
		l.mu.Unlock()
	}
}

func (l *watchdog) Unlock(ctx context.Context) error {
	close(l.stop)
	return l.plain.Unlock(ctx)
}

func (l *watchdog) ValidUntil() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// TestALockIsValidForAsLongAsItSays checks that a lock is valid until the time that it reports, even if it reports a
// new time while it is held. There are no faults, and the work takes longer than the TTL.
func TestALockIsValidForAsLongAsItSays(t *testing.T) {
	for name, test := range map[string]struct {
		renews, claims   bool
		stops            time.Duration
		leases, sections checker.Outcome
	}{
		"it renews itself": {true, true, 0, checker.Holds, checker.Holds},
		"it never does":    {false, false, 0, checker.Holds, checker.Violated},
		"it only says so":  {false, true, 0, checker.Violated, checker.Violated},
		"it renews itself, and then says that it is over": {true, true, 9 * time.Second, checker.Holds,
			checker.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			r, ok := Explore(t, Config{Seeds: testkit.Size(1, 3, 3), Hold: 20 * time.Second, Cycles: 1,
				Plan: []string{}, SkipTrial: true,
				New: func(c *Client) (Lock, error) {
					return &watchdog{plain: plain{c: c, ttl: 8 * time.Second}, renews: test.renews, claims: test.claims,
						stops: test.stops}, nil
				}})
			if !ok {
				return
			}
			for law, want := range map[checker.Law]checker.Outcome{checker.LeaseExclusion: test.leases,
				checker.MutualExclusion: test.sections} {
				if r.outcome(law, want) != r.Runs {
					t.Errorf("%s: held in %d runs, violated in %d, want %v in %d: %v", law, r.Held(law),
						r.Violated(law), want, r.Runs, r.Breaches)
				}
			}
		})
	}
}

// TestAClientThatChecksItsLockAsksItAgain checks that after work that takes longer than the TTL, a client asks its lock
// again how long it is valid. The client must write only if the lock has renewed itself.
func TestAClientThatChecksItsLockAsksItAgain(t *testing.T) {
	for renews, want := range map[bool]string{true: "writes", false: "leaves"} {
		t.Run(want, func(t *testing.T) {
			r, ok := Explore(t, Config{Seeds: 3, Clients: 1, Cycles: 1, Compute: 20 * time.Second, Plan: []string{},
				SkipTrial: true, Precautions: Precautions{ChecksValidity: true}, New: making(func(c *Client) Lock {
					return &watchdog{plain: plain{c: c, ttl: 8 * time.Second}, renews: renews, claims: renews}
				})})
			if ok && (r.Held(checker.ResourceSafety) == r.Runs) != renews {
				t.Errorf("resource-safety was seen to hold in %d of %d runs", r.Held(checker.ResourceSafety), r.Runs)
			}
		})
	}
}
