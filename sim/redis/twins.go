package redis

import (
	"math"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// The scripts that many locks use are also implemented in Go, which is about ten times faster than running them in Lua.
// A script is recognized by its tokens, regardless of spaces, comments, quotes, semicolons and the case of command
// names. A script with any other difference is not recognized. FuzzTwinEqualsLua checks that each twin, the Go
// implementation, has the same effect as its Lua script.

// twin executes a script without Lua. If it cannot do exactly what the Lua script would do, it returns false before it
// changes any data. This happens if arguments are missing, if keys have other types, or if Redis would refuse a number.
type twin func(d *store.Data, keys, argv []string) (done bool)

// WellKnown lists the scripts that have twins. They come from the documented ways to release and renew a lock, Redis's
// own manual, redis-py, redsync, redlock-rb, node-redlock, and Fencepost's fenced acquisition.
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

// FindTwin returns a script's twin (its Go implementation), or nil if there is none.
func FindTwin(text string) twin { return twins[lua.Tokens(text)] }

// compared is the result of comparing the reply to a GET with a value.
type compared uint8

const (
	declined compared = iota // a case that the twin does not handle
	absent
	foreign
	owned
)

// compareValue compares a key's value like `redis.call("get", KEYS[1]) == ARGV[1]`.
func compareValue(d *store.Data, keys, argv []string) (*store.Entry, compared) {
	if len(keys) == 0 || len(argv) == 0 {
		return nil, declined
	}
	k := d.Find(keys[0])
	d.Look(keys[0], "", history.CheckedValue)
	switch {
	case k == nil:
		return nil, absent
	case !k.Text:
		return k, declined
	case k.Value != argv[0]:
		return k, foreign
	}
	return k, owned
}

// ttlOf parses the argument of PX, PEXPIRE or EXPIRE, in units of unit ms, and returns the deadline. It accepts only
// positive times.
func ttlOf(d *store.Data, argv []string, unit int64) (when int64, ok bool) {
	if len(argv) < 2 {
		return 0, false
	}
	v, ok := resp.ParseInt(argv[1])
	if !ok || v <= 0 || v > math.MaxInt64/1000 || v*unit > math.MaxInt64-max(d.Now, 0) {
		return 0, false
	}
	return d.Now + v*unit, true
}

// twinRelease returns the twin (the Go implementation) of a script that releases a lock. It replies with ifAbsent if
// the key does not exist.
func twinRelease(ifAbsent int64) twin {
	return func(d *store.Data, keys, argv []string) bool {
		switch _, c := compareValue(d, keys, argv); c {
		case declined:
			return false
		case owned:
			removeAsked(d, keys[0])
			d.ReplyInt(1)
		case absent:
			d.ReplyInt(ifAbsent)
		default:
			d.ReplyInt(0)
		}
		return true
	}
}

func twinRenew(unit int64) twin {
	return func(d *store.Data, keys, argv []string) bool {
		k, c := compareValue(d, keys, argv)
		if c == declined {
			return false
		}
		if c != owned {
			d.ReplyInt(0)
			return true
		}
		when, ok := ttlOf(d, argv, unit)
		if ok {
			d.MoveDeadline(keys[0], k, when)
			d.ReplyInt(1)
		}
		return ok
	}
}

func twinRenewOrAcquire(d *store.Data, keys, argv []string) bool {
	k, c := compareValue(d, keys, argv)
	when, ok := ttlOf(d, argv, 1)
	if c == declined || !ok {
		return false
	}
	switch c {
	case owned:
		d.MoveDeadline(keys[0], k, when)
		d.ReplyInt(1)
	case absent:
		d.SetString(keys[0], argv[0], when)
		d.ReplyInt(1)
	default:
		d.ReplyInt(0)
	}
	return true
}

func twinAcquireOrExtend(d *store.Data, keys, argv []string) bool {
	_, c := compareValue(d, keys, argv)
	when, ok := ttlOf(d, argv, 1)
	if c == declined || !ok {
		return false
	}
	if c == owned || c == absent && len(argv) > 2 && argv[2] == "yes" {
		d.SetString(keys[0], argv[0], when)
		d.ReplyOK()
	} else {
		d.ReplyNull()
	}
	return true
}

func twinExtendAll(d *store.Data, keys, argv []string) bool {
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	for i := range keys {
		switch _, c := compareValue(d, keys[i:i+1], argv); c {
		case declined:
			return false
		case absent, foreign:
			d.ReplyInt(0)
			return true
		}
	}
	setAll(d, keys, argv[0], when)
	return true
}

// setAll sets the keys in order and replies with the number of keys.
func setAll(d *store.Data, keys []string, value string, when int64) {
	for _, name := range keys {
		d.SetString(name, value, when)
	}
	d.ReplyInt(int64(len(keys)))
}

func twinAcquireAll(d *store.Data, keys, argv []string) bool {
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	for _, name := range keys {
		d.Look(name, "", history.CheckedPresence)
		if d.Find(name) != nil {
			d.ReplyInt(0)
			return true
		}
	}
	setAll(d, keys, argv[0], when)
	return true
}

func twinReleaseAll(d *store.Data, keys, argv []string) bool {
	for _, name := range keys { // Peek, because an expired key must not be deleted before its turn
		if k := d.Peek(name); len(argv) == 0 || k != nil && !k.Text {
			return false
		}
	}
	count := int64(0)
	for i, name := range keys {
		if _, c := compareValue(d, keys[i:i+1], argv); c == owned {
			removeAsked(d, name)
			count++
		}
	}
	d.ReplyInt(count)
	return true
}

func twinFencedAcquire(d *store.Data, keys, argv []string) bool {
	if len(keys) < 2 || len(argv) == 0 || keys[0] == keys[1] {
		return false
	}
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	if d.Find(keys[0]) != nil {
		d.ReplyInt(0)
		return true
	}
	d.Look(keys[0], "", history.CheckedPresence) // the script uses NX
	if k := d.Peek(keys[1]); k != nil {          // an expired second key is deleted only after the first key was set
		v, ok := resp.ParseInt(k.Value)
		if !k.Text || !ok || v >= 1<<53 {
			return false // an error in Lua, or a number that Lua would round
		}
	}
	d.SetString(keys[0], argv[0], when)
	increase(d, []string{"incr", keys[1]}, 1)
	return true
}
