//go:build linux

package redisserver

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// users starts a server as a user might run it, and returns its address and a connection to it.
func users(t *testing.T, config ...string) (here string, w *wire) {
	t.Helper()
	testkit.Needs(t, "redis-server")
	k := fleettest.Keeper(t)
	f := &servers{all: map[sim.ProcessID]*Server{}}
	var err error
	if f.Fleet, err = fleet.New(k, false, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.End)
	s, err := f.server("users", true)
	if err == nil {
		err = s.launch(append([]string{`save ""`, "appendonly no"}, config...))
	}
	if err != nil {
		t.Fatal(err)
	}
	e := s.at
	for _, line := range config {
		if _, password, is := strings.Cut(line, "requirepass "); is {
			e.password = password
		}
	}
	w, err = e.dial()
	if err != nil {
		t.Fatal(err)
	}
	return s.at.address, w
}

// onUsers runs a client on the user's server at the given address, and returns what was recorded.
func onUsers(t *testing.T, address string, work func(c *client)) (f Foreign, got []history.Event) {
	t.Helper()
	r := &rig{t: t, l: newLoop(t)}
	f = Foreign{Failed: r.fail, Servers: []sim.ProcessID{"redis-1"}, Prefix: "fencepost:7:", Lasts: time.Hour,
		Addresses: []string{address}}
	users, err := f.Attach()
	if err != nil {
		t.Fatal(err)
	}
	r.l.w.AddServer("redis-1", users.Server("redis-1"))
	users.Begin(r.l)
	return f, r.play(work)
}

// trespassers lists commands that would change or show data that is not part of the run. fencepost:7:lock is one of the
// run's existing keys.
var trespassers = []string{
	"SET", "SET mine 2", "DEL mine", "UNLINK fencepost:7:lock mine", "RENAME fencepost:7:lock mine",
	"RENAME mine fencepost:7:lock", "COPY fencepost:7:lock mine REPLACE", "COPY mine fencepost:7:lock", "GET mine",
	"MSET fencepost:7:a 1 mine 2", "GETDEL mine", "EXPIRE mine 1", "PERSIST mine", "INCR mine", "APPEND mine x",
	"SORT fencepost:7:lock STORE mine", "SORT mine", "ZUNIONSTORE mine 1 fencepost:7:lock", "SETRANGE mine 0 x",
	"BITOP NOT mine fencepost:7:lock", "RPOPLPUSH fencepost:7:lock mine", "BLPOP mine 1", "BLMPOP 1 1 mine LEFT",
	"RESTORE mine 0 x", "MIGRATE h 1 mine 0 1", "GEORADIUS mine 0 0 1 m STORE mine", "XADD mine * a b", "PFADD mine x",
	"EVAL return(redis.call('del',KEYS[1])) 1 mine", "EVAL return(1) x", "EVAL return(1) 9 fencepost:7:lock",
	"EVAL return(redis.call('set','mine','2')) 0", "EVAL return(redis.pcall('del','mine')) 0",
	"EVAL return(redis.call('DEL','fencepost:7:lock','mine')) 1 fencepost:7:lock",
	"EVAL return(redis.call('mset','fencepost:7:a','1','mine','2')) 0", "EVAL return(redis.call('flushall')) 0",
	"EVAL return(redis.call('rename','fencepost:7:lock','mine')) 0", "EVAL return(redis.call('select','1')) 0",
	"EVAL return(_G.redis.call('del','mine')) 0", "EVAL return(getfenv().redis.call('del','mine')) 0",
	"EVAL return(loadstring('return(redis.call(\"del\",\"mine\"))')()) 0",
	"EVAL return(getmetatable(redis).__index.call('del','mine')) 0", "EVAL return(server.call('del','mine')) 0",
	"EVAL redis.call('publish','news','x') 0", "EVAL return(redis.call('script','flush')) 0",
	"EVAL return(redis.call('config','set','maxmemory','1')) 0", "EVAL return(redis.call('keys','*')) 0",
	"EVAL #!lua\nreturn(redis.call('del','mine')) 0", "EVALSHA " + strings.Repeat("0", 40) + " 1 fencepost:7:lock",
	"EVAL_RO return(redis.call('get','mine')) 0", "FCALL f 0", "FUNCTION FLUSH", "SCRIPT FLUSH", "SCRIPT KILL",
	"FLUSHALL", "FLUSHDB ASYNC", "SELECT 0", "SWAPDB 0 1", "MOVE fencepost:7:lock 1", "RESET", "KEYS *", "SCAN 0",
	"RANDOMKEY", "DBSIZE", "PUBLISH news x", "SPUBLISH news x", "CLIENT KILL TYPE normal", "CLIENT PAUSE 1",
	"CLIENT NO-SUCH", "CONFIG SET notify-keyspace-events KEA", "CONFIG GET requirepass", "ACL DELUSER x", "ACL LIST",
	"SHUTDOWN NOSAVE", "SAVE", "REPLICAOF NO ONE", "FAILOVER", "DEBUG RELOAD", "MODULE LIST", "MONITOR", "SYNC",
	"LATENCY RESET", "SLOWLOG RESET", "MEMORY PURGE", "NOSUCHCOMMAND mine", "sEt mine 2",
}

