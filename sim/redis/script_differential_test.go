package redis

import (
	"math/rand/v2"
	"testing"
)

// scriptTexts are run by the node and by a real Redis, each several times on changing data.
var scriptTexts = []string{
	releaseScript,
	"return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])",
	"return redis.call('get', KEYS[1])",
	"return redis.call('get')",
	"return redis.call('nosuch')",
	"return redis.call()",
	"return redis.call({})",
	"return redis.call('multi')",
	"return redis.call('eval', 'return 1', 0)",
	"return redis.call('set', 'k', 'v', 'foo')",
	"return redis.pcall('get', KEYS[1])",
	"return redis.pcall('lpush', KEYS[1], ARGV[1])",
	"return redis.pcall('nosuch')",
	"return redis.pcall()",
	"redis.call('set', KEYS[1], 'written') redis.call('lpush', KEYS[1], 'x') return 1",
	"local ok, e = pcall(redis.call, 'lpush', KEYS[1], 'x') return {tostring(ok), type(e), e}",
	"error('boom')",
	"error('boom', 0)",
	"error({err = 'My boom'})",
	"\n\nerror('third line')",
	"local function f()\n error('deep')\nend\nf()",
	"assert(false, 'said')",
	"local a = nil\nreturn a .. 'x'",
	"return redis.error_reply('My Err')",
	"return redis.error_reply('foo')",
	"return redis.error_reply('-foo bar')",
	"return redis.error_reply()",
	"return redis.status_reply('fine')",
	"return {err = 'table'}",
	"return {ok = 'table'}",
	"return {ok = 1}",
	"return {1, 2, nil, 3}",
	"return {1.9, -1.9, true, false, 'x', {ok = 'hi'}, {err = 'bad'}, {}, {{}}}",
	"return 1e300",
	"return 0/0",
	"return -1/0",
	"return 2^53",
	"return 3.99",
	"return '3.99'",
	"return",
	"",
	"return function() end",
	"redis.call('set', KEYS[1], 0.1) return redis.call('get', KEYS[1])",
	"redis.call('set', KEYS[1], 1e15) return redis.call('get', KEYS[1])",
	"redis.call('set', KEYS[1], 1e17) return redis.call('get', KEYS[1])",
	"redis.call('set', KEYS[1], -0.5) return redis.call('get', KEYS[1])",
	"math.randomseed(7) return {math.random(100), math.random(100), tostring(math.random()), math.random(5, 7)}",
	"return {math.random(1000000)}",
	"redis.call = nil",
	"string.foo = 1",
	"KEYS = {}",
	"x = 1",
	"return foo",
	"foo()",
	"table.insert(redis, 1)",
	"KEYS[1] = 'other' return KEYS[1]",
	"return {KEYS[1], KEYS[2], #KEYS, #ARGV}",
	"return {#KEYS, #ARGV, ARGV[1], ARGV[2], ARGV[3]}",
	"return tostring(0.1 + 0.2)",
	"return tostring(1e15) .. tostring(2^53) .. tostring(1e100) .. tostring(-7) .. tostring(nil)",
	"return string.format('%5.2f|%d|%s|%q|%x|%5s|%-5s|%05d|%g|%%', 1.234, 3, 'x', 'a\"b', 255, 'r', 'l', 42, 0.1)",
	"return string.format('%d', 'x')",
	"return ('abc'):upper() .. ('%d'):format(7)",
	"return type(redis.call('get', 'none'))",
	"return redis.call('hgetall', 'none')",
	"return redis.sha1hex('')",
	"return redis.log(redis.LOG_WARNING, 'x')",
	"return redis.REDIS_VERSION",
	"return redis.call('ping')",
	"return {redis.call('ping')}",
	"return redis.nosuch",
	"local t = {3, 1, 2} table.sort(t) return t",
	"local t = {} for k, v in pairs({a = 1}) do t[#t + 1] = k .. v end return t",
	"local s = 0 for i = 1, 1000 do s = s + i end return s",
	"return {tonumber('12'), tonumber('0x10'), tonumber('z', 36), tostring(tonumber('abc'))}",
	"return select('#', unpack({1, 2, 3}))",
	"return {redis.call('incr', 'n'), redis.call('incrby', 'n', 5), redis.call('type', 'n')}",
	"return redis.call('mget', KEYS[1], 'none')",
	"return {redis.call('exists', KEYS[1]), redis.call('ttl', KEYS[1])}",
	"return redis.call('xadd', 'never', 'mind') and 1",
}

// sameScriptExcept are scripts whose errors name their own fault otherwise than Redis does.
var sameScriptExcept = map[string]bool{
	"return redis.call('xadd', 'never', 'mind') and 1": true, // not simulated
	"local a = nil\nreturn a .. 'x'":                   true, // gopher-lua's wording
	"return string.format('%d', 'x')":                  true, // likewise
}

func TestScriptsAnswerAsInRedis(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	v := vocabulary{rand.New(rand.NewPCG(2, 3))}
	for round := range 20 {
		for _, text := range scriptTexts {
			setup := v.spell(v.one("SET K V", "DEL K", "LPUSH K V", "PERSIST K"))
			real.do(setup...)
			m.send("client-1/1", setup...)
			args := append([]string{"EVAL", text},
				v.spell(v.one("0", "1 K", "1 K V", "1 K V T", "1 K v 100000", "2 K K V", "3 K", "-1", "x"))...)
			want, got := real.do(args...), *m.send("client-1/1", args...)
			if got != want && !sameScriptExcept[text] {
				t.Errorf("round %d, %q after %q:\n node %q\nRedis %q", round, args, setup, got, want)
				return
			}
		}
	}
}
