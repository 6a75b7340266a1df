package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// HashCounter is a reentrant lock on one Redis server, like Redisson's RedissonLock. Its key is a hash with one field,
// which is named after the owner and counts the owner's holds.
const HashCounter Protocol = "hash-counter"

func init() {
	Register(&Definition{
		Name: HashCounter, Place: 4, Service: history.Redis,
		Text:    "a reentrant lock: a hash has a field named after the owner, which counts the owner's holds",
		Backend: OnRedis, Expires: true,
		Settings: slices.Concat(
			[]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds, retryWake,
				timeoutKey, releaseOnFailure, valueKey, valueInKey, clockKey, elapsedCheckIfCareful, driftAllowance,
				extensionKey, format.Only(extensionMode, ExtendChecked)}, extensionKeys[1:],
			[]Setting{waitKey}, waitKeys),
		Without: map[string]string{
			"release": "a release subtracts one from the owner's field, and the last one deletes the key: " +
				"remove `release`",
			"reentrant": "the server counts the holds: remove `reentrant`, or use set-nx-px",
		},
		make: func(r requester) protocol { return newHashCounter(r) },
		Measures: func(*Config) []history.Measure {
			return []history.Measure{history.OwnerCheck, history.RelativeExpiry}
		},
	})
}

// A hash counter's scripts. ARGV[1] is the owner, and ARGV[2] is the TTL.
const (
	enterHash = `if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call("hincrby", KEYS[1], ARGV[1], 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	extendHash = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
    return 0
end
return redis.call("pexpire", KEYS[1], ARGV[2])`
	// leaveHash returns 1 if the owner had a hold, even if it has other holds left and thus keeps the lock.
	leaveHash = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
    return 0
end
if redis.call("hincrby", KEYS[1], ARGV[1], -1) > 0 then
    redis.call("pexpire", KEYS[1], ARGV[2])
else
    redis.call("del", KEYS[1])
end
return 1`
)

// hashCounter is a lock on one Redis server that counts its owner's holds.
type hashCounter struct{ *single }

func newHashCounter(r requester) hashCounter {
	l := newSingle(r, func(l *single, env sim.Env, h *Hold, _ expiry) (held, taken bool) {
		reply := l.ask(env, h, "set", l.script(enterHash, h, l.config.TTL)...)
		n, answered := reply.Int()
		return n == 1, answered && n == 0
	})
	l.prolong = func(_ sim.Env, h *Hold, ttl time.Duration) []string { return l.script(extendHash, h, ttl) }
	l.giveBack = func(h *Hold) []string { return l.script(leaveHash, h, l.config.TTL) }
	return hashCounter{l}
}

// script returns the EVAL command that runs a script for h's owner, with the given TTL.
func (l *single) script(text string, h *Hold, ttl time.Duration) []string {
	return []string{"EVAL", text, "1", string(l.config.Key), h.value, millis(ttl)}
}

// enter increments the owner's number of holds. It returns false if the server does not confirm this.
func (l hashCounter) enter(env sim.Env, h *Hold) bool {
	return isOne(l.ask(env, h, "enter", l.script(enterHash, h, l.config.TTL)...))
}

// leave decrements the owner's number of holds. The owner keeps the lock.
func (l hashCounter) leave(env sim.Env, h *Hold) Answer {
	return answered(l.ask(env, h, "leave", l.script(leaveHash, h, l.config.TTL)...))
}
