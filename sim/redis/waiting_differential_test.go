package redis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/command"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// waits are the patterns of commands that wait for lists.
var waits = []string{"BLPOP|BRPOP K 0", "BLPOP|BRPOP K 0", "BLPOP|BRPOP K+ W", "BLPOP|BRPOP K+ W",
	"BLMOVE K K LEFT|RIGHT LEFT|RIGHT W", "BLMOVE K K LEFT x W", "BRPOPLPUSH K K W",
	"BLPOP K x|-1|-0.0001|1e400|1e16|inf|-inf|nan|0x1p-3|0.0001|1e-400", "BLPOP K", "BLMOVE K K LEFT RIGHT",
	"BRPOPLPUSH K K x"}

// pushes are those of commands that make what others wait for, and of what may come between.
var pushes = []string{"RPUSH|LPUSH K V", "RPUSH|LPUSH K V+", "RPUSH|LPUSH K V+", "LPOP|RPOP K", "LPOP K 2", "RPOPLPUSH K K",
	"LMOVE K K LEFT|RIGHT RIGHT", "RPUSHX K V", "LINSERT K BEFORE V V", "RENAME K K", "RENAMENX K K", "COPY K K REPLACE",
	"COPY K K", "SET K V", "HSET K M V", "DEL K+", "DEL K", "PEXPIRE K P", "PERSIST K", "LRANGE K 0 -1", "LLEN K",
	"EXISTS K+", "FLUSHALL", "MULTI", "MULTI", "EXEC", "EXEC", "DISCARD", "WATCH K+", "UNWATCH", "RESET", "PING",
	"EVAL redis.call('rpush',KEYS[1],'x')return(redis.call('llen',KEYS[1])) 1 K",
	"EVAL redis.call('rpush',KEYS[1],'x','y')redis.call('lpush',KEYS[2],'z')return(redis.call('lpop',KEYS[1])) 2 K K",
	"EVAL return(redis.call('BLPOP',KEYS[1],0)) 1 K", "EVAL return(redis.call('brpoplpush',KEYS[1],KEYS[1],1)) 1 K",
	"CLIENT UNBLOCK #1|#2|#3|#4|99", "CLIENT UNBLOCK #1|#2|#3 TIMEOUT|ERROR|error|foo", "CLIENT UNBLOCK #1 ERROR x",
	"CLIENT UNBLOCK x", "CLIENT UNBLOCK", "SUBSCRIBE one", "UNSUBSCRIBE one", "PUBLISH one V"}

// drawWaits draws steps in which three connections wait for lists and a fourth never does.
func drawWaits(v vocabulary, count int) (steps []step) {
	const connections = 4
	for len(steps) < count {
		conn := v.IntN(connections)
		switch kind := v.IntN(10); {
		case kind == 0:
			steps = append(steps, step{move: v.move()})
		case kind < 5 && conn < connections-1:
			steps = append(steps, step{conn: conn, args: v.spell(v.one(waits...))})
		default:
			steps = append(steps, step{conn: conn, args: v.spell(v.one(pushes...))})
		}
	}
	return steps
}

// TestWaitingForListsAnswersAsRedis lets connections wait for lists that others make, on the node and on a real Redis:
// who is served and with what, in transactions and scripts, after time-outs and CLIENT UNBLOCK, under watched keys, and
// with requests that come in behind.
func TestWaitingForListsAnswersAsRedis(t *testing.T) {
	r := newRig(t, 4)
	r.helper.do("CONFIG", "SET", "slowlog-log-slower-than", "-1")
	rows := 60
	if testkit.Full() {
		rows = 3000
	}
	v := vocabulary{rand.New(rand.NewPCG(20, 1))}
	for range rows {
		r.differ(drawWaits(v, 40))
	}
	t.Logf("%d commands compared", r.compared)
}

