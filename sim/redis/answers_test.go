package redis

import (
	"strings"
	"testing"
)

// answers lists commands with redis-server 7.0.15's replies. The simulated node once gave a different reply to each of
// them.
var answers = strings.Split(strings.TrimSpace(`
LPOS list w COUNT 9223372036854775807 -> []
RPUSH list w x w -> 3
LPOS list w COUNT 9223372036854775807 -> [0 2]
LPOS list w COUNT -1 -> -ERR COUNT can't be negative
LPOS list w RANK -1 -> 2
LPOS list w RANK 2 MAXLEN 2 -> null
LPOS list w RANK -9223372036854775808 -> 2
ZADD z nan m -> -ERR value is not a valid float
ZADD z 1700000000000 m 1e21 a 0.1 c 0x10 h -inf low -> 5
ZSCORE z m -> 1700000000000
ZRANGE z 0 -1 WITHSCORES -> [low -inf c 0.10000000000000001 h 16 m 1700000000000 a 1e+21]
ZINCRBY z nan m -> -ERR value is not a valid float
ZINCRBY z inf low -> -ERR resulting score is not a number (NaN)
ZADD z 3 f -> 1
ZADD z GT INCR 5 f -> 8
ZADD z GT INCR -5 f -> null
ZADD z LT INCR 5 f -> null
ZADD z LT INCR -1 f -> 7
ZADD z NX GT 1 f -> -ERR GT, LT, and/or NX options at the same time are not compatible
ZCOUNT z (-inf (inf -> 5
ZCOUNT z nan 1 -> -ERR min or max is not a float
SET k v EX 10 EX 20 -> OK
TTL k -> 20
SET k v PX 9000 PX 5000 -> OK
PTTL k -> 5000
SET k v EX 10 PX 20 -> -ERR syntax error
SET k v EX x EX 30 -> OK
GETEX k EX 10 EX 40 -> v
TTL k -> 40
SET n 3.0e3007 -> OK
INCRBYFLOAT n inf -> -ERR increment would produce NaN or Infinity
INCRBYFLOAT n -INFINITY -> -ERR increment would produce NaN or Infinity
PUBLISH nobody m -> 0
EXEC now -> -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command
PUBSUB nonsense -> -ERR unknown subcommand 'nonsense'. Try PUBSUB HELP.
`), "\n")

func TestNodeGivesTheAnswersOfRedis(t *testing.T) {
	m := newMachine(Config{})
	for _, line := range answers {
		command, reply, _ := strings.Cut(line, " -> ")
		check(t, command, m.do("client-1/1", command), reply)
	}
	check(t, "a message in a script", m.args("client-1/1", "EVAL",
		"redis.call('del', KEYS[1]) return redis.call('publish', 'free', '0')", "1", "k"), "0")
	check(t, "after it", m.do("client-1/1", "EXISTS k"), "0")
}

func TestTheAnswersAreGivenAsRedisGivesThem(t *testing.T) {
	real := startRealRedis(t).dial()
	for _, line := range answers {
		command, reply, _ := strings.Cut(line, " -> ")
		check(t, command, readable(real.do(strings.Fields(command)...)), reply)
	}
}
