package locks

import (
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// Semaphore is a lock with several permits on a single Redis server. Each holder is a member of a sorted set, and its
// score is the time at which its permit ends.
const Semaphore Protocol = "semaphore"

func init() {
	Register(&Definition{
		Name: Semaphore, Place: 9, Service: history.Redis,
		Text: "a semaphore: its holders are the members of a sorted set, " +
			"each with the time at which its permit ends",
		Backend: OnRedis, Expires: true, Shares: true,
		Settings: slices.Concat(
			[]Setting{permitsKey, ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds,
				timeoutKey, releaseOnFailure,
				format.Only(reentrantKey, CountedReentry, UncountedReentry), valueKey, valueInKey, clockKey,
				elapsedCheckIfCareful,
				driftAllowance, extensionKey, format.Only(extensionMode, ExtendChecked)}, extensionKeys[1:],
			[]Setting{waitKey}, waitKeys, ownSettings(semaphoreKeys...)),
		Without: withoutOneKey,
		Alike:   map[string]string{"permits": permitsAlike},
		make:    makeSemaphore,
		Measures: func(c *Config) []history.Measure {
			if ownOf[semaphoreConfig](c).time == byServer {
				return []history.Measure{history.RelativeExpiry}
			}
			return nil
		},
		Refused: func(c *Config, _ int) []Refusal {
			if own := ownOf[semaphoreConfig](c); own.admit == byRank && own.time == byServer {
				return []Refusal{{"admit", "with `admit: rank`, clients send the times of their permits: " +
					"write `time: client`, or remove `admit`"}}
			}
			return nil
		},
	})
}

const permitsAlike = "all clients take their permits from one semaphore: set `permits` under `lock`"

// withoutOneKey lists settings that apply only to a lock with a single key. For each of them, it explains why a
// semaphore on Redis rejects it.
var withoutOneKey = map[string]string{
	"release": "a client can release only its own permit: remove `release`",
	"reentrant.overwrite": "`overwrite` sets a lock's only key again, but in a semaphore, " +
		"each permit has its own entry: use counted or uncounted",
}

// semaphoreConfig contains the settings that only this protocol has.
type semaphoreConfig struct {
	time  timeOf    // default server
	admit admission // default count
}

// timeOf determines whose clock decides when a permit expires.
type timeOf string

const (
	byServer timeOf = "server" // a script reads the server's clock (TIME)
	// the client sends its own clock's time when it requests a permit and when it removes other clients' permits
	// ("Redis in Action", Redisson's RPermitExpirableSemaphore)
	byClient timeOf = "client"
)

// admission determines how the lock decides whether a permit is free.
type admission string

const (
	// the script counts the holders and, if a permit is free, adds the client in the same step
	byCount admission = "count"
	// the client adds itself to the set, and has a permit if it ranks low enough among all permits sorted by end time
	// ("Redis in Action", 6.3.1)
	byRank admission = "rank"
)

var semaphoreKeys = []format.Key[semaphoreConfig]{
	format.Choice("time", func(c *semaphoreConfig) *timeOf { return &c.time },
		"whose clock determines when a permit ends: "+
			"the clock of the `server`, which a script reads, or the clock of each `client` (\"Redis in Action\", "+
			"6.3; Redisson)",
		format.Options(byServer, byClient)...).OnWall(string(byClient)),
	format.Choice("admit", func(c *semaphoreConfig) *admission { return &c.admit },
		"`count`: one step counts the permits in use and adds one if there is room; `rank`: the client adds itself, "+
			"and then has a permit if few enough members have an earlier time (\"Redis in Action\", 6.3.1)",
		format.Options(byCount, byRank)...),
}

// A semaphore's scripts. ARGV[1] is the holder, ARGV[2] the TTL, and ARGV[3] the number of permits.
const (
	// serversNow reads the server's clock. clientsNow uses the client's time, which is ARGV[4].
	serversNow = `local t = redis.call("time")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`
	clientsNow = `local now = tonumber(ARGV[4])
`
	// removeEnded removes the permits that have ended. A permit is still valid during the millisecond given by its
	// score, because otherwise it would not last for the whole TTL.
	removeEnded = `redis.call("zremrangebyscore", KEYS[1], "-inf", "(" .. now)
`
	// keepSet keeps the set from expiring before its last permit has ended.
	keepSet = `if redis.call("pttl", KEYS[1]) < tonumber(ARGV[2]) then
    redis.call("pexpire", KEYS[1], ARGV[2])
end
return 1`
	countPermits = removeEnded + `if redis.call("zcard", KEYS[1]) >= tonumber(ARGV[3]) then
    return 0
end
redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
` + keepSet
	rankPermits = removeEnded + `redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
if redis.call("zrank", KEYS[1], ARGV[1]) >= tonumber(ARGV[3]) then
    return 0
end
` + keepSet
	extendPermit = `local ends = redis.call("zscore", KEYS[1], ARGV[1])
if not ends or tonumber(ends) < now then
    return 0
end
redis.call("zadd", KEYS[1], now + ARGV[2], ARGV[1])
` + keepSet
)

// permitScripts contains a semaphore's Lua scripts, which depend on its settings.
type permitScripts struct {
	semaphoreConfig
	take, extend string
}

func makeSemaphore(r requester) protocol {
	s := permitScripts{semaphoreConfig: ownOf[semaphoreConfig](r.config)}
	now, take := serversNow, countPermits
	if s.time == byClient {
		now = clientsNow
	}
	if s.admit == byRank {
		take = rankPermits
	}
	s.take, s.extend = now+take, now+extendPermit
	l := newSingle(r, s.request)
	l.prolong = func(env sim.Env, h *Hold, ttl time.Duration) []string {
		return l.permitArgs(env, s.extend, h, millis(ttl), s.time)
	}
	l.giveBack = func(h *Hold) []string { return []string{"ZREM", string(l.config.Key), h.value} }
	return l
}

// request requests a permit. With admission by rank, the client removes itself from the set again if it ranks too high.
func (s permitScripts) request(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	n, answered := l.ask(env, h, "set", l.permitArgs(env, s.take, h, due.at, s.time)...).Int()
	if taken = answered && n == 0; taken && s.admit == byRank {
		l.ask(env, h, "withdraw", l.giveBack(h)...)
	}
	return n == 1, taken
}

// permitArgs returns the EVAL command for one of a semaphore's scripts.
func (l *single) permitArgs(env sim.Env, script string, h *Hold, millis string, by timeOf) []string {
	args := []string{"EVAL", script, "1", string(l.config.Key), h.value, millis, strconv.Itoa(l.config.permits())}
	if by == byClient {
		args = append(args, strconv.FormatInt(env.Wall().UnixMilli(), 10))
	}
	return args
}
