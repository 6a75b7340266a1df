package redis

import (
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// The scripts that locks live on are so well known that the node carries them out in Go, some ten times faster than in
// Lua. A script is recognised by its tokens: spaces, comments, quotes, semicolons and the case of command names do not
// matter, everything else does. FuzzTwinEqualsLua holds each twin equal to its Lua.

// twin carries out a script. It declines, before it has changed anything, whatever it does not do exactly as Lua does:
// missing arguments, keys of other types, numbers that Redis refuses.
type twin func(d *store.Data, keys, argv []string) (done bool)

// WellKnown are the texts and their twins. Users: the documents' releases and renewals, Redis's own manual, redis-py,
// redsync, redlock-rb, node-redlock, and Fencepost's fenced acquisition.
var WellKnown = []struct {
	Name string
	Text string
	Twin twin
}{
	{"release", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		twinRelease(0)},
	{"release, redsync 4",
		`local val = redis.call("GET", KEYS[1]) if val == ARGV[1] then return redis.call("DEL", KEYS[1])
		elseif val == false then return -1 else return 0 end`, twinRelease(-1)},
	{"renew, seconds",
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("expire", KEYS[1], ARGV[2]) else return 0 end`,
		twinRenew(1000)},
	{"renew, milliseconds",
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`,
		twinRenew(1)},
	{"renew or acquire, redsync",
		`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2])
		elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`,
		twinRenewOrAcquire},
	{"acquire or extend, redlock-rb",
		`if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end`, twinAcquireOrExtend},
	{"acquire all, node-redlock 5",
		`for i, key in ipairs(KEYS) do if redis.call("exists", key) == 1 then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`, twinAcquireAll},
	{"release all, node-redlock 5",
		`local count = 0 for i, key in ipairs(KEYS) do if redis.call("get", key) == ARGV[1] then
		redis.pcall("del", key) count = count + 1 end end return count`, twinReleaseAll},
	{"extend all, node-redlock 5",
		`for i, key in ipairs(KEYS) do if redis.call("get", key) ~= ARGV[1] then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`, twinExtendAll},
	{"fenced acquire",
		`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) else return 0 end`,
		twinFencedAcquire},
}

var twins = func() map[string]twin {
	m := map[string]twin{}
	for _, w := range WellKnown {
		m[lua.Tokens(w.Text)] = w.Twin
	}
	return m
}()

// FindTwin is the twin of a script, or nil.
func FindTwin(text string) twin { return twins[lua.Tokens(text)] }
