package locks

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// ReadWrite is a read-write lock on one Redis server. Each holder is a field of a hash.
const ReadWrite Protocol = "read-write"

func init() {
	Register(&Definition{
		Name: ReadWrite, Place: 10, Service: history.Redis,
		Text:    "a read-write lock: its holders are the fields of a hash, each with its mode and the end of its lease",
		Backend: OnRedis, Expires: true,
		Settings: slices.Concat(
			[]Setting{sharedKey, ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds,
				timeoutKey, releaseOnFailure,
				format.Only(reentrantKey, CountedReentry, UncountedReentry), valueKey, valueInKey, clockKey,
				elapsedCheckIfCareful,
				driftAllowance, extensionKey, format.Only(extensionMode, ExtendChecked)}, extensionKeys[1:],
			[]Setting{waitKey}, waitKeys, ownSettings(readWriteKeys...)),
		Without: map[string]string{
			"release": "a client can remove only its own field: remove `release`",
			"reentrant.overwrite": "`overwrite` sets the lock's only key again, but a read-write lock " +
				"has a field for each holder: use counted or uncounted",
		},
		Alike: map[string]string{"holders": "all clients must read the same hash: set `holders` under `lock`"},
		make:  makeReadWrite,
		clash: func(a, b history.Lock) string {
			return sameKey(a, b, writersMark(a), "key that marks a waiting writer")
		},
		secondKey: writersMark,
		Measures:  func(*Config) []history.Measure { return []history.Measure{history.OwnerCheck} },
		Lacks: func(c *Config) []history.Measure {
			if ownOf[readWriteConfig](c).holders == countedHolders { // a number does not say whose holds it counts
				return []history.Measure{history.OwnerCheck, history.ExtendCheck, history.ObeyedExtension}
			}
			return nil
		},
	})
}

// readWriteConfig contains the settings that only this protocol has.
type readWriteConfig struct {
	holders holders    // default own-lease
	prefer  preference // default none
}

// holders determines how the hash stores the holders.
type holders string

const (
	ownLease holders = "own-lease" // each holder has a field with the end of its lease
	// each holder has a field; the hash has one expiry for all holders, set by the latest client to acquire the lock
	// (redisson 2144)
	oneLease holders = "one-lease"
	// the hash stores only the number of holders; each release subtracts one, even if the holder's lease has already
	// ended
	countedHolders holders = "counter"
)

// preference determines who gets the lock first if both readers and writers are waiting.
type preference string

const (
	noPreference preference = "none"    // a reader joins other readers even if a writer waits
	forWriters   preference = "writers" // a waiting writer sets a mark, and no reader enters while the mark exists
)

var readWriteKeys = []format.Key[readWriteConfig]{
	format.Choice("holders", func(c *readWriteConfig) *holders { return &c.holders },
		"what the hash stores. "+
			"`own-lease`: a field with a lease for each holder; `one-lease`: a field for each holder, "+
			"and one lease for all, which the latest client to acquire sets (redisson 2144); "+
			"`counter`: the number of holders, from which each release subtracts one",
		format.Options(ownLease, oneLease, countedHolders)...),
	format.Choice("prefer", func(c *readWriteConfig) *preference { return &c.prefer },
		"`none`: a reader joins other readers even while a writer waits, so the writer may wait forever; "+
			"`writers`: no reader enters while a writer waits", format.Options(noPreference, forWriters)...),
}

