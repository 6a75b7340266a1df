package redis

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// timedFields lists command patterns for hashes whose fields have deadlines.
var timedFields = []string{"HEXPIRE|HPEXPIRE K P FIELDS 1 M", "HEXPIRE|HPEXPIRE K P NX|XX|GT|LT FIELDS 1 M",
	"HPEXPIRE K P FIELDS 2 M M", "HPEXPIRE K P|0 NX|XX|GT|LT FIELDS 3 M M M", "HEXPIREAT K E FIELDS 1 M",
	"HPEXPIREAT K A FIELDS 1 M", "HPEXPIREAT K A NX|XX|GT|LT FIELDS 2 M M", "HEXPIREAT K E NX|XX|GT|LT FIELDS 1 M",
	"HEXPIRE|HPEXPIRE|HEXPIREAT|HPEXPIREAT K -1|x|0|70368744177663|70368744177664|9223372036854775807 FIELDS 1 M",
	"HEXPIRE|HPEXPIRE K P FIELDS 0|2|x|-1 M", "HEXPIRE|HPEXPIRE K P foo|NX|x 1 M", "HEXPIRE K P NX XX 1 M",
	"HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME|HPERSIST K FIELDS 1 M",
	"HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME|HPERSIST K FIELDS 2 M M",
	"HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME|HPERSIST K FIELDS 0|2|x M",
	"HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME|HPERSIST K foo 1 M", "HPERSIST K FIELDS", "HEXPIRE K P FIELDS 1",
	"HSET K M V", "HSET K M V M V", "HMSET K M V", "HSETNX K M V", "HGET K M", "HMGET K M+", "HGETALL K", "HKEYS K",
	"HVALS K", "HLEN K", "HSTRLEN K M", "HEXISTS K M", "HDEL K M", "HDEL K M+", "HINCRBY K M 1",
	"PEXPIRE K P", "PERSIST K", "RENAME K K", "COPY K K REPLACE", "COPY K K", "DEL K", "EXISTS K", "TYPE K", "KEYS *",
	"SCAN 0", "DBSIZE", "SET K V", "GET K", "LPUSH K V", "SADD K M", "ZADD K 1 M", "SINTERSTORE K K K", "MULTI", "EXEC",
	"WATCH K", "TTL K", "APPEND K V", "RPOPLPUSH K K", "SMOVE K K M",
	"EVAL return(redis.call('hpexpire',KEYS[1],ARGV[1],'FIELDS',1,'x')) 1 K P"}

// exFields lists patterns of the field commands that were added in Redis 8.0.
var exFields = []string{"HSETEX K EX|PX P FIELDS 1 M V", "HSETEX K FNX|FXX PX P FIELDS 1 M V",
	"HSETEX K PX P FNX|FXX FIELDS 2 M V M V", "HSETEX K KEEPTTL FIELDS 1 M V", "HSETEX K FIELDS 1 M V",
	"HSETEX K FNX|FXX FIELDS 2 M V M V", "HSETEX K EXAT E FIELDS 1 M V", "HSETEX K PXAT A FIELDS 2 M V M V",
	"HSETEX K EX|PX 0|-1|x FIELDS 1 M V", "HSETEX K FNX FXX FIELDS 1 M V", "HSETEX K EX P PX P FIELDS 1 M V",
	"HSETEX K foo FIELDS 1 M V", "HSETEX K FIELDS 2|0|x M V", "HSETEX K EX P FIELDS 1 M", "HSETEX K FNX FNX FNX EX",
	"HGETEX K FIELDS 1 M", "HGETEX K EX|PX P FIELDS 1 M", "HGETEX K PX P|0 FIELDS 2 M M", "HGETEX K PERSIST FIELDS 1 M",
	"HGETEX K PERSIST FIELDS 2 M M", "HGETEX K EXAT E FIELDS 1 M", "HGETEX K PXAT A FIELDS 2 M M",
	"HGETEX K EX x|-1 FIELDS 1 M", "HGETEX K FIELDS 0|2 M", "HGETEX K foo 1 M", "HGETDEL K FIELDS 1 M",
	"HGETDEL K FIELDS 2 M M", "HGETDEL K FIELDS 0|2|x M", "HGETDEL K foo 1 M"}

// laterPath returns the path of the redis-server named by FENCEPOST_REDIS8. Its version must be 7.4 or later. Tests use
// it for commands that the redis-server on PATH does not have:
//
//	FENCEPOST_FULL=1 FENCEPOST_REDIS8=/path/to/redis-server go test ./sim/redis -run 'FieldsExpire|WAITAOF'
func laterPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("FENCEPOST_REDIS8")
	if path == "" {
		t.Skip("set FENCEPOST_REDIS8 to the path of a redis-server 7.4 or later")
	}
	return path
}

// TestFieldsExpireAsInRedis checks that the node behaves like a real server. It sends both of them the same random
// commands, for hashes whose fields have deadlines. Two other connections receive notifications.
func TestFieldsExpireAsInRedis(t *testing.T) {
	server := startRealServer(t, laterPath(t))
	patterns := timedFields
	if known, _ := resp.Parse([]byte(server.dial().do("COMMAND", "INFO", "hsetex"))); len(known.List[0].List) > 0 {
		patterns = append(patterns[:len(patterns):len(patterns)], exFields...)
	}
	r := newRigWith(t, server, Redis8, 3)
	r.strict = true
	compareRandom(t, r, "fields", func(v vocabulary) []string { return v.spell(v.one(patterns...)) })
	v := vocabulary{rand.New(rand.NewPCG(33, 1))}
	for range testkit.Size(10, 40, 2000) {
		steps := []step{{conn: 2, args: []string{"CONFIG", "SET", "notify-keyspace-events", "KEA"}},
			{conn: 2, args: []string{"PSUBSCRIBE", "__key*"}}}
		for len(steps) < 50 {
			if v.IntN(5) == 0 {
				steps = append(steps, step{move: v.move()})
				continue
			}
			if args := v.spell(v.one(patterns...)); !strings.Contains("KEYS SCAN", args[0]) {
				steps = append(steps, step{conn: v.IntN(2), args: args})
			}
		}
		r.differ(steps)
	}
	t.Logf("%d commands compared", r.compared)
}