func TestServersOfTheUsersKeepWhatTheyHave(t *testing.T) {
	for name, config := range map[string][]string{
		"as it is":         nil,
		"renamed commands": {`rename-command COMMAND ""`, `rename-command INFO ""`},
		"few rights": {"user limited on >secret ~fencepost:7:* &* +@all -command -info -config -keys " +
			"-flushall -client"},
	} {
		t.Run(name, func(t *testing.T) {
			here, w := users(t, append([]string{`notify-keyspace-events "Kx"`, "requirepass secret"}, config...)...)
			ask := func(args ...string) string {
				v, err := w.ask(args...)
				if err != nil {
					t.Fatal(err)
				}
				return v.Text + strings.Join(v.Texts(), " ")
			}
			ask("SET", "mine", "1")
			ask("SET", "fencepost:begin", "1")
			address := "redis://:secret@" + here
			if name == "few rights" {
				address = "redis://limited:secret@" + here
			}
			let := 0
			f, got := onUsers(t, address, func(c *client) {
				for args, want := range map[string]string{
					"SET fencepost:7:lock 1 NX":                               "+OK\r\n",
					"EVAL return{KEYS[1]} 1 fencepost:7:lock":                 "*1\r\n$16\r\nfencepost:7:lock\r\n",
					"EVAL return(redis.call('incr',KEYS[1])) 1 fencepost:7:n": ":1\r\n",
					"PUBLISH channel:fencepost:7:lock something":              ":0\r\n",
				} {
					if got := string(c.sendAs("client-1/1", words(args)...).Raw()); got != want {
						t.Errorf("%s:\n got %q\nwant %q", args, got, want)
					}
				}
				for _, args := range trespassers {
					if got := c.sendAs("client-1/1", words(args)...).Raw(); len(got) == 0 || got[0] != '-' {
						let++
						t.Errorf("%s is answered %q", args, got)
					}
				}
				c.sendAs("client-1/1", "MULTI")
				c.sendAs("client-1/1", "SET", "fencepost:7:later", "1")
				if got := c.sendAs("client-1/1", "DEL", "mine").Raw(); got[0] != '-' {
					let++
					t.Errorf("in a transaction: %q", got)
				}
				if got := string(c.sendAs("client-1/1", "EXEC").Raw()); !strings.HasPrefix(got, "-EXECABORT") {
					t.Errorf("such a transaction is answered %q", got)
				}
				for _, args := range []string{"MULTI", "SET fencepost:7:later 1", "EXEC"} {
					c.sendAs("client-1/1", words(args)...)
				}
			})
			t.Logf("%d trespassers, of which %d were let in", len(trespassers)+1, let)
			if len(got) != 0 {
				t.Errorf("of a server of the user's something was recorded: %v", got)
			}
			names := []string{"fencepost:7:lock", "fencepost:7:n", "fencepost:7:later"}
			for _, key := range names {
				if left := ask("PTTL", key); len(left) != len("3600000") {
					t.Errorf("%s has %s ms left", key, left)
				}
			}
			if err := f.Sweep(); err != nil {
				t.Error(err)
			}
			for _, key := range names {
				if ask("EXISTS", key) != "0" {
					t.Errorf("%s is left", key)
				}
			}
			standing := ask("DBSIZE") + ask("GET", "mine") + ask("PTTL", "mine") + ask("GET", "fencepost:begin")
			if standing != "21-11" {
				t.Errorf("the user's keys are %s", standing)
			}
			if got := ask("CONFIG", "GET", "notify-keyspace-events"); got != "notify-keyspace-events xK" {
				t.Errorf("the configuration says %q", got)
			}
		})
	}
}

