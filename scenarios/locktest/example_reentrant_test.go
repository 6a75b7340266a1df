package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// reentrant is a lock on one Redis server that its holder may acquire again. Its key is a hash with one field, which is
// named after the owner and counts the owner's holds. The last release deletes the key.
type reentrant struct {
	*mutex
	enter, leave string // scripts
}

// The acquiring script returns how many holds the owner then has. The releasing script returns how many the owner had
// before the release. Both return 0 if another client has the lock.
const (
	enterHold = `if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
    return 0
end
local holds = redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return holds`
	leaveHold = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then return 0 end
local holds = redis.call("hincrby", KEYS[1], ARGV[1], -1)
if holds == 0 then redis.call("del", KEYS[1]) end
return holds + 1`
)

func newReentrant(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return reentrant{m, enterHold, leaveHold}, nil
}

// Lock waits for the lock. Then it calls a function that acquires the same lock, as a client's work might do.
func (r reentrant) Lock(ctx context.Context) error {
	r.n++
	r.owner = fmt.Sprintf("%s/%d", r.client.Name, r.n)
	for ctx.Err() == nil {
		r.validUntil = time.Now().Add(lease)
		holds, err := r.eval(r.enter)
		if err != nil {
			return err
		}
		if holds > 0 {
			return r.within()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

// within acquires the lock a second time and releases it. It returns an error if the caller's own hold has ended in the
// meantime. The caller must then stop working.
func (r reentrant) within() error {
	holds, err := r.eval(r.enter)
	if err != nil {
		return err
	}
	if holds > 0 {
		_, err = r.eval(r.leave)
	}
	if err == nil && (holds != 2 || !time.Now().Before(r.validUntil)) {
		err = errors.New("the lock of the caller has ended")
	}
	return err
}

func (r reentrant) Unlock(context.Context) error {
	holds, err := r.eval(r.leave)
	if err == nil && holds != 1 {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

// eval runs a script with the key, the owner and the TTL, and returns the number that the script returns.
func (r reentrant) eval(script string) (int, error) {
	reply, err := r.do("EVAL", script, "1", r.client.Key, r.owner, fmt.Sprint(lease.Milliseconds()))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimPrefix(reply, ":"))
}

// A reentrant lock's test acquires the lock again inside every hold. Releasing the inner hold must not release the
// outer one.
func ExampleLock_reentrant() {
	TestReentrant := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newReentrant, TTL: lease, Faults: locktest.Pauses,
			Laws: locktest.LeaseLaws})
	}
	_ = TestReentrant
}
