package locks

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// Fair is a lock on one Redis server with a queue of waiting clients, like Redisson's RedissonFairLock. A list contains
// the clients' places, in the order in which they asked. A sorted set contains the time, on the server's clock, at
// which each place expires.
const Fair Protocol = "fair"

func init() {
	Register(&Definition{
		Name: Fair, Place: 11, Service: history.Redis,
		Text:    "a fair lock: waiting clients have places in a list, and a sorted set stores when each place ends",
		Backend: OnRedis, Expires: true,
		Settings: slices.Concat(
			[]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, timeoutKey,
				format.Only(reentrantKey, CountedReentry, UncountedReentry), clockKey, elapsedCheckIfCareful,
				driftAllowance, extensionKey, format.Only(extensionMode, ExtendChecked)}, extensionKeys[1:],
			[]Setting{waitKey}, waitKeys, ownSettings(fairKeys...)),
		Without: map[string]string{
			"release": "a release compares the owner and deletes the key in one script: remove `release`",
			"value": "each acquire has its own owner value, which also identifies its place in the queue: " +
				"remove `value`",
			"reentrant.overwrite": "`overwrite` sets the key again and bypasses the queue: " +
				"use `counted` or `uncounted`",
			"retry.wake": "a client that waits keeps its place by asking again: set retry.delay",
		},
		Alike: map[string]string{
			"place-timeout": "all clients wait in the same queue: set `place-timeout` under `lock`",
			"places":        "all clients wait in the same queue: set `places` under `lock`",
		},
		make:     makeFair,
		Measures: fairMeasures,
		Refused: func(c *Config, _ int) []Refusal {
			own := ownOf[fairConfig](c)
			if longest := c.Retry.Hi + c.Timeout; own.places == renewedPlaces && own.timeout <= longest {
				why := fmt.Sprintf("a client keeps its place by asking again within %v (retry.delay and timeout): "+
					"place-timeout, which is %v, must be longer", longest, own.timeout)
				return []Refusal{{"place-timeout", why}, {"retry.delay", why}, {"timeout", why}}
			}
			return nil
		},
		Order:     func(c *Config) time.Duration { return ownOf[fairConfig](c).timeout },
		secondKey: queueOf,
		clash: func(a, b history.Lock) string {
			if why := sameKey(a, b, queueOf(a), "queue"); why != "" {
				return why
			}
			return sameKey(a, b, placesOf(a), "places")
		},
	})
}

// fairConfig contains the settings that only this protocol has.
type fairConfig struct {
	timeout  time.Duration // how long the place of a client that no longer asks stays in the queue; default 5 s
	places   placeTimes    // default renewed
	barging  bool          // a client that finds the lock free gets it, even if others wait in the queue; default off
	withdraw bool          // a client that gives up removes its place in the queue; default on
}

// fairMeasures returns the safety measures that a fair lock with these settings takes.
func fairMeasures(c *Config) []history.Measure {
	own, ms := ownOf[fairConfig](c), []history.Measure{history.OwnerCheck, history.OwnValue, history.RelativeExpiry}
	if !own.barging {
		ms = append(ms, history.FirstInLine)
	}
	if own.places == renewedPlaces || own.places == keptPlaces {
		ms = append(ms, history.KeptPlaces)
	}
	if own.places == renewedPlaces {
		ms = append(ms, history.RenewedPlaces)
	}
	if own.withdraw {
		ms = append(ms, history.LeftPlaces)
	}
	return ms
}

// placeTimes determines when a client's place in the queue expires.
type placeTimes string

const (
	renewedPlaces placeTimes = "renewed" // place-timeout after its client last asked
	// A client's place in the queue expires place-timeout after the client first asked for the lock, even if it is
	// still waiting (redisson 3004).
	fixedPlaces placeTimes = "fixed"
	// Each place in the queue expires one place-timeout later than the one before it. Therefore, the timeouts of
	// clients that are gone add up (redisson 1104, 6150).
	addedPlaces placeTimes = "added"
	keptPlaces  placeTimes = "kept" // never (redisson 4595)
)

var fairKeys = []format.Key[fairConfig]{
	format.Time("place-timeout", func(c *fairConfig) *time.Duration { return &c.timeout }, 5*time.Second,
		"how long the place of a client that no longer asks for the lock stays in the queue").
		With(func(f *format.Form) { f.Least, f.Step = int64(time.Millisecond), int64(time.Millisecond) }),
	format.Choice("places", func(c *fairConfig) *placeTimes { return &c.places },
		"when a place ends. "+
			"`renewed`: place-timeout after its client last asked; "+
			"`fixed`: place-timeout after its client first asked, "+
			"even if that client is still waiting (redisson 3004); "+
			"`added`: place-timeout after the place before it ends, "+
			"so that the places of crashed clients add up (redisson 1104, 6150); `kept`: never (redisson 4595)",
		format.Options(renewedPlaces, fixedPlaces, addedPlaces, keptPlaces)...),
	format.Switch("barging", func(c *fairConfig) *bool { return &c.barging }, false,
		"a client that asks while the lock is free gets it, even if others wait in the queue"),
	format.Switch("withdraw", func(c *fairConfig) *bool { return &c.withdraw }, true,
		"a client that gives up removes its place in the queue; `off`: the place stays until it ends (redisson 5019)"),
}

