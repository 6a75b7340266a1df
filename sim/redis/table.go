package redis

// ownCommands are the commands that are carried out here: all that have to do with existence, time and ownership, and what
// locks use.
var ownCommands = []command{
	{name: "get", arity: 2, run: get},
	{name: "set", arity: -3, flags: write, run: set},
	{name: "setnx", arity: 3, flags: write, run: setnx},
	{name: "setex", arity: 4, flags: write, run: setex("EX", "setex")},
	{name: "psetex", arity: 4, flags: write, run: setex("PX", "psetex")},
	{name: "getset", arity: 3, flags: write, run: getset},
	{name: "getdel", arity: 2, flags: write, run: getdel},
	{name: "getex", arity: -2, flags: write, run: getex},
	{name: "mget", arity: -2, run: mget},
	{name: "mset", arity: -3, flags: write, run: mset(false)},
	{name: "msetnx", arity: -3, flags: write, run: mset(true)},
	{name: "incr", arity: 2, flags: write, run: incr(1)},
	{name: "decr", arity: 2, flags: write, run: incr(-1)},
	{name: "incrby", arity: 3, flags: write, run: incrBy(1)},
	{name: "decrby", arity: 3, flags: write, run: incrBy(-1)},
	{name: "incrbyfloat", arity: 3, flags: write, run: incrByFloat},
	{name: "cad", arity: 3, flags: write, run: compareAndDelete},
	{name: "cas", arity: -4, flags: write, run: compareAndSet},
	{name: "delex", arity: -2, flags: write, run: delex},
	{name: "delifeq", arity: 3, flags: write, run: deleteIfEqual},
	{name: "strlen", arity: 2, run: strlen},
	{name: "getrange", arity: 4, run: getrange},

	{name: "del", arity: -2, flags: write, run: del},
	{name: "unlink", arity: -2, flags: write, run: del},
	{name: "exists", arity: -2, run: exists},
	{name: "touch", arity: -2, run: exists},
	{name: "type", arity: 2, run: typeOf},
	{name: "rename", arity: 3, flags: write, run: rename(false)},
	{name: "renamenx", arity: 3, flags: write, run: rename(true)},
	{name: "copy", arity: -3, flags: write, run: copyKey},
	{name: "dbsize", arity: 1, run: dbsize},
	{name: "flushall", arity: -1, flags: write, run: flush},
	{name: "flushdb", arity: -1, flags: write, run: flush},

	{name: "expire", arity: -3, flags: write, run: expire("expire", true, false)},
	{name: "pexpire", arity: -3, flags: write, run: expire("pexpire", false, false)},
	{name: "expireat", arity: -3, flags: write, run: expire("expireat", true, true)},
	{name: "pexpireat", arity: -3, flags: write, run: expire("pexpireat", false, true)},
	{name: "persist", arity: 2, flags: write, run: persist},
	{name: "ttl", arity: 2, run: ttl(true, false)},
	{name: "pttl", arity: 2, run: ttl(false, false)},
	{name: "expiretime", arity: 2, run: ttl(true, true)},
	{name: "pexpiretime", arity: 2, run: ttl(false, true)},
}

// passedCommands are executed by miniredis.
var passedCommands = []command{
	{name: "append", arity: 3, flags: write, keys: oneKey},
	{name: "setrange", arity: 4, flags: write | unlessNil, keys: oneKey, first: setrangeFirst},

	{name: "keys", arity: 2, keys: noKey},
	{name: "scan", arity: -2, run: scan},

	{name: "hset", arity: -4, flags: write, keys: oneKey},
	{name: "hsetnx", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "hmset", arity: -4, flags: write, keys: oneKey},
	{name: "hget", arity: 3, keys: oneKey},
	{name: "hmget", arity: -3, keys: oneKey},
	{name: "hgetall", arity: 2, keys: oneKey},
	{name: "hkeys", arity: 2, keys: oneKey},
	{name: "hvals", arity: 2, keys: oneKey},
	{name: "hlen", arity: 2, keys: oneKey},
	{name: "hstrlen", arity: 3, keys: oneKey},
	{name: "hexists", arity: 3, keys: oneKey},
	{name: "hdel", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "hincrby", arity: 4, flags: write, keys: oneKey, first: hincrbyFirst},

	{name: "lpush", arity: -3, flags: write, keys: oneKey},
	{name: "rpush", arity: -3, flags: write, keys: oneKey},
	{name: "lpushx", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "rpushx", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "lpop", arity: -2, flags: write | unlessNil, keys: oneKey, first: popFirst},
	{name: "rpop", arity: -2, flags: write | unlessNil, keys: oneKey, first: popFirst},
	{name: "llen", arity: 2, keys: oneKey},
	{name: "lrange", arity: 4, keys: oneKey},
	{name: "lindex", arity: 3, keys: oneKey, first: lindexFirst},
	{name: "lset", arity: 4, flags: write, keys: oneKey, first: lsetFirst},
	{name: "lrem", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "ltrim", arity: 4, flags: write, keys: oneKey},
	{name: "linsert", arity: 5, flags: write | unlessNil, keys: oneKey},
	{name: "lpos", arity: -3, run: lpos},
	{name: "rpoplpush", arity: 3, flags: write | unlessNil, keys: twoKeys},
	{name: "lmove", arity: 5, flags: write | unlessNil, keys: twoKeys, first: lmoveFirst},

	{name: "sadd", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "srem", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "smembers", arity: 2, keys: oneKey},
	{name: "sismember", arity: 3, keys: oneKey},
	{name: "smismember", arity: -3, keys: oneKey},
	{name: "scard", arity: 2, keys: oneKey},
	{name: "smove", arity: 4, flags: write | unlessNil, keys: twoKeys, first: smoveFirst},
	{name: "sunion", arity: -2, flags: unordered, keys: noKey, first: readSets},
	{name: "sinter", arity: -2, flags: unordered, keys: noKey, first: readSets},
	{name: "sdiff", arity: -2, flags: unordered, keys: noKey, first: readSets},
	{name: "sunionstore", arity: -3, flags: write, run: storeSet("SUNION")},
	{name: "sinterstore", arity: -3, flags: write, run: storeSet("SINTER")},
	{name: "sdiffstore", arity: -3, flags: write, run: storeSet("SDIFF")},

	{name: "zadd", arity: -4, flags: write, run: zadd(false)},
	{name: "zincrby", arity: 4, flags: write, run: zadd(true)},
	{name: "zrem", arity: -3, flags: write | unlessNil, keys: oneKey},
	{name: "zscore", arity: 3, flags: scored, keys: oneKey},
	{name: "zmscore", arity: -3, flags: scored, keys: oneKey},
	{name: "zcard", arity: 2, keys: oneKey},
	{name: "zcount", arity: 4, keys: oneKey, first: byScore},
	{name: "zrank", arity: 3, keys: oneKey},
	{name: "zrevrank", arity: 3, keys: oneKey},
	{name: "zrange", arity: -4, flags: scored, keys: oneKey},
	{name: "zrevrange", arity: -4, flags: scored, keys: oneKey},
	{name: "zrangebyscore", arity: -4, flags: scored, keys: oneKey, first: byScore},
	{name: "zrevrangebyscore", arity: -4, flags: scored, keys: oneKey, first: byScore},
	{name: "zremrangebyrank", arity: 4, flags: write | unlessNil, keys: oneKey},
	{name: "zremrangebyscore", arity: 4, flags: write | unlessNil, keys: oneKey, first: byScore},
	{name: "zpopmin", arity: -2, flags: write | unlessNil | scored, keys: oneKey, first: zpopFirst},
	{name: "zpopmax", arity: -2, flags: write | unlessNil | scored, keys: oneKey, first: zpopFirst},
}