// served are single situations, a line each: who waits for what, and what the others do.
var served = map[string]string{
	"the first who waits is the first served": "1 BLPOP a 0; 2 BLPOP a 0; 3 RPUSH a x; 3 RPUSH a y",
	"one push serves several":                 "1 BRPOP a 0; 2 BLPOP a 0; 3 RPUSH a x y z; 3 LRANGE a 0 -1",
	"the first key that has an element":       "3 RPUSH b x; 3 RPUSH a y; 1 BLPOP c b a 0",
	"the key that is written first":           "1 BLPOP a b 0; 3 MULTI; 3 RPUSH b x; 3 RPUSH a y; 3 EXEC",
	"the same key twice":                      "1 BLPOP a a 0; 3 RPUSH a x; 3 RPUSH a y",
	"a transaction wakes at its end":          "1 BLPOP a 0; 3 MULTI; 3 RPUSH a x; 3 LPUSH a y; 3 LRANGE a 0 -1; 3 EXEC",
	"a list that is gone again wakes nobody":  "1 BLPOP a 0; 3 MULTI; 3 RPUSH a x; 3 DEL a; 3 EXEC; 3 RPUSH a y",
	"a list that becomes a string":            "1 BLPOP a 0; 3 MULTI; 3 RPUSH a x; 3 SET a v; 3 EXEC; 3 DEL a; 3 RPUSH a y",
	"a script wakes at its end": "1 BLPOP a 0; 3 EVAL redis.call('rpush','a','x')return(redis.call('llen','a')) 0; " +
		"3 EXISTS a",
	"no waiting in a transaction":          "1 MULTI; 1 BLPOP a 0; 1 BLMOVE a b LEFT LEFT 0; 1 BRPOPLPUSH a b 0; 1 EXEC",
	"a watched list that comes and goes":   "1 BLPOP a 0; 2 WATCH a; 2 MULTI; 2 SET b v; 3 RPUSH a x; 2 EXEC; 3 EXISTS a b",
	"who watches what it waits for":        "1 WATCH a; 1 BLPOP a 0; 3 RPUSH a x; 1 MULTI; 1 PING; 1 EXEC",
	"a chain of moves":                     "1 BLMOVE a b LEFT RIGHT 0; 2 BLPOP b 0; 3 RPUSH a x; 3 EXISTS a b",
	"a move to a key of another type":      "3 SET b v; 1 BLMOVE a b LEFT RIGHT 0; 2 BLPOP a 0; 3 RPUSH a x",
	"a move round a ring":                  "1 BRPOPLPUSH a b 0; 2 BRPOPLPUSH b a 0; 3 RPUSH a x; 3 LRANGE a 0 -1",
	"another type is refused at once":      "3 SET a v; 1 BLPOP b a 0; 1 BLMOVE a b LEFT LEFT 0; 1 BRPOPLPUSH a b 1",
	"behind a request that waits":          "1 BLPOP a 0; 1 PING x; 1 BLPOP a 0; 1 PING y; 3 RPUSH a x; 3 RPUSH a y",
	"a rename makes a list":                "1 BLPOP a 0; 3 RPUSH b x y; 3 RENAME b a; 3 LRANGE a 0 -1",
	"a copy makes a list":                  "1 BLPOP a 0; 3 RPUSH b x y; 3 COPY b a; 3 LRANGE a 0 -1; 3 LRANGE b 0 -1",
	"time runs out":                        "1 BLPOP a 0.05; 2 BLMOVE a b LEFT LEFT 0.1; @50ms; @1ms; @50ms; 3 RPUSH a x; 3 LLEN a",
	"a fraction of a millisecond is one":   "1 BLPOP a 0.0001; @1ms; @600us",
	"a clock that goes back":               "1 BLPOP a 1; @-1s; @1001ms; @1s",
	"unblocked by hand":                    "1 BLPOP a 0; 2 BLPOP a 0; 3 CLIENT UNBLOCK #1; 3 CLIENT UNBLOCK #2 ERROR; 3 RPUSH a x",
	"a list that has expired":              "3 RPUSH a x; 3 PEXPIRE a 1; @2ms; 1 BLPOP a 0; 3 EXISTS a; 3 RPUSH a y",
	"in RESP3":                             "1 HELLO 3; 1 BLPOP a 0.05; @100ms; 1 BLPOP a 0; 3 RPUSH a x; 1 BLMOVE a b LEFT LEFT 0.05; @100ms",
	"a subscriber may not wait":            "1 SUBSCRIBE one; 1 BLPOP a 0; 1 RESET; 1 BLPOP a 0; 3 RPUSH a x",
	"a reader that tracks":                 "2 HELLO 3; 2 CLIENT TRACKING ON; 2 LLEN a; 1 BLPOP a 0; 3 RPUSH a x; 2 LLEN a",
	"a waiter that tracks the list":        "1 HELLO 3; 1 CLIENT TRACKING ON; 1 LLEN a; 1 BLPOP a 0; 3 RPUSH a x; 1 PING",
	"an EXEC that waited behind a BLPOP":   "1 BLPOP a 0; 1 MULTI; 1 RPUSH b y; 1 EXEC; 2 BLPOP b 0; 3 RPUSH a x",
	"a refused script leaves no waiter":    "1 EVAL return(redis.call('blpop','a',0)) 0; 3 RPUSH a x; 3 LLEN a",
	"a waiter that is served and waits on": "1 BLPOP a 0; 1 BLPOP a 0; 2 BLPOP a 0; 3 RPUSH a x y; 3 RPUSH a z",
}