// words splits a command at spaces. It does not support quotes.
func words(command string) []string {
	return strings.FieldsFunc(command, func(c rune) bool { return c == ' ' })
}

// TestScriptsOnServersOfTheUsers checks that lock libraries' scripts work on a user's server, even if clients call them
// by their SHA-1 hash. The keys that these scripts write must be given a time to live immediately.
func TestScriptsOnServersOfTheUsers(t *testing.T) {
	here, w := users(t)
	const take = `local n = 0
for i, key in ipairs(KEYS) do
  if redis.call('set', key, ARGV[1], 'nx', 'px', ARGV[2]) then n = n + 1 end
end
redis.call('incr', KEYS[1] .. ':fence')
if redis.pcall('hget', KEYS[1], 'x').err then return n end`
	digest := sum(take)
	_, _ = onUsers(t, here, func(c *client) {
		ask := func(want string, args ...string) {
			t.Helper()
			if got := string(c.sendAs("client-1/1", args...).Raw()); got != want {
				t.Errorf("%s: got %q, want %q", args[0], got, want)
			}
		}
		ask("-NOSCRIPT No matching script. Please use EVAL.\r\n", "EVALSHA", digest, "1", "fencepost:7:a", "v", "5000")
		ask("*1\r\n:0\r\n", "SCRIPT", "EXISTS", digest)
		ask("$40\r\n"+digest+"\r\n", "SCRIPT", "LOAD", take)
		ask("*2\r\n:1\r\n:0\r\n", "SCRIPT", "EXISTS", strings.ToUpper(digest), "x")
		ask(":2\r\n", "EVALSHA", digest, "2", "fencepost:7:a", "fencepost:7:b", "v", "5000")
		ask(":0\r\n", "EVAL", take, "1", "fencepost:7:a", "v", "5000")
		ask("+OK\r\n", "MULTI")
		ask("+QUEUED\r\n", "EVALSHA", digest, "1", "fencepost:7:c", "v", "5000")
		ask("*1\r\n:1\r\n", "EXEC")
		ask(":1\r\n", "RPUSH", "fencepost:7:list", "x")
		ask("*2\r\n$16\r\nfencepost:7:list\r\n$1\r\nx\r\n", "BLPOP", "fencepost:7:list", "1")
	})
	for key, most := range map[string]int64{"a": 5000, "b": 5000, "c": 5000, "a:fence": 3600_000} {
		v, err := w.ask("PTTL", "fencepost:7:"+key)
		if left := v.Number(); err != nil || left < most/2 || left > most {
			t.Errorf("%s has %d ms left, %v", key, left, err)
		}
	}
}

// TestAKeyOfAnotherIsNotTouched checks that a run does not start if there is already a key with its prefix on the
// server.
func TestAKeyOfAnotherIsNotTouched(t *testing.T) {
	here, w := users(t)
	if _, err := w.ask("SET", "fencepost:7:lock", "1"); err != nil {
		t.Fatal(err)
	}
	_, err := Foreign{Servers: []sim.ProcessID{"redis-1"}, Addresses: []string{here}, Prefix: "fencepost:7:",
		Lasts: time.Hour}.Attach()
	if err == nil || !strings.Contains(err.Error(), `the server already has keys that begin with "fencepost:7:"`) {
		t.Error(err)
	}
	if v, err := w.ask("GET", "fencepost:7:lock"); err != nil || v.Text != "1" {
		t.Error(v, err)
	}
}