// These are the scripts for a read-write lock. ARGV[1] is the holder, ARGV[2] the TTL, ARGV[3] read or write. KEYS[2]
// is a waiting writer's mark, and ARGV[4] is how long the mark lasts, or 0 if writers set none.
const (
	modeFree = `local free = true
local all = redis.call("hgetall", KEYS[1])
`
	// refuse is the part of a script that ends an attempt if other holders exclude the client.
	refuse = `if ARGV[3] == "read" and redis.call("exists", KEYS[2]) == 1 then
    free = false
end
if not free then
    if ARGV[3] == "write" and ARGV[4] ~= "0" then
        redis.call("set", KEYS[2], ARGV[1], "PX", ARGV[4])
    end
    return 0
end
if ARGV[3] == "write" then
    redis.call("del", KEYS[2])
end
`
	takeOwnLease = serversNow + modeFree + `for i = 1, #all, 2 do
    local mode, ends = string.match(all[i + 1], "(%a+) (%d+)")
    if tonumber(ends) < now then
        redis.call("hdel", KEYS[1], all[i])
    elseif mode == "write" or ARGV[3] == "write" then
        free = false
    end
end
` + refuse + `redis.call("hset", KEYS[1], ARGV[1], string.format("%s %.0f", ARGV[3], now + ARGV[2]))
` + keepSet
	extendOwnLease = serversNow + `local mode, ends = string.match(redis.call("hget", KEYS[1], ARGV[1]) or "", "(%a+) (%d+)")
if not ends or tonumber(ends) < now then
    return 0
end
redis.call("hset", KEYS[1], ARGV[1], string.format("%s %.0f", mode, now + ARGV[2]))
` + keepSet
	takeOneLease = modeFree + `for i = 1, #all, 2 do
    if all[i + 1] == "write" or ARGV[3] == "write" then
        free = false
    end
end
` + refuse + `redis.call("hset", KEYS[1], ARGV[1], ARGV[3])
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	extendOneLease = `if redis.call("hexists", KEYS[1], ARGV[1]) == 0 then
    return 0
end
return redis.call("pexpire", KEYS[1], ARGV[2])`
	takeCounted = `local mode = redis.call("hget", KEYS[1], "mode")
local free = not mode or mode == "read" and ARGV[3] == "read"
` + refuse + `redis.call("hset", KEYS[1], "mode", ARGV[3])
redis.call("hincrby", KEYS[1], "holders", 1)
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	leaveCounted = `if redis.call("exists", KEYS[1]) == 0 then
    return 0
end
if redis.call("hincrby", KEYS[1], "holders", -1) <= 0 then
    redis.call("del", KEYS[1])
end
return 1`
)

// readWriteScripts maps each way of storing holders to the scripts that acquire and extend the lock.
var readWriteScripts = map[holders]struct{ take, extend string }{
	ownLease:       {takeOwnLease, extendOwnLease},
	oneLease:       {takeOneLease, extendOneLease},
	countedHolders: {takeCounted, `return redis.call("pexpire", KEYS[1], ARGV[2])`},
}

func makeReadWrite(r requester) protocol {
	own := ownOf[readWriteConfig](r.config)
	scripts := readWriteScripts[own.holders]
	l := newSingle(r, func(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
		n, answered := l.ask(env, h, "set", l.readWriteArgs(scripts.take, h, due.at, own.prefer)...).Int()
		return n == 1, answered && n == 0
	})
	l.prolong = func(_ sim.Env, h *Hold, ttl time.Duration) []string {
		return l.readWriteArgs(scripts.extend, h, millis(ttl), own.prefer)
	}
	l.giveBack = func(h *Hold) []string {
		if own.holders == countedHolders {
			return []string{"EVAL", leaveCounted, "1", string(l.config.Key)}
		}
		return []string{"HDEL", string(l.config.Key), h.value}
	}
	return l
}

// readWriteArgs returns the EVAL command for a script of a read-write lock.
func (l *single) readWriteArgs(script string, h *Hold, millis string, prefer preference) []string {
	mode, mark := "write", "0"
	if l.config.Shared {
		mode = "read"
	}
	if prefer == forWriters {
		mark = markOf(l.config)
	}
	return []string{"EVAL", script, "2", string(l.config.Key), writersMark(l.config.Key), h.value, millis, mode, mark}
}

// writersMark returns the key that exists while a writer is waiting for a lock.
func writersMark(key history.Lock) string { return string(key) + ":writer" }

// markOf returns how long a waiting writer's mark lasts: twice the maximum time between two of the writer's requests.
func markOf(c *Config) string { return millis(2 * (c.Retry.Hi + c.Timeout)) }
