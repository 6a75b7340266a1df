package redis

import (
	"strconv"
	"testing"
)

// libraryScripts lists lock libraries' scripts for comparisons with a real Redis server, together with the names of
// their source files. keys and argv are patterns for [vocabulary.spell].
var libraryScripts = []struct{ source, keys, argv, text string }{
	{"redsync 4, mutex.go: acquire is SET NX; release", "K", "tom|tim", `local val = redis.call("GET", KEYS[1])
		if val == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif val == false then return -1 else return 0 end`},
	{"redsync 4, mutex.go: touch", "K", "tom|tim P", `if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`},
	{"redsync 4, mutex.go: touch with SET NX", "K", "tom|tim P", `if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
		elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`},

	{"redislock, obtain.lua", "K|other K", "tom|tim 3|1 P", `local function pexpire(ttl)
			for _, key in ipairs(KEYS) do redis.call("pexpire", key, ttl) end
		end
		local function canOverrideKeys()
			local offset = tonumber(ARGV[2])
			for i, key in ipairs(KEYS) do
				if redis.call("getrange", key, 0, offset-1) ~= string.sub(ARGV[1], 1, offset) then return false end
			end
			return true
		end
		local setArgs = {}
		for i, key in ipairs(KEYS) do
			table.insert(setArgs, key)
			table.insert(setArgs, ARGV[1])
		end
		if redis.call("msetnx", unpack(setArgs)) ~= 1 then
			if canOverrideKeys() == false then return false end
			redis.call("mset", unpack(setArgs))
		end
		pexpire(ARGV[3])
		return redis.status_reply("OK")`},
	{"redislock, release.lua", "a|b c|d", "tom|tim", `local values = redis.call("mget", unpack(KEYS))
		for i, _ in ipairs(KEYS) do if values[i] ~= ARGV[1] then return false end end
		for _, key in ipairs(KEYS) do
			if redis.call("del", key) ~= 1 then return redis.error_reply("redislock: failed to del " + key) end
		end
		return redis.status_reply("OK")`},
	{"redislock, refresh.lua", "a|b c|d", "tom|tim P", `local values = redis.call("mget", unpack(KEYS))
		for i, _ in ipairs(KEYS) do if values[i] ~= ARGV[1] then return false end end
		for _, key in ipairs(KEYS) do redis.call("pexpire", key, ARGV[2]) end
		return redis.status_reply("OK")`},
	{"redislock, pttl.lua", "a|b c|d", "tom|tim", `local values = redis.call("mget", unpack(KEYS))
		local ttl = -3
		for i, _ in ipairs(KEYS) do if values[i] == ARGV[1] then ttl = redis.call("pttl", KEYS[i]) else return -3 end end
		return ttl`},

	{"rueidislock, lock.go: delkey", "K", "tom|tim",
		`if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) else return 0 end`},
	{"rueidislock, lock.go: extend", "K", "tom|tim A",
		`if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("PEXPIREAT",KEYS[1],ARGV[2]) else return 0 end`},

	{"redis-py, lock.py: LUA_RELEASE_SCRIPT", "K", "tom|tim", `local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		redis.call('del', KEYS[1]) return 1`},
	{"redis-py, lock.py: LUA_EXTEND_SCRIPT", "K", "tom|tim P 0|1", `local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		local expiration = redis.call('pttl', KEYS[1])
		if not expiration then expiration = 0 end
		if expiration < 0 then return 0 end
		local newttl = ARGV[2]
		if ARGV[3] == "0" then newttl = ARGV[2] + expiration end
		redis.call('pexpire', KEYS[1], newttl) return 1`},
	{"redis-py, lock.py: LUA_REACQUIRE_SCRIPT", "K", "tom|tim P", `local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		redis.call('pexpire', KEYS[1], ARGV[2]) return 1`},

	{"node-redlock 5, index.ts: ACQUIRE_SCRIPT", "a|b c|d", "tom|tim P",
		`for i, key in ipairs(KEYS) do if redis.call("exists", key) == 1 then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`},
	{"node-redlock 5, index.ts: EXTEND_SCRIPT", "a|b c|d", "tom|tim P",
		`for i, key in ipairs(KEYS) do if redis.call("get", key) ~= ARGV[1] then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`},
	{"node-redlock 5, index.ts: RELEASE_SCRIPT", "a|b c|d", "tom|tim", `local count = 0 for i, key in ipairs(KEYS) do
		if redis.call("get", key) == ARGV[1] then redis.pcall("del", key) count = count + 1 end end return count`},

	{"redlock-rb, scripts.rb: LOCK_SCRIPT", "K", "tom|tim P yes|no",
		`if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end`},
	{"redlock-rb, scripts.rb: UNLOCK_SCRIPT", "K", "tom|tim",
		`if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`},
	{"redlock-rb, scripts.rb: PTTL_SCRIPT", "K", "",
		`return { redis.call("get", KEYS[1]), redis.call("pttl", KEYS[1]) }`},

	{"redis-semaphore, semaphore/acquire/lua.ts", "K", "1|2 tom|tim P A",
		`local key = KEYS[1] local limit = tonumber(ARGV[1])
		local identifier = ARGV[2] local lockTimeout = tonumber(ARGV[3]) local now = tonumber(ARGV[4])
		local expiredTimestamp = now - lockTimeout
		redis.call('zremrangebyscore', key, '-inf', expiredTimestamp)
		if redis.call('zcard', key) < limit then
			redis.call('zadd', key, now, identifier) redis.call('pexpire', key, lockTimeout) return 1
		else return 0 end`},
	{"redis-semaphore, semaphore/refresh/lua.ts", "K", "1|2 tom|tim P A",
		`local key = KEYS[1] local limit = tonumber(ARGV[1])
		local identifier = ARGV[2] local lockTimeout = tonumber(ARGV[3]) local now = tonumber(ARGV[4])
		local expiredTimestamp = now - lockTimeout
		redis.call('zremrangebyscore', key, '-inf', expiredTimestamp)
		if redis.call('zscore', key, identifier) then
			redis.call('zadd', key, now, identifier) redis.call('pexpire', key, lockTimeout) return 1
		else return 0 end`},
	{"redis-semaphore, multiSemaphore/acquire/lua.ts", "K", "2|3 1|2 tom|tim P A",
		`local key = KEYS[1] local limit = tonumber(ARGV[1])
		local permits = tonumber(ARGV[2]) local identifier = ARGV[3] local lockTimeout = tonumber(ARGV[4]) local now = tonumber(ARGV[5])
		local expiredTimestamp = now - lockTimeout local args = {}
		redis.call('zremrangebyscore', key, '-inf', expiredTimestamp)
		if (redis.call('zcard', key) + permits) <= limit then
			for i=0, permits - 1 do table.insert(args, now) table.insert(args, identifier .. '_' .. i) end
			redis.call('zadd', key, unpack(args)) redis.call('pexpire', key, lockTimeout) return 1
		else return 0 end`},
	{"redis-semaphore, multiSemaphore/release/lua.ts", "K", "1|2 tom|tim",
		`local key = KEYS[1] local permits = tonumber(ARGV[1])
		local identifier = ARGV[2] local args = {}
		for i=0, permits - 1 do table.insert(args, identifier .. '_' .. i) end
		return redis.call('zrem', key, unpack(args))`},

	{"Redisson 3, RedissonLock.java: tryLockInnerAsync", "K", "P tom|tim",
		`if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
		redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);`},
	{"Redisson 3, RedissonLock.java: unlockInnerAsync", "K one latch", "0 P tom|tim publish|spublish P",
		`local val = redis.call('get', KEYS[3]);
		if val ~= false then return tonumber(val); end;
		if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;
		local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
		if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); redis.call('set', KEYS[3], 0, 'px', ARGV[5]); return 0;
		else redis.call('del', KEYS[1]); redis.call(ARGV[4], KEYS[2], ARGV[1]); redis.call('set', KEYS[3], 1, 'px', ARGV[5]); return 1; end;`},
	{"Redisson 3, RedissonLock.java: forceUnlockAsync", "K one", "0 publish",
		`if (redis.call('del', KEYS[1]) == 1) then redis.call(ARGV[2], KEYS[2], ARGV[1]); return 1 else return 0 end`},
	{"Redisson 3, RedissonBaseLock.java: renewExpirationAsync", "K", "P tom|tim",
		`if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
		redis.call('pexpire', KEYS[1], ARGV[1]); return 1; end; return 0;`},
	{"Redisson 3, RedissonReadLock.java: tryLockInnerAsync", "K timeout", "P tom|tim tom:write|tim:write",
		`local mode = redis.call('hget', KEYS[1], 'mode');
		if (mode == false) then redis.call('hset', KEYS[1], 'mode', 'read'); redis.call('hset', KEYS[1], ARGV[2], 1);
			redis.call('set', KEYS[2] .. ':1', 1); redis.call('pexpire', KEYS[2] .. ':1', ARGV[1]); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
		if (mode == 'read') or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then
			local ind = redis.call('hincrby', KEYS[1], ARGV[2], 1); local key = KEYS[2] .. ':' .. ind;
			redis.call('set', key, 1); redis.call('pexpire', key, ARGV[1]);
			local remainTime = redis.call('pttl', KEYS[1]); redis.call('pexpire', KEYS[1], math.max(remainTime, ARGV[1])); return nil; end;
		return redis.call('pttl', KEYS[1]);`},
	{"Redisson 3, RedissonReadLock.java: unlockInnerAsync", "K one timeout prefix", "0 tom|tim",
		`local mode = redis.call('hget', KEYS[1], 'mode');
		if (mode == false) then redis.call('publish', KEYS[2], ARGV[1]); return 1; end;
		local lockExists = redis.call('hexists', KEYS[1], ARGV[2]); if (lockExists == 0) then return nil; end;
		local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1); if (counter == 0) then redis.call('hdel', KEYS[1], ARGV[2]); end;
		redis.call('del', KEYS[3] .. ':' .. (counter+1));
		if (redis.call('hlen', KEYS[1]) > 1) then
			local maxRemainTime = -3; local keys = redis.call('hkeys', KEYS[1]);
			for n, key in ipairs(keys) do counter = tonumber(redis.call('hget', KEYS[1], key));
				if type(counter) == 'number' then for i=counter, 1, -1 do
					local remainTime = redis.call('pttl', KEYS[4] .. ':' .. key .. ':rwlock_timeout:' .. i);
					maxRemainTime = math.max(remainTime, maxRemainTime); end; end; end;
			if maxRemainTime > 0 then redis.call('pexpire', KEYS[1], maxRemainTime); return 0; end;
			if mode == 'write' then return 0; end; end;
		redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1;`},
	{"Redisson 3, RedissonWriteLock.java: tryLockInnerAsync", "K", "P tom:write|tim:write",
		`local mode = redis.call('hget', KEYS[1], 'mode');
		if (mode == false) then redis.call('hset', KEYS[1], 'mode', 'write'); redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
		if (mode == 'write') then if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('hincrby', KEYS[1], ARGV[2], 1);
			local currentExpire = redis.call('pttl', KEYS[1]); redis.call('pexpire', KEYS[1], currentExpire + ARGV[1]); return nil; end; end;
		return redis.call('pttl', KEYS[1]);`},
	{"Redisson 3, RedissonWriteLock.java: unlockInnerAsync", "K one", "0 P tom:write|tim:write",
		`local mode = redis.call('hget', KEYS[1], 'mode');
		if (mode == false) then redis.call('publish', KEYS[2], ARGV[1]); return 1; end;
		if (mode == 'write') then local lockExists = redis.call('hexists', KEYS[1], ARGV[3]); if (lockExists == 0) then return nil;
			else local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
				if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0;
				else redis.call('hdel', KEYS[1], ARGV[3]);
					if (redis.call('hlen', KEYS[1]) == 1) then redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]);
					else redis.call('hset', KEYS[1], 'mode', 'read'); end; return 1; end; end; end; return nil;`},
}

// TestScriptsOfLibrariesAnswerAsInRedis runs lock libraries' scripts on the simulated node and on a real Redis server,
// and compares the replies. The scripts run one after another on the same few keys, for two owners on two connections.
func TestScriptsOfLibrariesAnswerAsInRedis(t *testing.T) {
	r := newRig(t, 2)
	shipped := func(v vocabulary) []string {
		s := libraryScripts[v.IntN(len(libraryScripts))]
		keys := v.spell(s.keys)
		args := append([]string{"EVAL", s.text, strconv.Itoa(len(keys))}, keys...)
		return append(args, v.spell(s.argv)...)
	}
	between := []string{"SET K tom|tim NX PX P", "PTTL K", "HGETALL K", "DEL K", "DEL K", "GET K",
		"ZRANGE K 0 -1 WITHSCORES", "SUBSCRIBE one", "UNSUBSCRIBE", "DBSIZE"}
	compareRandom(t, r, "libraries", func(v vocabulary) []string {
		if v.IntN(4) == 0 {
			return v.spell(v.one(between...))
		}
		return shipped(v)
	})
	t.Logf("%d commands compared", r.compared)
}
