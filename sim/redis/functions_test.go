package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// libraryBodies lists function libraries without their first lines.
var libraryBodies = []string{
	"redis.register_function('f', function(keys, args) return {keys[1], args[1], #keys, #args} end)",
	"redis.register_function('g', function(keys, args)\n" +
		" return redis.call('set', keys[1], args[1], 'NX', 'PX', args[2])\nend)",
	"redis.register_function('f', function(keys, args)\n if redis.call('get', keys[1]) == args[1] then\n" +
		"  return redis.call('del', keys[1])\n end\n return 0\nend)",
	"local n = 0 redis.register_function('h', function() n = n + 1 return n end)",
	"redis.register_function{function_name='g', callback=function(k) return redis.call('get', k[1]) end, " +
		"flags={'no-writes'}, description='what it does'}",
	"redis.register_function{function_name='h', callback=function(k) return redis.call('del', k[1]) end, " +
		"flags={'no-writes', 'allow-stale'}}",
	"redis.register_function('f', function() return KEYS[1] end)",
	"redis.register_function('g', function() return ARGV end) redis.register_function('h', function() error('oh') end)",
	"redis.register_function('f', function() error({err='My own'}) end)",
	"redis.register_function('f', function() x = 1 end)",
	"redis.register_function('g', function() return redis.register_function end)",
	"redis.register_function('h', function(...) return {#{...}, type(_G), string.rep('x', 3), math.floor(2.5)} end)",
	"redis.register_function('f', function(k) k[1] = 'z' return k end)",
	"redis.register_function('g', function() return redis.error_reply('Foo bar') end)",
	"redis.register_function('h', function()\n" +
		" return {redis.pcall('lpush'), redis.sha1hex(''), redis.REDIS_VERSION}\nend)",
	"local function helper(k) return redis.call('incr', k) end\nredis.register_function('f', function(k)\n" +
		" return helper(k[1]) + helper(k[1])\nend)",
	"redis.register_function{function_name='f', callback=function() return 7 end, flags={'no-writes'}}",
	"redis.register_function{function_name='g', callback=function(k) return #k end, flags={'no-writes'}} " +
		"redis.register_function{function_name='h', callback=function() return 'h' end, flags={'no-writes'}}",
	"redis.register_function('f', function() end) redis.register_function('f', function() end)",
	"local n = 1e15 .. '' redis.register_function('f', function(k) return n .. 1/3 .. #k end)",
	"redis.register_function('f')", "redis.register_function(1, 2)", "redis.register_function('f', 2)",
	"redis.register_function(1, function() return 'one' end)", "redis.register_function()",
	"redis.register_function('f', function() end, 3)", "redis.register_function({}, function() end)",
	"redis.register_function('a-b', function() end)", "redis.register_function{foo=1}", "redis.register_function{}",
	"redis.register_function{function_name='f'}", "redis.register_function{callback=function() end}",
	"redis.register_function{function_name='f', callback=function() end, flags={'x'}}",
	"redis.register_function{function_name='f', callback=function() end, flags='no-writes'}",
	"redis.register_function{function_name={}, callback=function() end}", "redis.register_function{[{}]=1}",
	"redis.register_function{Function_Name='g', CALLBACK=function() return 2 end, Flags={'NO-WRITES', 'no-cluster'}}",
	"x = 1", "local x = y", "return redis.call('get', 'a')", "error('x')", "local s = string.format('x')",
	"local s = {} for k, v in pairs(s) do end", "", "redis.log(redis.LOG_NOTICE, 'x')",
	"return redis.REDIS_VERSION_NUM", "return redis.sha1hex('')", "redis.x = 1", "return _G",
}

// library returns a random function library.
func (v vocabulary) library() string {
	first := v.one("#!lua name=l\n", "#!lua name=m\n", "#!LUA NAME=l\n", "#!lua\n", "",
		"#!js name=l\n", "#!lua name=l name=m\n", "#!lua foo=l\n", "#!lua name=a-b\n", "#!lua name=\n",
		"#! \n")
	if v.IntN(3) > 0 {
		first = v.one("#!lua name=l\n", "#!lua name=m\n")
	}
	return first + v.one(libraryBodies...)
}

