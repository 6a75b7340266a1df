package redis

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// vocabulary chooses random words for commands.
type vocabulary struct{ *rand.Rand }

func (v vocabulary) one(words ...string) string { return words[v.IntN(len(words))] }
func (v vocabulary) key() string                { return v.one("a", "b", "c", "d") }
func (v vocabulary) member() string             { return v.one("x", "y", "z", "xx", "") }

func (v vocabulary) value() string {
	return v.one("v", "w", "10", "-3", "9223372036854775807", "1.5", "", "a\r\nb", "007", "+5", "3.0e3", " 1",
		"long value")
}
func (v vocabulary) index() string {
	return v.one("0", "1", "-1", "2", "-2", "5", "-5", "100", "x", "01", "+1", "-0")
}
func (v vocabulary) score() string {
	return v.one("0", "1", "-1", "2.5", "1.5", "10", "inf", "-inf", "nan", "x", "", "1700000000000", "1e21", "1e17",
		"123456789.125", "0.1", "1e-7", "-0",
		"3.0", "0x10", "1e400", "INF", "-iNFINITY", " 1", "1 ", "9007199254740993", "1700000000000.5",
		"Infinity", "1e-400",
		"4611686018427387904")
}
func (v vocabulary) bound() string {
	return v.one("0", "(1", "-inf", "+inf", "2.5", "(10", "x", "nan", "(nan", "inf", "(inf", "(-inf", "0x10", "", "(",
		"1e400", " 1", "1700000000000")
}

// longTTL returns a random TTL that outlasts the test.
func (v vocabulary) longTTL() string { return v.one("100000", "200000", "500000000") }

// shortTTL returns a random TTL, in the command's unit, that is short enough to expire when the test moves the clock.
func (v vocabulary) shortTTL() string { return v.one("1", "2", "50", "100", "1500") }

// moment and second return random absolute times close to the start of the test, in ms and s.
func (v vocabulary) moment() string {
	return strconv.FormatInt(epoch/1_000_000+int64(v.IntN(9)-2)*50, 10)
}
func (v vocabulary) second() string {
	return strconv.FormatInt(epoch/1_000_000/1000+int64(v.IntN(5)-1), 10)
}

// entry returns a random ID of a stream's entry, or an end of a range of IDs.
func (v vocabulary) entry() string {
	return v.one("*", "0-*", "1-*", "5-*", "0-0", "0-1", "1-1", "1", "5-2", "5", v.moment(), v.moment()+"-1",
		v.moment()+"-*", "-", "+", "(1-1", "(5", "(0-0", "(", "(-", "x", "1-x", "1-1-1", "01-+2", " 3", "1-", "-1",
		"*-1", "18446744073709551614-*", "18446744073709551615-18446744073709551615", "18446744073709551616", "")
}

// wait returns a random timeout in seconds that is short enough to expire when the test moves the clock.
func (v vocabulary) wait() string { return v.one("0", "0.0005", "0.05", "0.1", "1", "1.5", "1e-1") }

// classes returns random notification classes, as letters.
func (v vocabulary) classes() string {
	return v.one("KEA", "KEA", "KEg$", "Elx", "Kshz", "nAKE", "AK", "Kg$lshzxetd", "E$")
}

func (v vocabulary) channel() string { return v.one("one", "two", "o[n]e", "") }
func (v vocabulary) pattern() string {
	return v.one("*", "o*", "t?o", "[no]*", "one", `o\[n]e`, "[^a-n]n[a-f]", "")
}

func (v vocabulary) several(least int, draw func() string) []string {
	words := make([]string, 0, 4)
	for range least + v.IntN(3) {
		words = append(words, draw())
	}
	return words
}

