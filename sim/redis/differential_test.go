package redis

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vocabulary draws the words of random commands.
type vocabulary struct{ *rand.Rand }

func (v vocabulary) one(words ...string) string { return words[v.IntN(len(words))] }
func (v vocabulary) key() string                { return v.one("a", "b", "c", "d") }
func (v vocabulary) member() string             { return v.one("x", "y", "z", "xx", "") }

func (v vocabulary) value() string {
	return v.one("v", "w", "10", "-3", "9223372036854775807", "1.5", "", "a\r\nb", "007", "+5", "3.0e3", " 1", "long value")
}
func (v vocabulary) index() string { return v.one("0", "1", "-1", "2", "-2", "5", "-5", "100", "x") }
func (v vocabulary) score() string { return v.one("0", "1", "-1", "2.5", "1.5", "10", "inf", "x") }
func (v vocabulary) bound() string { return v.one("0", "(1", "-inf", "+inf", "2.5", "(10", "x") }

// later is a TTL so long that the test is over before.
func (v vocabulary) later() string { return v.one("100000", "200000", "500000000") }

func (v vocabulary) several(least int, draw func() string) []string {
	words := make([]string, 0, 4)
	for range least + v.IntN(3) {
		words = append(words, draw())
	}
	return words
}

// spell writes each '?' letter of a pattern as a random word: K key, V value, M member, I index, S score, B bound,
// T TTL; "K+" means one or more.
func (v vocabulary) spell(pattern string) []string {
	draws := map[string]func() string{"K": v.key, "V": v.value, "M": v.member, "I": v.index, "S": v.score, "B": v.bound, "T": v.later}
	var args []string
	for _, word := range strings.Fields(pattern) {
		name, many := strings.CutSuffix(word, "+")
		switch draw := draws[name]; {
		case draw == nil:
			args = append(args, v.one(strings.Split(word, "|")...))
		case many:
			args = append(args, v.several(1, draw)...)
		default:
			args = append(args, draw())
		}
	}
	return args
}

// families are the patterns of commands that are compared with a real Redis.
var families = map[string][]string{
	"strings": {"SET K V", "SET K V NX|XX|GET|KEEPTTL", "SET K V EX|PX T", "SET K V NX|XX GET|KEEPTTL", "SET K V EX|PX 0|-1|x", "SET K V foo",
		"SET K V PX T KEEPTTL", "SET K V NX XX", "SET K V EX", "GET K", "SETNX K V", "SETEX|PSETEX K T V", "SETEX|PSETEX K 0|x|-5 V", "GETSET K V", "GETDEL K",
		"GETEX K", "GETEX K PERSIST", "GETEX K EX|PX T", "GETEX K EX|PX 0|x", "GETEX K NX|foo", "MGET K+", "MSET K V K V", "MSET K V K", "MSETNX K V K V",
		"INCR|DECR K", "INCRBY|DECRBY K V", "INCRBYFLOAT K 1|0.1|-2.5|1e3|x", "INCRBYFLOAT K V", "STRLEN K", "APPEND K V", "GETRANGE K I I", "SETRANGE K 0|1|3|-1|x V"},
	"generic": {"DEL|UNLINK K+", "EXISTS|TOUCH K+", "TYPE K", "RENAME K K", "RENAMENX K K", "COPY K K", "COPY K K REPLACE", "COPY K K foo",
		"DBSIZE", "KEYS *|a*|?|[ab]|x", "EXPIRE|PEXPIRE K T", "EXPIRE|PEXPIRE K T NX|XX|foo", "PEXPIREAT K 8888888888888|9999999999999 NX|XX|GT|LT", "EXPIREAT K 8888888888|9999999999 XX GT|LT", "EXPIRE K T NX GT", "EXPIRE K T GT LT",
		"EXPIRE|PEXPIRE|EXPIREAT|PEXPIREAT K 0|-1|x|1000", "EXPIREAT K 9999999999", "PEXPIREAT K 9999999999999", "PERSIST K", "EXPIRETIME|PEXPIRETIME K",
		"TTL K", "ECHO V", "PING", "PING V", "FLUSHALL foo", "nosuch V", "GET", "SELECT 0|x|-1|99"},
	"hashes": {"HSET K M V", "HSET K M V M V", "HSET K M V M", "HSETNX K M V", "HMSET K M V", "HGET K M", "HMGET K M+", "HGETALL K", "HKEYS K", "HVALS K", "HLEN K",
		"HSTRLEN K M", "HEXISTS K M", "HDEL K M+", "HINCRBY K M 1|-3|x|9223372036854775807"},
	"lists": {"LPUSH|RPUSH K V+", "LPUSHX|RPUSHX K V+", "LPOP|RPOP K", "LPOP|RPOP K 0|1|2|-1|x", "LLEN K", "LRANGE K I I", "LINDEX K I", "LSET K I V", "LREM K I V",
		"LTRIM K I I", "LINSERT K BEFORE|AFTER|foo V V", "LPOS K V", "RPOPLPUSH K K", "LMOVE K K LEFT|RIGHT|x LEFT|RIGHT"},
	"sets": {"SADD K M+", "SREM K M+", "SMEMBERS K", "SISMEMBER K M", "SMISMEMBER K M+", "SCARD K", "SMOVE K K M", "SUNION|SINTER|SDIFF K+",
		"SUNIONSTORE|SINTERSTORE|SDIFFSTORE K K+"},
	"zsets": {"ZADD K S M", "ZADD K S M S M", "ZADD K NX|XX|GT|LT|CH|INCR|foo S M", "ZINCRBY K S M", "ZREM K M+", "ZSCORE K M", "ZMSCORE K M+", "ZCARD K", "ZCOUNT K B B",
		"ZRANK|ZREVRANK K M", "ZRANGE K I I", "ZRANGE K I I WITHSCORES|REV|foo", "ZREVRANGE K I I WITHSCORES", "ZRANGEBYSCORE|ZREVRANGEBYSCORE K B B",
		"ZRANGEBYSCORE K B B LIMIT 0|1 1|2|-1", "ZREMRANGEBYRANK K I I", "ZREMRANGEBYSCORE K B B", "ZPOPMIN|ZPOPMAX K", "ZPOPMIN|ZPOPMAX K 0|1|2"},
	"transactions": {"MULTI", "EXEC", "DISCARD", "WATCH K", "UNWATCH", "nosuch", "SET K V", "GET K"},
}

