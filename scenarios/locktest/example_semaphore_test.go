package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// permits is how many clients may hold a semaphore at the same time.
const permits = 2

// semaphore stores its permits in a sorted set on a single Redis server, each with the time at which it expires. One
// script removes the permits that have expired by the server's clock, counts the others, and adds a permit if there is
// room.
type semaphore struct {
	*mutex
	script string
}

const takePermit = `local t = redis.call("time")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call("zremrangebyscore", KEYS[1], "-inf", now)
if redis.call("zcard", KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call("zadd", KEYS[1], now + ARGV[3], ARGV[1])
redis.call("pexpire", KEYS[1], ARGV[3])
return 1`

func newSemaphore(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return semaphore{m, takePermit}, nil
}

func (s semaphore) Lock(ctx context.Context) error {
	s.n++
	s.owner = fmt.Sprintf("%s/%d", s.client.Name, s.n)
	for ctx.Err() == nil {
		asked := time.Now()
		s.validUntil = asked.Add(lease)
		reply, err := s.do("EVAL", s.script, "1", s.client.Key, s.owner, fmt.Sprint(permits),
			fmt.Sprint(lease.Milliseconds()), fmt.Sprint(asked.UnixMilli()))
		if err != nil {
			return err
		}
		if reply == ":1" && time.Now().Before(s.validUntil) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (s semaphore) Unlock(context.Context) error {
	reply, err := s.do("ZREM", s.client.Key, s.owner)
	if err == nil && reply != ":1" {
		err = errors.New("the permit was no longer its own")
	}
	return err
}

func (s semaphore) ValidUntil() time.Time { return s.validUntil }

// A semaphore is tested as a lock with several permits. There are more clients than permits, so that some have to wait.
func ExampleConfig_permits() {
	TestSemaphore := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newSemaphore, Permits: permits, Clients: 4, TTL: lease,
			Faults: locktest.Pauses, Laws: locktest.LeaseLaws})
	}
	_ = TestSemaphore
}
