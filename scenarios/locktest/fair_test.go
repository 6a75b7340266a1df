package locktest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// ofQueue returns a constructor for the example's fair lock, but with the given script for requesting the lock.
func ofQueue(ask string) func(*locktest.Client) (locktest.Lock, error) {
	return func(c *locktest.Client) (locktest.Lock, error) {
		m, err := openMutex(c)
		return fairMutex{m, ask}, err
	}
}

// TestFairLocksKeepTheirOrder checks that a sound queue keeps its order, and that the test catches faulty locks: locks
// that ignore the queue or have none, a queue with places that never expire, and a queue with places that expire while
// their clients are still waiting. A lock without a queue does not promise an order. Its order is judged only if the
// test sets PlaceTimeout.
func TestFairLocksKeepTheirOrder(t *testing.T) {
	for _, test := range []struct {
		name   string
		new    func(*locktest.Client) (locktest.Lock, error)
		faults locktest.Faults
		unfair bool                // the test does not say that the lock is fair
		causes []checker.CauseKind // expected causes of breaches of fairness; none: sound
	}{
		{name: "sound", new: newFairMutex, faults: locktest.Pauses},
		{name: "sound, network", new: newFairMutex, faults: locktest.Network},
		{name: "no queue", new: newMutex, faults: locktest.Pauses, causes: []checker.CauseKind{checker.Overtaken}},
		{name: "no queue, none promised", new: newMutex, faults: locktest.Pauses, unfair: true},
		{name: "past the queue", new: ofQueue(strings.Replace(askInTurn, "(not first or first == ARGV[1])", "true", 1)),
			faults: locktest.Pauses, causes: []checker.CauseKind{checker.Overtaken}},
		{name: "places that never end",
			new:    ofQueue(strings.Replace(askInTurn, "while first and", "while false and", 1)),
			faults: locktest.Faults{"crash"}, causes: []checker.CauseKind{checker.LeftFree}},
		{name: "places that are not renewed", new: ofQueue(strings.NewReplacer("\nend\nredis.call(\"zadd\"",
			"\n    redis.call(\"zadd\"", "ARGV[3], ARGV[1])\n", "ARGV[3], ARGV[1])\nend\n").Replace(askInTurn)),
			faults: locktest.Pauses, causes: []checker.CauseKind{checker.Overtaken}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OneIn(t, 7)
			c := locktest.Config{New: test.new, PlaceTimeout: placeTimeout, Clients: 4, TTL: lease, Faults: test.faults,
				Laws: locktest.LeaseLaws, Seeds: testkit.Size(2, 5, 200)}
			if test.unfair {
				c.PlaceTimeout = 0
			}
			r, ok := locktest.Explore(t, c)
			if !ok {
				return
			}
			var causes []checker.CauseKind
			for _, b := range r.Breaches {
				if b.Law == checker.Fairness && !slices.Contains(causes, b.Cause.Kind) {
					causes = append(causes, b.Cause.Kind)
				}
			}
			if !slices.Equal(causes, test.causes) {
				t.Errorf("fairness is broken by %v, want %v: %+v", causes, test.causes, r.Breaches)
			}
			if held := r.Held(checker.Fairness) > 0; len(causes) == 0 && held == test.unfair {
				t.Errorf("fairness held in some run: %v", held)
			}
		})
	}
}
