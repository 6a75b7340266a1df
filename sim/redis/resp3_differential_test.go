package redis

import (
	"maps"
	"slices"
	"testing"
)

// preludes lists commands that tests send first on connections that use RESP3 or may switch to it. Some of them enable
// tracking.
var preludes = []string{"HELLO 3", "HELLO 3", "HELLO 2", "HELLO 3; CLIENT TRACKING ON",
	"HELLO 3; CLIENT TRACKING ON NOLOOP",
	"HELLO 3; CLIENT TRACKING ON OPTIN", "HELLO 3; CLIENT TRACKING ON OPTOUT", "HELLO 3; CLIENT TRACKING ON BCAST",
	"HELLO 3; CLIENT TRACKING ON BCAST NOLOOP PREFIX a PREFIX b", "CLIENT TRACKING ON"}

// modern lists patterns for commands that have to do with protocol versions and tracking.
var modern = []string{"HELLO 2|3|3|4|1|x", "HELLO", "HELLO 3 SETNAME M", "HELLO 3 AUTH default V", "HELLO 2 AUTH tom V",
	"HELLO 3 AUTH", "HELLO 3 SETNAME",
	"HELLO 3 foo", "CLIENT TRACKING ON|OFF|on|foo", "CLIENT TRACKING ON OPTIN|OPTOUT|NOLOOP|BCAST|foo",
	"CLIENT TRACKING ON OPTIN|OPTOUT|BCAST NOLOOP|OPTIN|OPTOUT",
	"CLIENT TRACKING ON BCAST PREFIX a|b|ab", "CLIENT TRACKING ON BCAST PREFIX a|b PREFIX a|b|c",
	"CLIENT TRACKING ON PREFIX a", "CLIENT TRACKING ON PREFIX",
	"CLIENT TRACKING OFF NOLOOP", "CLIENT TRACKING", "CLIENT CACHING YES|NO|foo", "CLIENT CACHING YES|NO",
	"CLIENT CACHING", "CLIENT TRACKINGINFO",
	"CLIENT TRACKINGINFO x", "CLIENT GETREDIR", "CLIENT GETNAME", "CLIENT SETNAME M", "CLIENT NO-EVICT ON|OFF|foo",
	"CLIENT foo", "RESET", "AUTH V", "AUTH default|tom V"}

// cached lists patterns for commands with replies that clients cache, and for commands that make clients forget keys.
var cached = []string{"GET K", "GET K", "MGET K+", "EXISTS|TOUCH K+", "TTL|PTTL|TYPE|STRLEN K", "HGETALL K",
	"SUNION K+", "CLIENT CACHING YES", "CLIENT CACHING NO",
	"SET K V", "SET K V PX P", "SET K V XX|NX", "DEL K+", "MSET K V K V", "RENAME K K", "COPY K K REPLACE",
	"LMOVE K K LEFT RIGHT", "SMOVE K K M", "RPUSH K V", "SADD K M",
	"SUNIONSTORE K K K", "HSET K M V", "EXPIRE|PEXPIRE K P", "PERSIST K", "GETDEL K", "GETEX K PX P", "APPEND K V",
	"INCR K", "FLUSHALL", "FLUSHDB", "MULTI", "EXEC",
	"DISCARD", "WATCH K", "KEYS *", "SCAN 0", "DBSIZE", "PUBLISH one V", "SUBSCRIBE one", "UNSUBSCRIBE",
	"EVAL return(redis.call('get',KEYS[1])) 1 K", "EVAL return(redis.call('get',KEYS[2])) 2 K K",
	"EVAL return(redis.call('set',KEYS[1],'v')) 1 K",
	"EVAL redis.call('get',KEYS[1])return(redis.call('del',KEYS[2])) 2 K K",
	"EVAL redis.call('publish','one','m')return(redis.call('set',KEYS[1],'v')) 1 K",
	"EVAL return(redis.call('dbsize')) 2 K K"}

// typed lists scripts that use RESP3 or return values of its types.
var typed = []string{"redis.setresp(3)return(redis.call('hgetall',KEYS[1]))",
	"redis.setresp(3)return(redis.call('smembers',KEYS[1]))",
	"redis.setresp(3)return(redis.call('zscore',KEYS[1],'x'))", "redis.setresp(3)return(redis.call('get',KEYS[1]))",
	"return(redis.call('hgetall',KEYS[1]))",
	"return{true,false,1,'x'}", "redis.setresp(3)return{true,false,1,'x'}", "return{double=1.5}", "return{map={a=1}}",
	"return{set={a=true}}", "return(redis.setresp(4))",
	"return(redis.setresp())", "redis.setresp(3)return(type(redis.call('get','none')))",
	"redis.setresp(3)return(redis.call('zrange',KEYS[1],0,-1,'WITHSCORES'))",
	"redis.setresp(3)redis.setresp(2)return(redis.call('hgetall',KEYS[1]))", "return(false)", "return(nil)",
	"redis.setresp(3)return(redis.call('set',KEYS[1],'v','NX'))"}

// TestNodeAnswersAsRedisInRESP3 sends random commands to the node and to a real Redis server, on connections that use
// RESP3 and may track keys. The replies and the pushes must be the same (see sameStream).
func TestNodeAnswersAsRedisInRESP3(t *testing.T) {
	r := newRig(t, 2)
	all := maps.Clone(families)
	all["modern"], all["cached"] = append(slices.Clone(modern), cached...), cached
	for _, script := range typed {
		all["typed"] = append(all["typed"], "EVAL "+script+" 1 K")
	}
	all["typed"] = append(all["typed"], "HSET K M V", "SADD K M", "ZADD K S x")
	for _, family := range slices.Sorted(maps.Keys(all)) {
		t.Run(family, func(t *testing.T) {
			r.t = t
			compareRandom(t, r, "RESP3 "+family, func(v vocabulary) []string {
				switch v.IntN(8) {
				case 0, 1:
					return v.spell(v.one(looking...))
				case 2:
					return v.spell(v.one(cached...))
				}
				return v.spell(v.one(all[family]...))
			}, preludes...)
		})
	}
	t.Logf("%d commands compared", r.compared)
}
