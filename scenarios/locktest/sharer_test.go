package locktest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Scripts for a read-write lock that counts its holders. If a holder calls Unlock after its lease has ended, the count
// is reduced although another client is the holder.
const (
	takeCounted = `local mode = redis.call("hget", KEYS[1], "mode")
if mode and (mode == "write" or ARGV[3] == "write") then return 0 end
redis.call("hset", KEYS[1], "mode", ARGV[3])
redis.call("hincrby", KEYS[1], "holders", 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	leaveCounted = `if redis.call("exists", KEYS[1]) == 0 then return 0 end
if redis.call("hincrby", KEYS[1], "holders", -1) <= 0 then redis.call("del", KEYS[1]) end
return 1`
)

// silent is a read-write lock that does not report which of its holds are shared.
type silent struct{ stated }

type stated interface {
	locktest.Lock
	locktest.Expiring
}

// alternating is a read-write lock for a client that alternates between reading and writing.
type alternating struct{ readWrite }

func (l *alternating) Unlock(ctx context.Context) error {
	err := l.readWrite.Unlock(ctx)
	l.read = !l.read
	return err
}

// vary returns a constructor that creates a readWrite lock and applies the given change to it.
func vary(change func(readWrite) locktest.Lock) func(*locktest.Client) (locktest.Lock, error) {
	return func(c *locktest.Client) (locktest.Lock, error) {
		l, err := newReadWrite(c)
		if err != nil {
			return nil, err
		}
		return change(l.(readWrite)), nil
	}
}

// TestReadWriteLocksAreJudgedByTheirHolds checks that a sound read-write lock upholds the lease laws while several
// readers hold it. The test must catch three faulty locks: one only counts its holders, one admits writers while
// readers hold it, and one does not report that its holds are shared.
func TestReadWriteLocksAreJudgedByTheirHolds(t *testing.T) {
	scripts := func(take, remove string) func(*locktest.Client) (locktest.Lock, error) {
		return vary(func(l readWrite) locktest.Lock {
			l.take, l.remove = take, remove
			return l
		})
	}
	for _, test := range []struct {
		name   string
		new    func(*locktest.Client) (locktest.Lock, error)
		faults locktest.Faults
		sound  bool // if not set, lease-exclusion must be broken
	}{
		{"sound", newReadWrite, locktest.Pauses, true},
		{"sound, network", newReadWrite, locktest.Network, true},
		{"reads and writes in turn", vary(func(l readWrite) locktest.Lock { return &alternating{l} }), locktest.Pauses,
			true},
		{"silent", vary(func(l readWrite) locktest.Lock { return silent{l} }), locktest.Pauses, false},
		{"counter", scripts(takeCounted, leaveCounted), locktest.Pauses, false},
		{"writers enter", scripts(strings.Replace(takeReadWrite, ` or ARGV[3] == "write"`, "", 1), removeReadWrite),
			locktest.Pauses, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			r, ok := locktest.Explore(t, locktest.Config{New: test.new, Clients: 4, TTL: lease, Faults: test.faults,
				Laws: locktest.LeaseLaws, Seeds: testkit.Size(3, 12, 200),
				SkipTrial: test.name == "counter"}) // the trial run would notice the late Unlock
			if !ok {
				return
			}
			excludes := !slices.ContainsFunc(r.Breaches, func(b locktest.Breach) bool {
				return b.Law == checker.LeaseExclusion
			})
			if excludes != test.sound || test.sound && len(r.Breaches) > 0 {
				t.Errorf("broken: %+v", r.Breaches)
			}
		})
	}
}

// TestSharedHoldsInTheTrial checks that the trial run accepts two simultaneous shared holds of a read-write lock.
func TestSharedHoldsInTheTrial(t *testing.T) {
	readers := vary(func(l readWrite) locktest.Lock {
		l.read = true
		return l
	})
	c := locktest.Config{New: readers, TTL: lease, Seeds: 2, Laws: locktest.LeaseLaws}
	if r, ok := locktest.Explore(t, c); ok && r.Runs != 2 {
		t.Errorf("there were %d runs, want 2", r.Runs)
	}
}
