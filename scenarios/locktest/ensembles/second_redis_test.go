//go:build linux

package ensembles

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	redisfront "github.com/fencepost-sim/fencepost/sim/redis/front"
)

// redisSide contains one round's connections to the real or the simulated Redis server: three that send commands, one
// that receives messages, and one for preparation and cleanup.
type redisSide struct {
	clients          [3]*respConn
	listener, helper *respConn
}

func newRedisSide(t *testing.T, address string) redisSide {
	s := redisSide{listener: dialRedis(t, address), helper: dialRedis(t, address)}
	for i := range s.clients {
		s.clients[i] = dialRedis(t, address)
	}
	s.helper.ask("FLUSHALL")
	s.helper.ask("CONFIG", "SET", "notify-keyspace-events", "KEg$lshztn")
	return s
}

// respConn is a RESP connection.
type respConn struct {
	net.Conn
	in *bufio.Reader
}

func dialRedis(t *testing.T, address string) *respConn {
	t.Helper()
	var err error
	for range 250 { // try until the server listens
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			t.Cleanup(func() { c.Close() })
			return &respConn{c, bufio.NewReader(c)}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(err)
	return nil
}

func wire(words []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// send sends bytes. If that fails, reading the reply fails as well.
func (c *respConn) send(b string) {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, b)
}

// ask sends a command and returns its reply unchanged.
func (c *respConn) ask(words ...string) string {
	c.send(wire(words))
	return c.value()
}

// value reads one RESP2 or RESP3 value.
func (c *respConn) value() string {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "ended"
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			body := make([]byte, n+2)
			io.ReadFull(c.in, body)
			line += string(body)
		}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			line += c.value()
		}
	}
	return line
}

// untilMarked sends a PING on a connection and reads everything that arrives before the reply. It sorts the values: if
// a message matches several patterns, a server sends it once for each of them, in hash table order.
func (c *respConn) untilMarked() string {
	var all []string
	const mark = "all of it"
	for c.send(wire([]string{"PING", mark})); ; {
		v := c.value()
		if strings.Contains(v, mark) || v == "ended" {
			slices.Sort(all)
			return strings.Join(append(all, v), "")
		}
		all = append(all, v)
	}
}