func TestWaitersAreServedAsByRedis(t *testing.T) {
	r := newRig(t, 4)
	r.strict = true
	for name, line := range served {
		t.Run(name, func(t *testing.T) {
			r.t = t
			var steps []step
			for _, text := range strings.Split(line, "; ") {
				steps = append(steps, parseStep(t, text))
			}
			r.differ(steps)
		})
	}
}

// parseStep reads a command after the number of its connection, or a move of the clock after an @.
func parseStep(t *testing.T, text string) step {
	t.Helper()
	if by, is := strings.CutPrefix(text, "@"); is {
		return step{move: mustParse(t, by)}
	}
	words := strings.Fields(text)
	return step{conn: int(words[0][0] - '1'), args: words[1:]}
}

func mustParse(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// waits8 are situations with the replies that Redis 8 gives where 7.0 has others: it executes a request that has waited
// once more, lets scripts call what waits, and refuses what is too long (blocked.c and timeout.c of 7.4, whose
// documentation of BLPOP still says what 7.0 does).
var waits8 = []struct{ steps, conn1, of7 string }{
	{"1 BLPOP a b 0; 2 MULTI; 2 RPUSH b x; 2 RPUSH a y; 2 EXEC", "[a y]", "[b x]"},
	{"1 BLPOP a b 0; 2 MULTI; 2 RPUSH b x; 2 SET a y; 2 EXEC", wrongType, "[b x]"},
	{"1 EVAL return(redis.call('blpop','a',0)) 0", "null", notFromScript("return(redis.call('blpop','a',0))")},
	{"1 EVAL return(redis.call('wait',0,0)) 0", "0", notFromScript("return(redis.call('wait',0,0))")},
	{"1 BLPOP a 1e17", "-ERR timeout is out of range", "-ERR timeout is negative"},
	{"1 BLPOP a -1e17", "-ERR timeout is negative", "-ERR timeout is negative"},
	{"1 CLIENT SETINFO LIB-NAME x", "OK", "-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP."},
	{"1 CONFIG SET notify-keyspace-events KEo", "-ERR CONFIG SET failed (possibly related to argument " +
		"'notify-keyspace-events') - fencepost: o and c are not simulated: nothing is sent about keys that are overwritten",
		"-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class " +
			"character. Use 'Ag$lshzxeKEtmdn'."},
}

const wrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value"

func notFromScript(text string) string {
	return "-ERR This Redis command is not allowed from script script: " + lua.SHA1Hex(text) + ", on @user_script:1."
}

func TestWaitingOfRedis8(t *testing.T) {
	for _, c := range waits8 {
		for version, want := range map[command.Version]string{command.Redis8: c.conn1, command.Redis7: c.of7} {
			m := newMachine(Config{Version: version})
			var replies [2]string
			for _, text := range strings.Split(c.steps, "; ") {
				s := parseStep(t, text)
				m.node.Serve(sim.NewIncoming("client-1", uint64(s.conn+1), "client-1/1", s.args,
					func(b []byte) { replies[s.conn] += string(b) }))
			}
			check(t, version.String()+": "+c.steps, readable(replies[0]), want)
		}
	}
}