// queueOf returns the key of the list of places. placesOf returns the key of the sorted set that contains their expiry
// times.
func queueOf(key history.Lock) string  { return string(key) + ":queue" }
func placesOf(key history.Lock) string { return string(key) + ":places" }

// A fair lock's scripts. KEYS are the lock, the list and the sorted set. ARGV[1] is the owner value, ARGV[2] the TTL,
// and ARGV[3] place-timeout.
const (
	dropEnded = `while true do
    local first = redis.call("lindex", KEYS[2], 0)
    local ends = first and redis.call("zscore", KEYS[3], first)
    if not first or ends and tonumber(ends) > now then
        break
    end
    redis.call("lpop", KEYS[2])
    redis.call("zrem", KEYS[3], first)
end
`
	readQueue = `local holder = redis.call("get", KEYS[1])
local first = redis.call("lindex", KEYS[2], 0)
`
	// The lock goes to the first client in line, or to a client that already has it because the reply to its earlier
	// request was lost.
	ifFirst  = `if holder == ARGV[1] or not holder and (not first or first == ARGV[1]) then`
	ifFree   = `if holder == ARGV[1] or not holder then`
	takeFree = `
    redis.call("lrem", KEYS[2], 0, ARGV[1])
    redis.call("zrem", KEYS[3], ARGV[1])
    redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
    return 1
end
local place = redis.call("zscore", KEYS[3], ARGV[1])
local last = redis.call("lindex", KEYS[2], -1)
if not place then
    redis.call("rpush", KEYS[2], ARGV[1])
end
`
	renewPlace = `redis.call("zadd", KEYS[3], now + ARGV[3], ARGV[1])
return 0`
	fixPlace = `if not place then
    redis.call("zadd", KEYS[3], now + ARGV[3], ARGV[1])
end
return 0`
	addPlace = `if not place then
    local before = last and redis.call("zscore", KEYS[3], last) or now + math.max(redis.call("pttl", KEYS[1]), 0)
    redis.call("zadd", KEYS[3], before + ARGV[3], ARGV[1])
end
return 0`
	withdrawPlace = `redis.call("lrem", KEYS[2], 0, ARGV[1])
redis.call("zrem", KEYS[3], ARGV[1])
if redis.call("get", KEYS[1]) == ARGV[1] then
    redis.call("del", KEYS[1])
end
return 1`
)

// placeScripts maps each way in which places can expire to the last part of the script that asks for the lock.
var placeScripts = map[placeTimes]string{renewedPlaces: renewPlace, fixedPlaces: fixPlace, addedPlaces: addPlace,
	keptPlaces: fixPlace}

// fair is a fair lock. A waiting client repeats its request again and again, but always keeps the same place in the
// queue.
type fair struct {
	*single
	own  fairConfig
	take string // the script that asks for the lock
}

func makeFair(r requester) protocol {
	own := ownOf[fairConfig](r.config)
	drop, admit := dropEnded, ifFirst
	if own.places == keptPlaces {
		drop = ""
	}
	if own.barging {
		admit = ifFree
	}
	l := &fair{own: own, take: serversNow + drop + readQueue + admit + takeFree + placeScripts[own.places]}
	l.single = newSingle(r, l.request)
	return l
}

// Acquire waits in the queue. All its requests count as a single attempt.
func (l *fair) Acquire(env sim.Env) (*Hold, error) {
	attempt, value := l.next(env)
	place, asked := &Hold{Attempt: attempt, value: value}, false
	h, err := l.retry(env, func(env sim.Env) *Hold {
		h := l.attempt(env, place)
		if !asked {
			l.library.counted(l.taken)
			asked = true
		}
		return h
	}, sleep)
	if err != nil && l.own.withdraw {
		l.ask(env, place, "withdraw", l.script(withdrawPlace, value)...)
	}
	return h, err
}

// request asks for the lock. If another client has it, this client keeps its place in the queue.
func (l *fair) request(_ *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	n, answered := l.ask(env, h, "set", l.script(l.take, h.value, due.at, millis(l.own.timeout))...).Int()
	return n == 1, answered && n == 0
}

// script returns the EVAL command for a script, with the lock's keys.
func (l *fair) script(text string, args ...string) []string {
	key := l.config.Key
	return append([]string{"EVAL", text, "3", string(key), queueOf(key), placesOf(key)}, args...)
}