// Why commands that Redis has are not simulated.
const (
	random   = "its reply is random"
	blocking = "it blocks"
	aServer  = "it is about a real server"
	beyond   = "locks do not use it"
)

// notSimulated are commands of Redis that the node refuses, and why.
var notSimulated = map[string]string{
	"spop": random, "srandmember": random, "randomkey": random, "hrandfield": random, "zrandmember": random,

	"blpop": blocking, "brpop": blocking, "brpoplpush": blocking, "blmove": blocking, "blmpop": blocking,
	"bzpopmin": blocking, "bzpopmax": blocking, "bzmpop": blocking,

	"monitor": aServer, "config": aServer, "debug": aServer, "command": aServer, "cluster": aServer, "memory": aServer,
	"object":  aServer,
	"latency": aServer, "slowlog": aServer, "acl": aServer, "module": aServer, "save": aServer, "bgsave": aServer,
	"bgrewriteaof": aServer, "lastsave": aServer, "shutdown": aServer, "failover": aServer, "sync": aServer, "psync": aServer, "replconf": aServer, "dump": aServer,
	"restore": aServer, "migrate": aServer, "waitaof": aServer, "readonly": aServer, "readwrite": aServer, "asking": aServer,

	"xadd": beyond, "xread": beyond, "xreadgroup": beyond, "xrange": beyond, "xrevrange": beyond, "xlen": beyond,
	"xdel": beyond, "xtrim": beyond, "xgroup": beyond, "xack": beyond, "xclaim": beyond, "xautoclaim": beyond,
	"xpending": beyond, "xinfo": beyond, "xsetid": beyond,
	"geoadd": beyond, "geopos": beyond, "geodist": beyond, "geohash": beyond, "geosearch": beyond, "geosearchstore": beyond,
	"georadius": beyond, "georadiusbymember": beyond, "georadius_ro": beyond, "georadiusbymember_ro": beyond,
	"pfadd": beyond, "pfcount": beyond, "pfmerge": beyond,
	"setbit": beyond, "getbit": beyond, "bitcount": beyond, "bitop": beyond, "bitpos": beyond, "bitfield": beyond,
	"bitfield_ro": beyond, "sort": beyond, "sort_ro": beyond, "lcs": beyond, "substr": beyond,
	"hexpire": beyond, "hpexpire": beyond, "hexpireat": beyond, "hpexpireat": beyond, "httl": beyond, "hpttl": beyond,
	"hpersist": beyond, "hsetex": beyond, "hgetex": beyond, "hscan": beyond, "sscan": beyond, "zscan": beyond,
	"hincrbyfloat": beyond, "lmpop": beyond, "zmpop": beyond, "sintercard": beyond, "zintercard": beyond,
	"zunion": beyond, "zinter": beyond, "zdiff": beyond, "zunionstore": beyond, "zinterstore": beyond,
	"zdiffstore": beyond, "zrangestore": beyond, "zrangebylex": beyond, "zrevrangebylex": beyond,
	"zremrangebylex": beyond, "zlexcount": beyond,
	"move": beyond, "swapdb": beyond, "fcall": beyond, "fcall_ro": beyond, "function": beyond, "eval_ro": beyond,
	"evalsha_ro": beyond,
}
