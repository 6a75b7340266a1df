package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// Scripts from lock libraries that let several clients hold one key at once: a read-write lock on a hash, and a
// semaphore on a sorted set.
const (
	readLock = `local mode = redis.call('hget', KEYS[1], 'mode')
		if mode == false then redis.call('hset', KEYS[1], 'mode', 'read') mode = 'read' end
		if mode == 'read' then redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], 5000) return 1 end return 0`
	readUnlock = `if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then return 0 end
		if redis.call('hlen', KEYS[1]) == 1 then redis.call('del', KEYS[1]) redis.call('publish', 'free', 1) end return 1`
	takePermit = `redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[2] - 5000)
		if redis.call('zcard', KEYS[1]) < 2 then redis.call('zadd', KEYS[1], ARGV[2], ARGV[1]) redis.call('pexpire', KEYS[1], 5000) return 1 end return 0`
)

// TestLocksThatSeveralHoldOnOneKeyAreJudgedByMember checks locks for which several clients hold one key. In each case
// two clients are holding the lock when a third client changes the key.
func TestLocksThatSeveralHoldOnOneKeyAreJudgedByMember(t *testing.T) {
	enter := func(script string) string { return "EVAL|" + script + "|1|lock|ME|0" }
	const stranger = "violated: removed by non-owner"
	for _, c := range []struct{ name, enter, leave, stranger, want string }{
		{"readers", enter(readLock), enter(readUnlock), "GET|other", "holds"},
		{"readers, and one who deletes the lock", enter(readLock), enter(readUnlock), "DEL|lock", stranger},
		{"readers, and one who leaves for another", enter(readLock), enter(readUnlock), "HDEL|lock|client-1/1",
			stranger},
		{"permits", enter(takePermit), "ZREM|lock|ME", "ZCARD|lock", "holds"},
		{"permits, and one who gives back another's", enter(takePermit), "ZREM|lock|ME", "ZREM|lock|client-2/1",
			stranger},
	} {
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
		w.AddServer("redis-1", redis.New(redis.Config{}))
		ask := func(client string, at time.Duration, words string) {
			attempt := client + "/1"
			w.AddClient(sim.ProcessID(client+at.String()), sim.Time(at), func(env sim.Env) {
				args := strings.Split(strings.ReplaceAll(words, "ME", attempt), "|")
				env.Call(time.Second, nil,
					sim.Request{Conn: sim.Conn{Server: "redis-1"}, Args: args, Attempt: history.Attempt(attempt)})
			})
		}
		ask("client-1", 0, c.enter)
		ask("client-2", time.Second, c.enter)
		ask("client-3", 2*time.Second, c.stranger)
		ask("client-1", 3*time.Second, c.leave)
		ask("client-2", 4*time.Second, c.leave)
		w.Run(sim.Time(20*time.Second), nil)
		h := w.Finish()
		if w.Err() != nil {
			t.Fatal(w.Err())
		}
		h.Header.Locks = []history.Lock{"lock"}
		f := checker.Check(h).Of(checker.Ownership)
		got := f.Outcome.String()
		if f.Outcome == checker.Violated {
			got += ": " + f.Cause.String()
		}
		if got != c.want {
			t.Errorf("%s: ownership %s, want %s", c.name, got, c.want)
		}
	}
}