// looking are commands whose reply shows the state, mixed into every family.
var looking = []string{"GET K", "TYPE K", "EXISTS K", "DEL K", "SET K V", "TTL K"}

// TestNodeAnswersAsRedis sends random commands to the node and to a real Redis. Every reply must be the same, byte by
// byte, except for the order of sets.
func TestNodeAnswersAsRedis(t *testing.T) {
	real := startRealRedis(t)
	rounds := 2000
	if s := os.Getenv("FENCEPOST_ROUNDS"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	for _, family := range slices.Sorted(func(yield func(string) bool) {
		for name := range families {
			if !yield(name) {
				return
			}
		}
	}) {
		t.Run(family, func(t *testing.T) {
			v := vocabulary{rand.New(rand.NewPCG(1, uint64(len(family))))}
			m := newMachine(Config{})
			real.do("DISCARD")
			real.do("FLUSHALL")
			for i := 0; i < rounds && !t.Failed(); i++ {
				from := families[family]
				if v.IntN(3) == 0 {
					from = looking
				}
				args := v.spell(from[v.IntN(len(from))])
				want := real.do(args...)
				got := *m.send("client-1/1", args...)
				if !sameReply(args[0], got, want) {
					t.Errorf("command %d of family %s: %q\n node %q\nRedis %q", i, family, args, got, want)
				}
			}
		})
	}
}

func sameReply(command, got, want string) bool {
	if got == want {
		return true
	}
	switch strings.ToUpper(command) {
	case "SMEMBERS", "SUNION", "SINTER", "SDIFF", "KEYS", "HKEYS", "HVALS":
		return sortedItems(got) == sortedItems(want)
	case "HGETALL":
		return sortedPairs(got) == sortedPairs(want)
	case "TTL", "EXPIRETIME", "PEXPIRETIME":
		return len(got) == len(want) && got[1] != '-' // a running clock on one side
	}
	return false
}

func items(reply string) []string {
	if reply[0] != '*' {
		return []string{reply}
	}
	var list []string
	_, rest, _ := strings.Cut(reply, "\r\n")
	for rest != "" {
		var item string
		item, rest = render(rest)
		list = append(list, item)
	}
	return list
}

func sortedItems(reply string) string {
	list := items(reply)
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func sortedPairs(reply string) string {
	list := items(reply)
	pairs := make([]string, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		pairs = append(pairs, list[i]+"\x00"+list[i+1])
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "\n") + strconv.Itoa(len(list))
}
