//go:build linux

package redisserver

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live/redisserver/release"
)

// users starts a server such as a user may have, and gives where it is and a connection to it.
func users(t *testing.T, config ...string) (here string, w *wire) {
	t.Helper()
	testkit.Needs(t, "redis-server")
	k := newKeeper(t)
	p := &program{cfg: &settings{Config: Config{Keeper: k, Program: release.Usual}}, name: "users",
		folder: k.Folder() + "/users", gate: gateOf(t), config: append([]string{`save ""`, "appendonly no"}, config...)}
	if err := p.launch("", nil); err != nil {
		t.Fatal(err)
	}
	e := p.at
	for _, line := range config {
		if _, password, is := strings.Cut(line, "requirepass "); is {
			e.password = password
		}
	}
	w, err := e.dial()
	if err != nil {
		t.Fatal(err)
	}
	return p.at.address, w
}

func TestServersOfTheUsersKeepWhatTheyHave(t *testing.T) {
	here, w := users(t, "requirepass secret", `notify-keyspace-events "Kx"`)
	ask := func(args ...string) string {
		v, err := w.ask(args...)
		if err != nil {
			t.Fatal(err)
		}
		return v.Text + strings.Join(v.Texts(), " ")
	}
	ask("SET", "mine", "1")
	r := &rig{t: t, l: newLoop()}
	f := Foreign{Failed: r.fail, Servers: []sim.ProcessID{"redis-1"}, Prefix: "fencepost:7:",
		Addresses: []string{"redis://:secret@" + here}}
	fleet, err := f.Attach(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.l.begin = time.Now()
	r.l.w = sim.New(1, sim.Options{Delay: sim.Delay{Lo: 50 * time.Microsecond, Hi: 50 * time.Microsecond}})
	r.l.w.AddServer("redis-1", fleet.Server("redis-1"))
	fleet.Begin(r.l)
	r.l.w.Jump("redis-1", time.Until(time.Unix(0, sim.Epoch)).Abs()) // as whoever has it show the host's time
	const notOurs = "-ERR fencepost: on a server of the user's, keys begin with \"fencepost:7:\", and this does not: " +
		"\"mine\"\r\n"
	const refused = " would change a server of the user's\r\n"
	const chosen = "-ERR fencepost: the database on a server of the user's is chosen by its address\r\n"
	got := r.play(func(c *client) {
		for args, want := range map[string]string{
			"SET fencepost:7:lock 1 NX PX 60000":            "+OK\r\n",
			"EVAL return{KEYS[1]} 1 fencepost:7:lock":       "*1\r\n$16\r\nfencepost:7:lock\r\n",
			"PUBLISH somewhere something":                   ":0\r\n",
			"SET":                                           "-ERR wrong number of arguments for 'set' command\r\n",
			"SET mine 2":                                    notOurs,
			"RENAME fencepost:7:lock mine":                  notOurs,
			"EVAL return(redis.call('del',KEYS[1])) 1 mine": notOurs,
			"FLUSHALL":                                      "-ERR fencepost: FLUSHALL" + refused,
			"SCRIPT FLUSH":                                  "-ERR fencepost: SCRIPT" + refused,
			"CONFIG SET notify-keyspace-events KEA": "-ERR fencepost: CONFIG SET is not for clients" +
				" of a run\r\n",
			"SHUTDOWN": "-ERR fencepost: SHUTDOWN is not for clients of a run\r\n",
			"SELECT 0": chosen,
		} {
			if got := string(c.as("client-1/1", strings.Fields(args)...).Raw()); got != want {
				t.Errorf("%s:\n got %q\nwant %q", args, got, want)
			}
		}
	})
	if len(got) != 0 {
		t.Errorf("of a server of the user's something was recorded: %v", got)
	}
	if got := ask("DBSIZE"); got != "2" {
		t.Errorf("there are %s keys", got)
	}
	if err := f.Sweep(); err != nil {
		t.Error(err)
	}
	if got := ask("KEYS", "*"); got != "mine" {
		t.Errorf("what is left is %q", got)
	}
	if got := ask("GET", "mine"); got != "1" {
		t.Errorf("mine is %q", got)
	}
	if got := ask("CONFIG", "GET", "notify-keyspace-events"); got != "notify-keyspace-events xK" {
		t.Errorf("the configuration says %q", got)
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
		"rediss://" + here:                "rediss:// is not known, only redis:// without TLS",
		"redis://:secret@":                "the address names no host: HOST:PORT",
		l.Addr().String():                 "it does not answer as a Redis does: what the server says is no RESP",
		"127.0.0.1:1":                     "connection refused",
	} {
		_, err := Foreign{Servers: []sim.ProcessID{"redis-1"}, Addresses: []string{address}, Prefix: "p:"}.Attach(nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
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
		_, err = Foreign{Servers: []sim.ProcessID{"redis-1", "redis-2"}}.Attach([]nemesis.Fault{f})
		if is := err != nil && strings.Contains(err.Error(), "redis-1 is a server of yours"); is == fits {
			t.Errorf("%s: %v", line, err)
		}
	}
}