// spell replaces the letters in a pattern with random words. K stands for a key, V for a value, M for a member, I for
// an index, S for a score, B for a bound, T for a long TTL, P for a short TTL, A for an absolute time in ms, E for an
// absolute time in s, C for a channel, X for a channel pattern, W for a timeout, N for notification classes, L for a
// function library, F for a function name, and G for an ID of a stream's entry. "K+" means one or more keys.
func (v vocabulary) spell(pattern string) []string {
	draws := map[string]func() string{"K": v.key, "V": v.value, "M": v.member, "I": v.index, "S": v.score, "B": v.bound,
		"T": v.longTTL, "P": v.shortTTL, "A": v.moment, "E": v.second, "C": v.channel, "X": v.pattern,
		"W": v.wait, "N": v.classes, "L": v.library, "F": v.function, "G": v.entry}
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

// move returns a random wall clock change, from 0.6 ms to 1.5 s forward or backward.
func (v vocabulary) move() time.Duration {
	all := []time.Duration{600 * time.Microsecond, -600 * time.Microsecond, time.Millisecond, -time.Millisecond,
		50 * time.Millisecond,
		-50 * time.Millisecond, 101 * time.Millisecond, -101 * time.Millisecond, time.Second, -time.Second,
		1501 * time.Millisecond, -1501 * time.Millisecond}
	return all[v.IntN(len(all))]
}

// families maps the name of each group of related commands to the patterns that are compared with a real Redis server.
var families = map[string][]string{
	"strings": {"SET K V", "SET K V NX|XX|GET|KEEPTTL", "SET K V EX|PX T", "SET K V NX|XX GET|KEEPTTL",
		"SET K V EX|PX 0|-1|x", "SET K V foo",
		"SET K V PX T KEEPTTL", "SET K V NX XX", "SET K V EX", "GET K", "SETNX K V", "SETEX|PSETEX K T V",
		"SETEX|PSETEX K 0|x|-5 V", "GETSET K V", "GETDEL K",
		"GETEX K", "GETEX K PERSIST", "GETEX K EX|PX T", "GETEX K EX|PX 0|x", "GETEX K NX|foo", "MGET K+",
		"MSET K V K V", "MSET K V K", "MSETNX K V K V",
		"INCR|DECR K", "INCRBY|DECRBY K V",
		"INCRBYFLOAT K 1|0.1|-2.5|1e3|x|inf|-infinity|nan|0x10|0x1.8p1|1e400|1e4000|1e5000|1e-5000|1e-400|1_0",
		"INCRBYFLOAT K V", "STRLEN K", "APPEND K V", "GETRANGE K I I", "SETRANGE K 0|1|3|-1|x V"},
	"generic": {"DEL|UNLINK K+", "EXISTS|TOUCH K+", "TYPE K", "RENAME K K", "RENAMENX K K", "COPY K K",
		"COPY K K REPLACE", "COPY K K foo",
		"DBSIZE", "KEYS *|a*|?|[ab]|x", "EXPIRE|PEXPIRE K T", "EXPIRE|PEXPIRE K T NX|XX|foo",
		"PEXPIREAT K 8888888888888|9999999999999 NX|XX|GT|LT", "EXPIREAT K 8888888888|9999999999 XX GT|LT",
		"EXPIRE K T NX GT", "EXPIRE K T GT LT",
		"EXPIRE|PEXPIRE|EXPIREAT|PEXPIREAT K 0|-1|x|1000", "EXPIREAT K 9999999999", "PEXPIREAT K 9999999999999",
		"PERSIST K", "EXPIRETIME|PEXPIRETIME K",
		"TTL|PTTL K", "ECHO V", "PING", "PING V", "FLUSHALL foo", "nosuch V",
		"nosuch V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V V",
		"GET", "SELECT 0|x|-1|99",
		"WAIT 0 0|1|x", "ROLE"},
	"hashes": {"HSET K M V", "HSET K M V M V", "HSET K M V M", "HSETNX K M V", "HMSET K M V", "HGET K M", "HMGET K M+",
		"HGETALL K", "HKEYS K", "HVALS K", "HLEN K",
		"HSTRLEN K M", "HEXISTS K M", "HDEL K M+", "HINCRBY K M 1|-3|x|9223372036854775807"},
	"lists": {"LPUSH|RPUSH K V+", "LPUSHX|RPUSHX K V+", "LPOP|RPOP K", "LPOP|RPOP K 0|1|2|-1|x", "LLEN K",
		"LRANGE K I I", "LINDEX K I", "LSET K I V", "LREM K I V",
		"LTRIM K I I", "LINSERT K BEFORE|AFTER|foo V V", "LPOS K V",
		"LPOS K V COUNT|MAXLEN|RANK 0|1|2|-1|-2|x|9223372036854775807|-9223372036854775808",
		"LPOS K V RANK 1|-1|2 COUNT 0|1|2", "LPOS K V COUNT 0|2 MAXLEN 1|2 RANK -1|1", "LPOS K V COUNT",
		"LPOS K V foo 1", "RPOPLPUSH K K", "LMOVE K K LEFT|RIGHT|x LEFT|RIGHT"},
	"sets": {"SADD K M+", "SREM K M+", "SMEMBERS K", "SISMEMBER K M", "SMISMEMBER K M+", "SCARD K", "SMOVE K K M",
		"SUNION|SINTER|SDIFF K+", "SUNIONSTORE|SINTERSTORE|SDIFFSTORE K K+"},
	"zsets": {"ZADD K S M", "ZADD K S M S M", "ZADD K NX|XX|GT|LT|CH|INCR|foo S M",
		"ZADD K NX|XX|GT|LT|CH NX|XX|GT|LT|CH|INCR S M",
		"ZADD K GT|LT|XX CH S M S M", "ZADD K INCR S M S M", "ZINCRBY K S M", "ZREM K M+", "ZSCORE K M", "ZMSCORE K M+",
		"ZCARD K", "ZCOUNT K B B",
		"ZRANK|ZREVRANK K M", "ZRANGE K I I", "ZRANGE K I I WITHSCORES|REV|foo", "ZREVRANGE K I I WITHSCORES",
		"ZRANGEBYSCORE|ZREVRANGEBYSCORE K B B",
		"ZRANGEBYSCORE K B B LIMIT 0|1 1|2|-1", "ZRANGEBYSCORE K B B LIMIT|WITHSCORES|foo 0|+1|LIMIT 1 1",
		"ZREMRANGEBYRANK K I I", "ZREMRANGEBYSCORE K B B", "ZPOPMIN|ZPOPMAX K",
		"ZPOPMIN|ZPOPMAX K 0|1|2"},
	"streams": {"XADD K * V V", "XADD K * V V V V", "XADD K G V V", "XADD K MAXLEN = 1|2|3|x|-1 * V V",
		"XADD K MAXLEN ~ 1|2|100 G V V", "XADD K MAXLEN 1|2 G V V", "XADD K NOMKSTREAM * V V", "XADD K * V",
		"XADD K NOMKSTREAM MAXLEN 2 G V V", "XADD K MAXLEN 2 MAXLEN 3 * V V", "XADD K MAXLEN * V V",
		"XADD K * V V V", "XADD K MAXLEN 2 NOMKSTREAM G", "XTRIM K MAXLEN 1|2|3|x|-1", "XTRIM K MAXLEN =|~ 1|2|3",
		"XTRIM K NOMKSTREAM", "XTRIM K foo 1", "XTRIM K MAXLEN 1 foo", "XTRIM K MAXLEN", "XTRIM K MAXLEN 1 MAXLEN 2",
		"XLEN K", "XRANGE K - +", "XRANGE K G G", "XRANGE K - + COUNT 0|1|2|-1|x", "XRANGE K G + COUNT 1 COUNT 2",
		"XRANGE K - G COUNT", "XRANGE K - + foo 1", "XRANGE K + -", "XADD K", "XLEN", "XRANGE K -",
		"COPY K K REPLACE", "RENAME K K", "EVAL return(redis.call('xadd',KEYS[1],'*','a',ARGV[1])) 1 K V",
		"EVAL return(redis.call('xrange',KEYS[1],'-','+')) 1 K", "MULTI", "EXEC", "WATCH K", "RPUSH K V",
		"APPEND K V"},
	"times": {"SET K V EX|PX P", "SET K V EXAT E", "SET K V PXAT A", "SET K V NX|XX PX P", "SET K V EX|PX P EX|PX P",
		"SET K V PXAT A KEEPTTL", "SET K V KEEPTTL",
		"SET K V EXAT|PXAT 0|-1|x|9223372036854775806", "SET K V GET PXAT A", "SETEX|PSETEX K P V", "GETEX K EX|PX P",
		"GETEX K EXAT E", "GETEX K PXAT A", "GETEX K PERSIST",
		"GETEX K PX P PX P", "EXPIRE|PEXPIRE K P", "EXPIRE|PEXPIRE K P NX|XX|GT|LT", "EXPIREAT K E", "PEXPIREAT K A",
		"PEXPIREAT K A NX|XX|GT|LT", "PERSIST K", "EXPIRETIME|PEXPIRETIME K",
		"XADD K * V V", "XRANGE K - +",
		"TTL|PTTL K", "DBSIZE", "KEYS *", "KEYS X", "SCAN 0", "SCAN 0 MATCH a|[b-d]|*|?|x", "SCAN x",
		"SCAN 0 COUNT 0|x|100", "SCAN 0 foo", "EXISTS K+", "RENAME K K", "RENAMENX K K", "COPY K K", "COPY K K REPLACE",
		"INCR K", "APPEND K V", "HSET K M V", "HINCRBY K M 1", "RPUSH K V", "LMOVE K K LEFT RIGHT",
		"LINDEX K I", "LPOS K V", "SADD K M", "SMOVE K K M", "SINTERSTORE K K K", "SUNION K K", "ZADD K S M",
		"ZADD K XX|GT|NX S M", "ZINCRBY K S M", "MGET K+", "MSET K V K V",
		"MSETNX K V K V", "GETDEL K", "GETSET K V", "STRLEN K", "SETRANGE K 1 V", "TIME", "MULTI", "EXEC", "WATCH K",
		"UNWATCH", "HGETALL K", "LPUSHX K V", "HDEL K M", "SREM K M", "ZREM K M", "SETNX K V",
		"MSET K V", "INCRBYFLOAT K 1", "INCRBYFLOAT K x", "SET K V foo", "LINSERT K BEFORE V V", "ZPOPMIN K",
		"LPOP K 1", "LPOP K x", "ZRANGE K 0 -1", "ZRANGE K 0 x"},
	"pubsub": {"SUBSCRIBE C+", "PSUBSCRIBE X+", "SSUBSCRIBE C+", "UNSUBSCRIBE C+", "PUNSUBSCRIBE X+", "SUNSUBSCRIBE C+",
		"UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE",
		"PUBLISH C V", "PUBLISH C V", "PUBLISH C V", "SPUBLISH C V", "PUBSUB CHANNELS|SHARDCHANNELS",
		"PUBSUB CHANNELS X", "PUBSUB NUMSUB|SHARDNUMSUB C+", "PUBSUB NUMPAT",
		"PUBSUB foo", "PUBSUB NUMPAT x", "PUBSUB CHANNELS x y", "PUBSUB NUMSUB", "PING", "PING V", "RESET", "MULTI",
		"EXEC", "SUBSCRIBE", "PUBLISH C", "nosuch", "GET",
		"EVAL return{redis.call('set',KEYS[1],'v'),redis.call('publish','one','m')} 1 K",
		"EVAL return{redis.call('set',KEYS[1],'v'),redis.call('subscribe','one')} 1 K"},
	"scripts": {"SCRIPT FLUSH", "SCRIPT FLUSH SYNC|ASYNC|foo", "SCRIPT FLUSH SYNC x", "SCRIPT foo", "SCRIPT EXISTS",
		"SCRIPT EXISTS 63143b6f8007b98c53ca2149822777b3566f9241 x", "SCRIPT LOAD return",
		"SCRIPT LOAD", "EVALSHA 63143b6f8007b98c53ca2149822777b3566f9241 0", "EVAL return{1,2} 0|1|x|-1",
		"EVAL return(KEYS[1]) 1 K", "EVAL return(redis.call('get',KEYS[1])) 1 K",
		"EVAL redis.call('set',KEYS[1],'v','PX',ARGV[1])return(redis.call('pttl',KEYS[1])) 1 K P",
		"EVAL return(redis.call('incr',KEYS[1])) 1 K", "MULTI", "EXEC",
		"EVAL_RO return(redis.call('get',KEYS[1])) 1 K", "EVAL_RO return(redis.call('del',KEYS[1])) 1 K",
		"EVALSHA_RO 63143b6f8007b98c53ca2149822777b3566f9241 0", "EVALSHA|EVALSHA_RO 63143b 0|1|x|-1",
		"SCRIPT LOAD return(redis.call('get',KEYS[1]))",
		"EVALSHA|EVALSHA_RO c77382aa965ed715a9230ae8a1d2409e254c2b00 1 K",
		"EVAL return(redis.call('zadd',KEYS[1],ARGV[1],'x')) 1 K S",
		"EVAL return(redis.call('zscore',KEYS[1],'x')) 1 K", "EVAL return(redis.call('publish','one',ARGV[1])) 1 K V"},
	"functions": {"FUNCTION LOAD L", "FUNCTION LOAD L", "FUNCTION LOAD REPLACE|foo L", "FUNCTION LOAD #!lua|#!x|foo",
		"FUNCTION DELETE l|m|x", "FUNCTION LIST", "FUNCTION LIST WITHCODE|LIBRARYNAME|foo",
		"FUNCTION LIST LIBRARYNAME l|L|m|*|?|x", "FUNCTION LOAD", "FUNCTION LIST WITHCODE LIBRARYNAME *",
		"FUNCTION FLUSH SYNC|ASYNC|foo", "FUNCTION FLUSH SYNC x", "FUNCTION foo", "FUNCTION LIST WITHCODE WITHCODE",
		"FUNCTION DELETE", "FUNCTION FLUSH", "FCALL|FCALL_RO F 0|1|x|-1", "FCALL|FCALL_RO F 1 K",
		"FCALL_RO f|g|h 1 K", "FCALL|FCALL_RO F 1 K V", "FCALL F 1 K v 1000", "FCALL F 2 K K V", "FCALL F 0 V V",
		"FCALL f", "EVAL return(redis.call('fcall','f',0)) 0", "EVAL return(redis.register_function) 0", "MULTI",
		"EXEC", "WATCH K", "FLUSHALL", "SCRIPT FLUSH", "SET K v"},
	"transactions": {"MULTI", "EXEC", "EXEC x", "DISCARD", "WATCH K+", "UNWATCH", "nosuch", "SET K V", "GET K", "RESET",
		"INCR K", "SET K V PX P", "FLUSHALL", "PING"},
}

// looking lists commands with replies that show the state of keys. In tests, they are mixed with each family's commands
// (see families).
var looking = []string{"GET K", "TYPE K", "EXISTS K", "DEL K", "SET K V", "PTTL K", "PEXPIRE K P", "DBSIZE"}

// TestNodeAnswersAsRedis sends random commands to the node and to a real Redis server, on two connections, while the
// wall clock is moved forward and back. All replies must be the same byte for byte, except that elements may be in a
// different order where Redis does not define one (see sameReply).
func TestNodeAnswersAsRedis(t *testing.T) {
	r := newRig(t, 2)
	for _, family := range slices.Sorted(maps.Keys(families)) {
		t.Run(family, func(t *testing.T) {
			r.t = t
			patterns := families[family]
			compareRandom(t, r, family, func(v vocabulary) []string {
				if v.IntN(4) == 0 {
					return v.spell(v.one(looking...))
				}
				return v.spell(v.one(patterns...))
			})
		})
	}
	t.Logf("%d commands compared", r.compared)
}

// compareRandom sends random commands to the node and to Redis, and compares the replies. From time to time, it moves
// the clock. It sends about a thousand commands or, in a full test run, more than a hundred times as many. Tests with
// different names make different random choices. If there are preludes, each connection begins with one of them.
func compareRandom(t *testing.T, r *rig, name string, draw func(vocabulary) []string, preludes ...string) {
	const inRow = 60
	rows := testkit.Size(5, 15, 2400)
	hash := fnv.New64a()
	hash.Write([]byte(name))
	v := vocabulary{rand.New(rand.NewPCG(1, hash.Sum64()))}
	before := r.compared
	for range rows {
		steps := make([]step, 0, inRow*5/4)
		for conn := range 2 * min(len(preludes), 1) {
			for _, line := range strings.Split(v.one(preludes...), "; ") {
				steps = append(steps, step{conn: conn, args: strings.Fields(line)})
			}
		}
		for conn := 0; len(steps) < cap(steps); {
			if v.IntN(8) == 0 {
				conn = 1 - conn
			}
			if v.IntN(5) == 0 {
				steps = append(steps, step{move: v.move()})
			} else {
				args := draw(v)
				if len(preludes) > 0 && v.IntN(40) == 0 {
					args = []string{"HELLO", "3"}
				}
				steps = append(steps, step{conn: conn, args: args})
			}
		}
		r.differ(steps)
	}
	if compared := r.compared - before; compared < rows*inRow/2 {
		t.Errorf("only %d commands were compared", compared)
	}
}

// sameStream reports whether the node and Redis have sent the same data on a connection: the same replies in the same
// order, and the same pushes before and after the first reply. The order of the pushes in each of these two groups does
// not matter. Connection numbers may also differ.
func sameStream(args []string, got, want string) bool {
	got, want = connectionID.ReplaceAllString(got, "${1}:0"), connectionID.ReplaceAllString(want, "${1}:0")
	if sameReply(args, got, want) {
		return true
	}
	a, b := inPlaces(got), inPlaces(want)
	return a[0] == b[0] && a[2] == b[2] && sameReply(args, a[1], b[1])
}

var connectionID = regexp.MustCompile(`(\$2\r\nid\r\n):\d+`)

// inPlaces splits a stream into three parts: the pushes before the first reply, the replies, and the pushes after the
// first reply. The pushes are sorted.
func inPlaces(stream string) [3]string {
	places := [3][]string{}
	for stream != "" {
		_, rest := render(stream)
		value := stream[:len(stream)-len(rest)]
		stream = rest
		switch {
		case value[0] != '>':
			places[1] = append(places[1], value)
		case places[1] == nil:
			places[0] = append(places[0], value)
		default:
			places[2] = append(places[2], value)
		}
	}
	slices.Sort(places[0])
	slices.Sort(places[2])
	return [3]string{strings.Join(places[0], ""), strings.Join(places[1], ""), strings.Join(places[2], "")}
}

func sameReply(args []string, got, want string) bool {
	if got == want {
		return true
	}
	if got == "" || want == "" {
		return false
	}
	switch strings.ToUpper(args[0]) {
	case "SMEMBERS", "SUNION", "SINTER", "SDIFF", "KEYS", "HKEYS", "HVALS":
		return sortedItems(got) == sortedItems(want)
	case "HGETALL":
		return sortedPairs(got) == sortedPairs(want)
	case "EVAL":
		return (strings.Contains(args[1], "hgetall") || strings.Contains(args[1], "smembers")) &&
			sameReply([]string{"EXEC"}, got, want)
	// The reply is an array of arrays, or a push with elements in no defined order.
	case "EXEC", "FUNCTION", "SCAN", "PUBLISH", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PUBSUB":
		a, b := strings.Split(got, "\r\n"), strings.Split(want, "\r\n")
		slices.Sort(a)
		slices.Sort(b)
		return slices.Equal(a, b)
	}
	return false
}

func items(reply string) []string {
	if strings.IndexByte("*~%", reply[0]) < 0 {
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
