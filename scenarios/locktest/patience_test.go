package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// line is a lock whose clients wait in a list. The first client in the list holds the lock.
type line struct {
	*mutex
	withdraws bool // a client that gives up removes itself from the list
}

func (l line) Lock(ctx context.Context) error {
	l.n++
	l.owner = fmt.Sprintf("%s/%d", l.client.Name, l.n)
	if _, err := l.do("RPUSH", l.client.Key, l.owner); err != nil {
		return err
	}
	for ctx.Err() == nil {
		first, err := l.do("EVAL", `return redis.call("lindex", KEYS[1], 0) == ARGV[1] and 1 or 0`, "1", l.client.Key,
			l.owner)
		if err != nil {
			return err
		}
		if first == ":1" {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	if l.withdraws {
		l.do("LREM", l.client.Key, "1", l.owner)
	}
	return ctx.Err()
}

func (l line) Unlock(context.Context) error {
	reply, err := l.do("LREM", l.client.Key, "1", l.owner)
	if err == nil && reply != ":1" {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

// TestWhatAClientThatGivesUpLeaves checks that clients with Patience stop waiting, and that clients without it do not.
// If clients remove themselves from the list when they give up, the lock does not violate any law. If they stay in the
// list, they block all other clients.
func TestWhatAClientThatGivesUpLeaves(t *testing.T) {
	for _, test := range []struct {
		name      string
		withdraws bool
		patience  time.Duration
		stuck     bool
	}{
		{"leaves the line", true, 2 * time.Second, false},
		{"stays in the line", false, 2 * time.Second, true},
		{"waits", false, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OneIn(t, 2)
			r, ok := locktest.Explore(t, locktest.Config{TTL: lease, Hold: 3 * time.Second, Cycles: 2, Plan: []string{},
				Patience: test.patience, Seeds: 4, SkipTrial: true, // there is no expiry
				New: func(c *locktest.Client) (locktest.Lock, error) {
					m, err := openMutex(c)
					return line{m, test.withdraws}, err
				}})
			if !ok {
				return
			}
			stuck := slices.ContainsFunc(r.Breaches, func(b locktest.Breach) bool {
				return b.Law == checker.DeadlockFreedom && b.Cause.Kind == checker.StuckBehindAbandoned
			})
			if stuck != test.stuck || !stuck && len(r.Breaches) > 0 {
				t.Errorf("broken: %+v", r.Breaches)
			}
		})
	}
}