// syntax lists commands that lock users need, in the notation of Redis's documentation. Words in braces are
// alternatives, and % stands for a space within an argument. The comment on fillings explains the other placeholders.
// The list omits commands whose replies depend on the time, on hash table order, or on when Redis looks for expired
// keys.
var syntax = []string{
	"SET <k> <v>", "set <k> <v> nx px <t>", "SET <k> <v> PX <t> NX", "Set <k> <v> {EX|PX|ex} <t> {XX|GET|xx|nX}",
	"SET <k> <v> XX GET", "SET <k> <v> NX GET PX <t>", "SET <k> <v> KEEPTTL {NX|XX|GET}", "SET <k> <v> PX {0|-1|1.5|}",
	"SET <k>", "SET <k> <v> NX XX", "SET <k> <v> EX <t> PX <t>", "SETNX <k> <v>", "SETEX <k> <t> <v>", "GET <k>",
	"GETDEL <k>", "GETSET <k> <v>", "GETEX <k> {PERSIST|PX|EX}", "GETEX <k> PX <t>", "DEL <k> <k>", "UNLINK <k>",
	"EXISTS <k> <k> <k>", "TYPE <k>", "PERSIST <k>", "PEXPIRE <k> <t> {NX|XX|ZZ}",
	"PEXPIREAT <k> {8888888888888|9999999999999} {GT|LT|XX}", "EXPIRE <k> <n>0000",
	"EXPIRE <k> -<n>", "INCR <k>", "DECR <k>", "INCRBY <k> <n>", "DECRBY <k> {9223372036854775807|-1|x|}", "STRLEN <k>",
	"INCRBYFLOAT <k> {0.5|-1e2|x|3}", "APPEND <k> <v>", "GETRANGE <k> <n> -<n>", "SETRANGE <k> <n> <v>",
	"HSET <k> <v> <v>", "HSET <k> f <v> g <v>", "HSETNX <k> f <v>", "HGET <k> {f|g|h}", "HDEL <k> f {g|h}",
	"HINCRBY <k> f {1|-1|x}", "HEXISTS <k> f", "HLEN <k>", "HMGET <k> f g h", "HSET <k> f", "HSTRLEN <k> f",
	"LPUSH <k> <v> <v>", "RPUSH <k> <v>", "LPOP <k>", "RPOP <k> <n>", "LLEN <k>", "LRANGE <k> <n> -<n>",
	"LREM <k> <n> <v>",
	"LINDEX <k> -<n>", "LSET <k> <n> <v>", "LMOVE <k> <k> {LEFT|right} {RIGHT|left|up}", "RPOPLPUSH <k> <k>",
	"LTRIM <k> <n> -<n>", "LPOS <k> <v>", "LINSERT <k> {BEFORE|AFTER} <v> <v>",
	"SADD <k> <v> <v>", "SREM <k> <v>", "SISMEMBER <k> <v>", "SCARD <k>", "SMISMEMBER <k> <v> <v>",
	"ZADD <k> <s> <v>", "ZADD <k> {NX|XX|GT|LT|CH|ZZ} <s> <v> <s> <v>", "ZADD <k> INCR <s> <v>", "ZREM <k> <v>",
	"ZSCORE <k> <v>", "ZRANK <k> <v>", "ZCARD <k>", "ZRANGE <k> 0 -1 {WITHSCORES|REV}",
	"ZRANGEBYSCORE <k> {-inf|(1|0} <s>",
	"ZREMRANGEBYSCORE <k> -inf <s>", "ZPOPMIN <k>", "ZCOUNT <k> -inf +inf", "ZINCRBY <k> <s> <v>",
	"ZREMRANGEBYRANK <k> 0 0",
	"MULTI", "EXEC", "DISCARD", "WATCH <k>", "UNWATCH", "MULTI", "EXEC", "PING", "PING <v>", "ECHO <v>",
	"HELLO {2|3|4|x}",
	"CLIENT {GETNAME|SETNAME}", "CLIENT SETNAME {me|a%b}", "RESET", "PUBLISH <k> <v>",
	"MGET <k> <k>", "MSET <k> <v> <k> <v>", "MSETNX <k> <v> <k> <v>", "RENAME <k> <k>", "RENAMENX <k> <k>",
	"COPY <k> <k>",
	"nosuch <v>", "GET", "GET <k> <k>", "EXPIRE <k>", "WAIT 0 10",
	"EVAL return%redis.call('get',KEYS[1]) 1 <k>", "EVAL return%redis.pcall('incr',KEYS[1]) 1 <k>",
	"EVAL return%{1,'two',false,{3}} 0", "EVAL return%redis.error_reply('MY%ERR') 0",
	"EVAL return%tonumber(ARGV[1])%or%0 0 <n>",
	"EVAL if%redis.call('get',KEYS[1])==ARGV[1]%then%return%redis.call('del',KEYS[1])%else%return%0%end 1 <k> <v>",
	"EVAL if%redis.call('exists',KEYS[1])==0%then%redis.call('hset',KEYS[1],ARGV[2],1)%redis.call('pexpire',KEYS[1]," +
		"ARGV[1])%return%nil%end%return%1 1 <k> <t> me", "EVAL return%#ARGV 0 a b", "EVAL return 1", "EVALSHA abc 0",
	"EXPIREAT <k> {1|9999999999}", "PEXPIREAT <k> {1|9999999999999}", "{EXPIRETIME|PEXPIRETIME} <k>",
	"SET <k> <v> {EXAT|PXAT} {1|9999999999|99999999999999}", "ZMSCORE <k> <v> <v>",
	"EVAL local%t=redis.call('pttl',KEYS[1])%return%t>0%and%'some'%or%t 1 <k>", "ZPOPMAX <k> <n>", "RPUSHX <k> <v>",
	"EVAL return%redis.call(unpack(ARGV)) 1 <k> SET <k> <v> NX PX <t>", "EVAL return%redis.sha1hex(ARGV[1]) 0 <v>",
	"EVAL redis.call('set',KEYS[1],ARGV[1]);return%redis.call('nosuch') 1 <k> <v>", "ZREVRANGE <k> 0 <n>",
	"EVAL return%cjson.encode({ARGV[1],tonumber(ARGV[2])}) 0 <v> <n>", "COPY <k> <k> REPLACE", "TOUCH <k> <k>",
	"EVAL return%cjson.decode(ARGV[1]) 0 {[1,2]|{\"a\":1}|[|null}",
	"EVAL local%n=tonumber(redis.call('get',KEYS[1])or'0');redis.call('set',KEYS[1],n+1);return%tostring(n+1) 1 <k>",
	"EVAL return%{redis.call('hmget',KEYS[1],'f','g'),redis.call('type',KEYS[1])} 1 <k>",
	"EVAL return%string.format('%%d:%%s',ARGV[1],ARGV[2]) 0 <n> <v>", "SCRIPT EXISTS x", "SCRIPT LOAD return%1",
	"EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", "EVAL_RO return%redis.call('set',KEYS[1],'x') 1 <k>",
	"SMOVE <k> <k> <v>", "PUBSUB NUMSUB <k> <v>", "QUIT now",
}

