package redis

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// waits contains patterns of commands that block on lists.
var waits = []string{"BLPOP|BRPOP K 0", "BLPOP|BRPOP K 0", "BLPOP|BRPOP K+ W", "BLPOP|BRPOP K+ W",
	"BLMOVE K K LEFT|RIGHT LEFT|RIGHT W", "BLMOVE K K LEFT x W", "BRPOPLPUSH K K W",
	"BLPOP K x|-1|-0.0001|1e400|1e16|inf|-inf|nan|0x1p-3|0.0001|1e-400", "BLPOP K", "BLMOVE K K LEFT RIGHT",
	"BRPOPLPUSH K K x"}

// pushes contains patterns of commands that create lists, and of other commands that the test sends in between.
var pushes = []string{"RPUSH|LPUSH K V", "RPUSH|LPUSH K V+", "RPUSH|LPUSH K V+", "LPOP|RPOP K", "LPOP K 2",
	"RPOPLPUSH K K", "LMOVE K K LEFT|RIGHT RIGHT", "RPUSHX K V", "LINSERT K BEFORE V V", "RENAME K K", "RENAMENX K K",
	"COPY K K REPLACE",
	"COPY K K", "SET K V", "HSET K M V", "DEL K+", "DEL K", "PEXPIRE K P", "PERSIST K", "LRANGE K 0 -1", "LLEN K",
	"EXISTS K+", "FLUSHALL", "MULTI", "MULTI", "EXEC", "EXEC", "DISCARD", "WATCH K+", "UNWATCH", "RESET", "PING",
	"EVAL redis.call('rpush',KEYS[1],'x')return(redis.call('llen',KEYS[1])) 1 K",
	"EVAL redis.call('rpush',KEYS[1],'x','y')redis.call('lpush',KEYS[2],'z')return(redis.call('lpop',KEYS[1])) 2 K K",
	"EVAL return(redis.call('BLPOP',KEYS[1],0)) 1 K", "EVAL return(redis.call('brpoplpush',KEYS[1],KEYS[1],1)) 1 K",
	"CLIENT UNBLOCK #1|#2|#3|#4|999999999", "CLIENT UNBLOCK #1|#2|#3 TIMEOUT|ERROR|error|foo",
	"CLIENT UNBLOCK #1 ERROR x",
	"CLIENT UNBLOCK x", "CLIENT UNBLOCK", "SUBSCRIBE one", "UNSUBSCRIBE one", "PUBLISH one V"}

// drawWaits returns random steps on four connections. Three of them may block on lists, and the fourth never does.
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

// TestWaitingForListsAnswersAsRedis makes connections wait for lists that other connections create, on the node and on
// a real Redis server. It compares which connections are served, and with which elements. The commands include
// transactions, scripts, timeouts, CLIENT UNBLOCK, watched keys, and requests queued behind a waiting request.
func TestWaitingForListsAnswersAsRedis(t *testing.T) {
	r := newRig(t, 4)
	r.helper.do("CONFIG", "SET", "slowlog-log-slower-than", "-1")
	v := vocabulary{rand.New(rand.NewPCG(20, 1))}
	for range testkit.Size(6, 25, 1500) {
		r.differ(drawWaits(v, 40))
	}
	t.Logf("%d commands compared", r.compared)
}

// TestWaitersAreServedAsByRedis runs the situations in testdata/waits.txt, one per line, on the node and on a real
// Redis server. Each line specifies which clients wait for which lists, and what the other clients do.
func TestWaitersAreServedAsByRedis(t *testing.T) {
	r := newRig(t, 4)
	r.strict = true
	text, err := os.ReadFile("testdata/waits.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, all, _ := strings.Cut(strings.TrimSpace(line), ": ")
		t.Run(name, func(t *testing.T) {
			r.t = t
			var steps []step
			for _, text := range strings.Split(all, "; ") {
				steps = append(steps, parseStep(t, text))
			}
			r.differ(steps)
		})
	}
}

// parseStep parses a step: a connection number followed by a command, or @ followed by a clock change.
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

// waits8 lists situations in which Redis 8 replies differently from 7.0. Redis 8 executes a request again after it has
// waited, lets scripts call commands that wait, and refuses timeouts that are too long. The sources are blocked.c and
// timeout.c from 7.4; the documentation of BLPOP still describes 7.0.
var waits8 = []struct{ steps, conn1, of7 string }{
	{"1 BLPOP a b 0; 2 MULTI; 2 RPUSH b x; 2 RPUSH a y; 2 EXEC", "[a y]", "[b x]"},
	{"1 BLPOP a b 0; 2 MULTI; 2 RPUSH b x; 2 SET a y; 2 EXEC", wrongType, "[b x]"},
	{"1 EVAL return(redis.call('blpop','a',0)) 0", "null", notFromScript("return(redis.call('blpop','a',0))")},
	{"1 EVAL return(redis.call('wait',0,0)) 0", "0", notFromScript("return(redis.call('wait',0,0))")},
	{"1 BLPOP a 1e17", "-ERR timeout is out of range", "-ERR timeout is negative"},
	{"1 BLPOP a -1e17", "-ERR timeout is negative", "-ERR timeout is negative"},
	{"1 CLIENT SETINFO LIB-NAME x", "OK", "-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP."},
	{"1 CONFIG SET notify-keyspace-events KEo", "-ERR CONFIG SET failed (possibly related to argument " +
		"'notify-keyspace-events') - fencepost: the flags o and c are not simulated, so overwritten keys cause no " +
		"notifications",
		"-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class " +
			"character. Use 'Ag$lshzxeKEtmdn'."},
}

const wrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value"

func notFromScript(text string) string {
	return "-ERR This Redis command is not allowed from script script: " + lua.SHA1Hex(text) + ", on @user_script:1."
}

func TestWaitingOfRedis8(t *testing.T) {
	for _, c := range waits8 {
		for version, want := range map[Version]string{Redis8: c.conn1, Redis7: c.of7} {
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
