package locktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// placeTimeout is how long a client keeps its place in a fairMutex's queue after its last request.
const placeTimeout = 2 * time.Second

// fairMutex is a mutex with a queue on one Redis server. A list contains the waiting clients in order. A sorted set
// contains the time, by the server's clock, at which each client's place in the queue expires. A client keeps its place
// by asking again.
type fairMutex struct {
	*mutex
	ask string // the script that asks for the lock
}

const askInTurn = `local t = redis.call("time")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local first = redis.call("lindex", KEYS[2], 0)
while first and tonumber(redis.call("zscore", KEYS[3], first) or 0) <= now do
    redis.call("lpop", KEYS[2])
    redis.call("zrem", KEYS[3], first)
    first = redis.call("lindex", KEYS[2], 0)
end
local holder = redis.call("get", KEYS[1])
if holder == ARGV[1] or not holder and (not first or first == ARGV[1]) then
    redis.call("lrem", KEYS[2], 0, ARGV[1])
    redis.call("zrem", KEYS[3], ARGV[1])
    redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
    return 1
end
if not redis.call("zscore", KEYS[3], ARGV[1]) then
    redis.call("rpush", KEYS[2], ARGV[1])
end
redis.call("zadd", KEYS[3], now + ARGV[3], ARGV[1])
return 0`

// leaveQueue removes the client from the queue. It also deletes the lock, in case the client has acquired it without
// knowing.
const leaveQueue = `redis.call("lrem", KEYS[2], 0, ARGV[1])
redis.call("zrem", KEYS[3], ARGV[1])
if redis.call("get", KEYS[1]) == ARGV[1] then
    redis.call("del", KEYS[1])
end
return 1`

func newFairMutex(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return fairMutex{m, askInTurn}, nil
}

func (f fairMutex) Lock(ctx context.Context) error {
	f.n++
	f.owner = fmt.Sprintf("%s/%d", f.client.Name, f.n)
	for ctx.Err() == nil {
		f.validUntil = time.Now().Add(lease)
		reply, err := f.eval(f.ask, fmt.Sprint(lease.Milliseconds()), fmt.Sprint(placeTimeout.Milliseconds()))
		if err != nil {
			return err
		}
		if reply == ":1" && time.Now().Before(f.validUntil) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.eval(leaveQueue)
	return ctx.Err()
}

// eval runs a script with the lock's keys, its owner value and other arguments.
func (f fairMutex) eval(script string, args ...string) (string, error) {
	key := f.client.Key
	return f.do(append([]string{"EVAL", script, "3", key, key + ":queue", key + ":places", f.owner}, args...)...)
}

// A fair lock's Config specifies how long a client that has stopped asking keeps its place in the queue. The test then
// requires that clients get the lock in the order in which they ask, and that an abandoned place does not block other
// clients for any longer than that.
func ExampleConfig_placeTimeout() {
	TestFairMutex := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newFairMutex, PlaceTimeout: placeTimeout, TTL: lease,
			Faults: locktest.Pauses, Laws: locktest.LeaseLaws})
	}
	_ = TestFairMutex
}