func (v vocabulary) function() string { return v.one("f", "g", "h", "F", "nosuch") }

const releaseLibrary = "#!lua name=locks\nredis.register_function('release', function(keys, args) " +
	"if redis.call('get', keys[1]) == args[1] then return redis.call('del', keys[1]) end return 0 end)"

// TestFunctionsAreData checks that functions are stored like data. They survive a restart if the server has an
// append-only file, they reach its replicas, and FLUSHALL does not remove them.
func TestFunctionsAreData(t *testing.T) {
	for policy, want := range map[store.Policy]string{store.Always: "1", store.None: "-ERR Function not found"} {
		m := newMachine(Config{Persistence: policy})
		check(t, "loaded", m.args("client-1/1", "FUNCTION", "LOAD", releaseLibrary), "locks")
		m.do("client-1/1", "FLUSHALL")
		m.restart(sim.ShutDown, time.Second)
		m.do("client-1/1", "SET lock a")
		check(t, policy.String(), m.do("client-1/1", "FCALL release 1 lock a"), want)
	}
	m := newMachine(Config{})
	m.args("client-1/1", "FUNCTION", "LOAD", releaseLibrary)
	replica := newMachine(Config{})
	replica.node.replaceBy(m.node.image())
	check(t, "a full resync", replica.do("client-1/1", "FCALL release 1 lock a"), "0")
	replica.node.replaceBy(New(Config{}).image())
	check(t, "another", replica.do("client-1/1", "FCALL release 1 lock a"), "-ERR Function not found")
}

// TestFunctionsChangeKeysForTheAttempt checks that if a function changes a key, the change belongs to the attempt that
// called the function. The log must contain the function's effects.
func TestFunctionsChangeKeysForTheAttempt(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always})
	m.args("client-1/1", "FUNCTION", "LOAD", releaseLibrary)
	m.do("client-1/1", "SET lock a")
	m.recent()
	m.do("client-2/1", "FCALL release 1 lock a")
	check(t, "the record", m.recent(), "key-gone lock of client-1/1 by client-2/1: deleted")
	log := m.node.Log()
	check(t, "the log", strings.Join(log[1:], "; "), "SET lock a; DEL lock")
}

// TestReplicasRefuseFunctionsThatMayWrite checks that a replica calls only functions that have the no-writes flag.
func TestReplicasRefuseFunctionsThatMayWrite(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always})
	m.args("client-1/1", "FUNCTION", "LOAD", releaseLibrary+" redis.register_function{function_name='look', "+
		"callback=function(keys) return redis.call('exists', keys[1]) end, flags={'no-writes'}}")
	m.node.replicate("redis-2")
	const readOnly = "-READONLY You can't write against a read only replica."
	check(t, "a function that may write", m.do("client-1/1", "FCALL release 1 lock a"), readOnly)
	check(t, "a function that does not", m.do("client-1/1", "FCALL look 1 lock"), "0")
	check(t, "loading", m.args("client-1/1", "FUNCTION", "LOAD", releaseLibrary), readOnly)
	check(t, "listing", strings.HasPrefix(m.do("client-1/1", "FUNCTION LIST"), "[[library_name locks"), true)
}

// TestFirstWrongArgumentOfAFunctionIsReported checks that the error does not depend on the order of a Go map.
func TestFirstWrongArgumentOfAFunctionIsReported(t *testing.T) {
	library := "#!lua name=l\nredis.register_function{foo=1, flags=2, description={}, callback=3}"
	for range 50 {
		m := newMachine(Config{})
		check(t, "error", m.args("client-1/1", "FUNCTION", "LOAD", library),
			"-ERR Error registering functions: ERR unknown argument given to redis.register_function")
	}
}