// listening lists the commands for a connection with subscriptions.
var listening = []string{"SUBSCRIBE <k>", "SUBSCRIBE <k> <k>", "UNSUBSCRIBE <k>", "PSUBSCRIBE {*|a*|[ab]}",
	"PSUBSCRIBE __key*__:*", "PUNSUBSCRIBE {*|a*}", "HELLO {2|3}", "GET <k>", "PING", "RESET", "PING <v>",
	"CLIENT TRACKING ON", "CLIENT TRACKING OFF",
	"CLIENT TRACKING ON NOLOOP", "MGET <k> <k>", "CLIENT GETREDIR", "SSUBSCRIBE <k>", "SUNSUBSCRIBE <k>",
	"SPUBLISH <k> <v>"}

// fillings maps the placeholders in a command to the words that may replace them: <k> is a key, <v> a value, <n> a
// number, <s> a score, and <t> a TTL that is longer than the test.
var fillings = map[string][]string{
	"<k>": {"a", "b", "c"},
	"<n>": {"0", "1", "2", "5"},
	"<v>": {"x", "y", "", "7", "-3", "a%b", "0.5", "x\r\n"},
	"<s>": {"1", "2.5", "-inf", "0", "x", "1e3"},
	"<t>": {"1000000", "70000000"},
}

// strange lists arguments that almost no command accepts.
var strange = []string{"", "-1", "0", "9223372036854775806", "9223372036854775808", "-9223372036854775808", "nan",
	"1e400", "+1", "%1", "01", "\xff", "nx", "a", "0x10", "1.0", "*", "4294967296"}

// command returns a random command. Some commands have one argument too few or too many, or an unusual argument.
func command(r *rand.Rand, syntax []string) []string {
	words := wellFormed(r, syntax)
	if r.IntN(12) == 0 {
		switch at := 1 + r.IntN(len(words)); {
		case at == len(words):
			words = append(words, oneOf(r, strange...))
		case r.IntN(3) == 0:
			words = append(words[:at], words[at+1:]...)
		default:
			words[at] = oneOf(r, strange...)
		}
	}
	return words
}

// wellFormed returns a random command that follows the documentation.
func wellFormed(r *rand.Rand, syntax []string) (words []string) {
	for _, w := range strings.Fields(oneOf(r, syntax...)) {
		if w[0] == '{' {
			w = oneOf(r, strings.Split(strings.Trim(w, "{}"), "|")...)
		}
		for mark, list := range fillings {
			if strings.Contains(w, mark) {
				w = strings.Replace(w, mark, oneOf(r, list...), 1)
			}
		}
		words = append(words, strings.Fields(strings.ReplaceAll(w, "%", "\x00"))...)
	}
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "\x00", " ")
	}
	return words
}

// redisStep returns a random step.
func redisStep(r *rand.Rand) step[redisSide] {
	conn := r.IntN(3)
	switch n := r.IntN(20); {
	case n == 0:
		return expiry(r)
	case n == 1:
		// Only well-formed commands are used here: UNSUBSCRIBE without a name would end all subscriptions, in hash
		// table order.
		words := wellFormed(r, listening)
		return step[redisSide]{"listening", fmt.Sprintf("listener: %q", words), func(s redisSide) string {
			s.listener.send(wire(words))
			return "" // the reply is read with the messages
		}}
	case n == 2:
		return blocking(r, conn)
	case n < 7:
		return pipeline(r, conn)
	}
	words := command(r, syntax)
	return step[redisSide]{"single commands", fmt.Sprintf("connection %d: %q", conn, words),
		func(s redisSide) string { return s.clients[conn].ask(words...) }}
}

// pipeline returns a step that sends several random commands at once, in one piece or in two.
func pipeline(r *rand.Rand, conn int) step[redisSide] {
	var all [][]string
	var b string
	for range 2 + r.IntN(6) {
		words := command(r, syntax)
		all = append(all, words)
		b += wire(words)
	}
	cut := r.IntN(len(b))
	if r.IntN(2) == 0 {
		cut = len(b)
	}
	return step[redisSide]{"pipelines", fmt.Sprintf("connection %d: %q cut after %d bytes", conn, all, cut),
		func(s redisSide) (replies string) {
			s.clients[conn].send(b[:cut])
			if cut < len(b) {
				s.helper.ask("PING") // when this is answered, the server has read the first piece
				s.clients[conn].send(b[cut:])
			}
			for range all {
				replies += s.clients[conn].value()
			}
			return replies
		}}
}