func TestServersOfTheUsersThatCannotBeUsed(t *testing.T) {
	here, _ := users(t, "requirepass secret")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}
	}()
	for address, want := range map[string]string{
		here:                              ErrNeedsPassword.Error(),
		"redis://:wrong@" + here:          ErrWrongPassword.Error() + ": WRONGPASS",
		"redis://:secret@" + here + "/99": "database 99: ERR DB index is out of range",
		"rediss://" + here:                "only redis:// is supported, without TLS",
		"redis://:secret@":                ErrAddress.Error(),
		"redis://:sec/ret@" + here:        ErrAddress.Error(),
		"redis://:sec#ret@" + here:        ErrAddress.Error(),
		"redis://:sec?ret@" + here:        ErrAddress.Error(),
		"redis://:sec@ret@" + here:        ErrAddress.Error(),
		"redis://:sec%ret@" + here:        ErrAddress.Error(),
		"redis://:secret:" + here:         ErrAddress.Error(),
		"redis://" + here + "?a=secret":   ErrAddress.Error(),
		"redis://" + here + "/secret":     ErrAddress.Error(),
		"redis://secret@" + here:          ErrAddress.Error(),
		l.Addr().String():                 "it does not reply as Redis does: the server's reply is not RESP",
		"127.0.0.1:1":                     "connection refused",
	} {
		_, err := Foreign{Servers: []sim.ProcessID{"redis-1"}, Addresses: []string{address}, Prefix: "p:",
			Lasts: time.Hour}.Attach()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s:\n got %v\nwant %s", address, err, want)
		}
	}
	for line, fits := range map[string]bool{
		"cut client-1 | redis-1 at 1s for 1s": true, "pause client-1 for 1s at 1s": true,
		"delay redis-1 -> client-1 by 1s at 1s": true, "break client-1 | redis-1 before reply 3": true,
		"pause redis-1 for 1s at 1s": false, "jump redis-1 clock by +1s at 1s": false,
		"crash redis-1 losing everything at 1s": false, "shut down redis-1 at 1s": false,
		"drift redis-1 clock by +10ppm from 1s": false, "slow fsync of redis-1 by 1s at 1s for 1s": false,
		"fail over redis-1 to redis-2 at 1s": false, "cut redis-1 | redis-2 at 1s": false,
	} {
		f, err := nemesis.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		err = (&Foreign{Servers: []sim.ProcessID{"redis-1", "redis-2"}}).Can(f)
		if is := err != nil && strings.Contains(err.Error(), "redis-1 is a server that you started"); is == fits {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestKeysAreThoseOfRedis compares each permitted command's keys with those that a real server lists in its reply to
// COMMAND INFO.
func TestKeysAreThoseOfRedis(t *testing.T) {
	_, w := users(t)
	compared := 0
	number := func(v resp.Value) int { n, _ := strconv.Atoi(v.Text); return n }
	for name, c := range passing {
		v, err := w.ask("COMMAND", "INFO", strings.Replace(name, "object", "object|encoding", 1))
		if err != nil {
			t.Fatal(err)
		}
		info := v.List[0].List
		if len(info) == 0 { // this version of Redis does not have the command
			continue
		}
		compared++
		writes := slices.ContainsFunc(info[2].List, func(f resp.Value) bool { return f.Text == "write" })
		got := redis.Keyed{Name: name, First: number(info[3]), Last: number(info[4]), Step: number(info[5]),
			Reads: !writes}
		if got != c {
			t.Errorf("Redis says %+v, and the guard %+v", got, c)
		}
	}
	if compared < 100 {
		t.Errorf("%d commands were compared", compared)
	}
}