// expiry returns a step with random commands that make keys expire. No command reads the keys until all of them have
// expired.
func expiry(r *rand.Rand) step[redisSide] {
	var all [][]string
	for range 1 + r.IntN(3) {
		all = append(all, command(r, []string{"SET <k> <v> PX 1", "PEXPIRE <k> 1", "PEXPIRE <k> 1 {NX|XX|GT|LT}",
			"SET <k> <v> {XX|NX} PX 1", "GETEX <k> PX 1", "PSETEX <k> 1 <v>",
			"EVAL redis.call('rpush',KEYS[1],'x')%return%redis.call('pexpire',KEYS[1],1) 1 <k>"}))
	}
	name := fmt.Sprintf("helper: %q, until it is over", all)
	return step[redisSide]{"expiry", name, func(s redisSide) (replies string) {
		s.helper.ask("MULTI") // a transaction, so that all commands are executed at the same time
		for _, words := range all {
			replies += s.helper.ask(words...)
		}
		replies += s.helper.ask("EXEC")
		for s.helper.ask("SET", "last", "x", "PX", "1"); s.helper.ask("EXISTS", "last") != ":0\r\n"; {
		}
		return replies
	}}
}

// blocking returns a step with three parts: a random command that may block, commands that another connection sends in
// the meantime, and commands that are sure to end the wait.
func blocking(r *rand.Rand, conn int) step[redisSide] {
	wait := command(r, []string{"{BLPOP|BRPOP} <k> 0", "{BLPOP|BRPOP} <k> <k> <k> 0", "BRPOPLPUSH <k> <k> 0",
		"BLMOVE <k> <k> {LEFT|RIGHT} {LEFT|RIGHT} 0"})
	var all [][]string
	for range r.IntN(4) {
		all = append(all, command(r, []string{"RPUSH <k> <v> <v>", "LPUSH <k> <v>", "DEL <k>", "SET <k> <v>",
			"RENAME <k> <k>", "MULTI", "EXEC", "LPOP <k>", "LMOVE <k> <k> LEFT RIGHT",
			"EVAL return%redis.call('rpush',KEYS[1],'s',ARGV[1]) 1 <k> <v>"}))
	}
	other := (conn + 1 + r.IntN(2)) % 3
	name := fmt.Sprintf("connection %d: %q; meanwhile connection %d: %q", conn, wait, other, all)
	return step[redisSide]{"blocking", name,
		func(s redisSide) (replies string) {
			s.clients[conn].send(wire([]string{"PING"}) + wire(wait))
			replies = s.clients[conn].value() // by then the server has read both commands
			s.helper.ask("PING")
			for _, words := range all {
				replies += s.clients[other].ask(words...)
			}
			for _, k := range wait[1:] {
				s.helper.ask("DEL", k)
				s.helper.ask("RPUSH", k, "1", "2")
			}
			return replies + s.clients[conn].value()
		}}
}

// own matches the parts of replies that may differ between the servers: the connection ID in the HELLO reply, Lua's own
// error messages, and deadlines that depend on the time of the request.
var own = regexp.MustCompile(`id\r\n:\d+|:1[78]\d{8}(\d{3})?\r|(Error compiling script|user_script:\d+:)[^\r]*`)

// TestSecondRedis compares the simulated node with redis-server 7.0, byte for byte.
func TestSecondRedis(t *testing.T) {
	testkit.Needs(t, "redis-server")
	host, port := testkit.FreeAddress(t)
	real := net.JoinHostPort(host, port)
	cmd := exec.Command("redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir",
		t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	simulated := served(t, []sim.ProcessID{"redis-1"}, func(w *sim.World) {
		w.AddServer("redis-1", redis.New(redis.Config{}))
	}, redisfront.Redis{})[0]
	begin := func(t *testing.T) (a, b redisSide) { return newRedisSide(t, real), newRedisSide(t, simulated) }
	compare(t, testkit.Size(30, 30, 2000), 60, begin, func(r *rand.Rand) step[redisSide] {
		s := redisStep(r)
		act := s.do
		s.do = func(side redisSide) string {
			replies := act(side)
			return own.ReplaceAllString(replies+" heard "+side.listener.untilMarked(), "own")
		}
		return s
	}, nil)
}
