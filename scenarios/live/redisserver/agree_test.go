//go:build linux

package redisserver

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// lineOf formats a record for comparing the simulated and the real server. The time left until a key expires is rounded
// to 10 s. The host delays commands by far less than that, and none of the times in the tests is close to a point where
// the rounding changes.
func lineOf(e *history.Event) string {
	text := fmt.Sprintf("%s: %s %s %s of %s by %s %s", e.Process, e.F, e.Lock, e.Member, e.Of, e.By, e.Why)
	if e.F == history.KeyGone {
		return text
	}
	left := "for ever"
	if e.Until != history.Never {
		left = fmt.Sprint((e.Until - e.Time).Duration().Round(10 * time.Second))
	}
	return text + fmt.Sprintf(" = %s, %s", e.Value, left)
}

// linesOf formats records. It sorts the records of one request by key, because the order in which a request changes
// several keys does not matter. If a request changes a key several times, linesOf includes only the result. Records of
// expired keys come last and are sorted, because they may appear anywhere within a transaction.
func linesOf(list []history.Event) (lines []string) {
	var expired []string
	stands := map[[2]string]*history.Event{} // keys that existed before the request
	net := map[[2]string][]history.Event{}   // the request's result so far
	var by history.Attempt
	close := func() {
		var one []string
		for k, events := range net {
			s := stands[k]
			if len(events) == 1 && events[0].F == history.KeyProlonged && s != nil && s.Until == events[0].Until {
				events = nil // the request undid the change
			}
			for i := range events {
				one = append(one, fmt.Sprintf("%q %d\x00", k, i)+lineOf(&events[i]))
				if stands[k] = &events[i]; events[i].F == history.KeyGone {
					stands[k] = nil
				}
			}
		}
		slices.Sort(one)
		for _, line := range one {
			_, line, _ = strings.Cut(line, "\x00")
			lines = append(lines, line)
		}
		clear(net)
	}
	for i := range list {
		e := &list[i]
		k := [2]string{string(e.Lock), e.Member}
		if e.Why == history.Expired {
			if n := net[k]; len(n) == 1 && n[0].F == history.KeySet && n[0].Time == e.Time && stands[k] == nil {
				delete(net, k) // created and removed in one request
				continue
			}
			if len(net[k]) > 0 {
				close()
			}
			expired = append(expired, lineOf(e))
			stands[k] = nil
			continue
		}
		if e.By == "" || e.By != by {
			close()
			by = e.By
		}
		net[k] = add(net[k], *e, stands[k])
	}
	close()
	slices.Sort(expired)
	return append(lines, expired...)
}

// add merges a record into the list of records that one request made for the same key. stood is the latest record of
// the key before the request.
func add(list []history.Event, e history.Event, stood *history.Event) []history.Event {
	last := len(list) - 1
	switch {
	case last < 0 || list[last].F == history.KeyGone:
		return append(list, e)
	case e.F == history.KeySet:
		list[last] = e
	case e.F == history.KeyProlonged:
		list[last].Until = e.Until
	default: // the key is gone
		if last == 0 && stood == nil || last > 0 && list[last].F == history.KeySet {
			return list[:last]
		}
		if stood != nil {
			e.Of = stood.Of
		}
		list[last] = e
	}
	return list
}

// compareRecords compares the simulated server's records with the real server's.
func compareRecords(t *testing.T, name string, model, reality []string, asked []string) {
	t.Helper()
	for i := range max(len(model), len(reality)) {
		m, r := "nothing", "nothing"
		if i < len(model) {
			m = model[i]
		}
		if i < len(reality) {
			r = reality[i]
		}
		if m != r {
			next := func(list []string) string {
				return strings.Join(list[min(i, len(list)):min(i+4, len(list))], "\n  ")
			}
			t.Fatalf("%s: record %d: simulated\n  %s\nreal\n  %s\nafter\n  %s\nwhere was asked\n  %s", name, i,
				next(model), next(reality), strings.Join(model[max(i-5, 0):min(i, len(model))], "\n  "),
				strings.Join(precedingRequests(asked, m, r), "\n  "))
		}
	}
}

// precedingRequests returns the requests that led to the given records, which differ between the simulated and the real
// server. It also returns the four requests before each of them.
func precedingRequests(asked []string, records ...string) (list []string) {
	for i := range asked {
		of, _, _ := strings.Cut(asked[i], " ")
		for _, r := range records {
			if strings.Contains(r+" ", "by "+of+" ") {
				list = append(list, asked[max(i-4, 0):i+1]...)
			}
		}
	}
	return list
}

// simulated runs a client with a simulated node, in virtual time.
func simulated(t *testing.T, cfg redis.Config, main func(c *client)) []history.Event {
	t.Helper()
	return simulatedFleet(t, func(w *sim.World) { w.AddServer("redis-1", redis.New(cfg)) }, main)
}

// simulatedFleet runs a client with several simulated servers.
func simulatedFleet(t *testing.T, add func(w *sim.World), main func(c *client)) []history.Event {
	t.Helper()
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: 50 * time.Microsecond, Hi: 50 * time.Microsecond}})
	add(w)
	over := false
	w.AddClient("client-1", 0, func(e sim.Env) {
		main(&client{t: t, Env: e, w: w, server: "redis-1"})
		over = true
	})
	w.Run(history.Never-1, func() bool { return over })
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return recorded(w)
}

// oneOf returns a random word from words, a list separated by '|'.
func oneOf(r *rand.Rand, words string) string {
	list := strings.Split(words, "|")
	return list[r.IntN(len(list))]
}

const (
	compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	compareAndExpire = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) ` +
		`else return 0 end`
	reentrant = `if redis.call('exists',KEYS[1])==0 or redis.call('hexists',KEYS[1],ARGV[2])==1 then ` +
		`redis.call('hincrby',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end ` +
		`return redis.call('pttl',KEYS[1])`
	reentrantRelease = `if redis.call('hexists',KEYS[1],ARGV[1])==0 then return nil end ` +
		`local n=redis.call('hincrby',KEYS[1],ARGV[1],-1) if n>0 then return 0 end ` +
		`redis.call('hdel',KEYS[1],ARGV[1]) return 1`
	semaphore = `redis.call('zremrangebyscore',KEYS[1],'-inf',ARGV[1]) ` +
		`if redis.call('zcard',KEYS[1])<3 then redis.call('zadd',KEYS[1],ARGV[2],ARGV[3]) return 1 end return 0`
)

// lasting lists times to live, in ms, that are longer than a test.
const lasting = "60000|100000|140000"

// draw returns a random command. All of a key's values have the same type.
func draw(r *rand.Rand) []string {
	k, h, z, s, l := oneOf(r, "a|b|c"), oneOf(r, "h|i"), oneOf(r, "z|y"), oneOf(r, "s|t"), oneOf(r, "l|m")
	v, f, px := oneOf(r, "v|w"), oneOf(r, "x|y"), oneOf(r, lasting)
	all := [][]string{
		{"SET", k, v, "NX", "PX", px}, {"SET", k, v, "NX", "PX", px}, {"SET", k, v, "PX", px}, {"SET", k, v},
		{"SET", k, v, "KEEPTTL"}, {"SET", k, v, "XX", "GET"}, {"GET", k}, {"GETDEL", k}, {"DEL", k}, {"DEL", k, h, z},
		{"GETSET", k, v}, {"GETEX", k, "PX", px}, {"GETEX", k, "PERSIST"}, {"SETNX", k, v}, {"APPEND", k, v},
		{"MSET", k, v, oneOf(r, "a|b|c"), v}, {"UNLINK", k},
		{"PEXPIRE", k, px}, {"PEXPIRE", k, px, "GT"}, {"PEXPIRE", h, px}, {"PEXPIRE", z, px}, {"PERSIST", k},
		{"PEXPIRE", k, "-1"}, {"EXPIREAT", k, "1"}, {"INCR", oneOf(r, "n|o")}, {"DECR", oneOf(r, "n|o")},
		{"EVAL", compareAndDelete, "1", k, v}, {"EVAL", compareAndExpire, "1", k, v, px},
		{"EVAL", reentrant, "1", h, px, f}, {"EVAL", reentrantRelease, "1", h, f},
		{"EVAL", semaphore, "1", z, oneOf(r, "1|2|3|4"),
			oneOf(r, "1|2|3|4|5") + fmt.Sprintf(".%06d", r.IntN(1e6)), oneOf(r, "p|q|r|s")},
		{"HSET", h, f, v}, {"HSET", h, f, v, "mode", "read"}, {"HDEL", h, f}, {"HINCRBY", h, "count", "1"},
		{"HSETNX", h, f, v},
		{"ZADD", z, oneOf(r, "1|2|3"), f}, {"ZREM", z, f}, {"ZREMRANGEBYSCORE", z, "-inf", "2"}, {"SADD", s, f},
		{"SREM", s, f}, {"RPUSH", l, v}, {"LPOP", l}, {"RENAME", k, oneOf(r, "a|b|c")}, {"COPY", k, oneOf(r, "d|e")},
		{"COPY", k, oneOf(r, "d|e"), "REPLACE"}, {"WATCH", k}, {"FLUSHALL"}, {"EXISTS", k, h},
	}
	return all[r.IntN(len(all))]
}

// disjointCommands returns random commands, no two of which change the same key. If a transaction changed a key several
// times, a real server's records would contain only the result.
func disjointCommands(r *rand.Rand, n int) (all [][]string) {
	taken := map[string]bool{"FLUSHALL": true}
	for len(all) < n {
		args := draw(r)
		if slices.ContainsFunc(args, func(a string) bool { return taken[a] }) {
			continue
		}
		for _, a := range args {
			taken[a] = taken[a] || len(a) == 1 && a >= "a" // a key has one lower-case letter as its name
		}
		all = append(all, args)
	}
	return all
}

// timeLeft matches the time left until a deadline, which differs from run to run.
var timeLeft = regexp.MustCompile(`:\d{4,}\\r`)

// TestWhatARemovalByScoreLeaves acquires semaphore permits with a script that first removes the members with the lowest
// scores. If a member remains, the removal cannot have removed any member with a higher score. The records must reflect
// this, even if the script then adds such a member again.
func TestWhatARemovalByScoreLeaves(t *testing.T) {
	testkit.Needs(t, "redis-server")
	var asked []string
	play := func(c *client) {
		asked = nil
		for _, args := range [][]string{
			{"ZADD", "y", "3", "stays", "5", "again", "1", "ends"},
			{"EVAL", semaphore, "1", "y", "2", "4", "again"},
			{"EVAL", semaphore, "1", "y", "3.5", "6", "stays"},
			{"ZRANGE", "y", "0", "-1", "WITHSCORES"},
		} {
			of := fmt.Sprint("client-1/", len(asked)+1)
			asked = append(asked, fmt.Sprintf("%s %.60q: %q", of, args, c.sendAs(history.Attempt(of), args...).Raw()))
		}
	}
	model := linesOf(simulated(t, redis.Config{}, play))
	answers := slices.Clone(asked)
	reality := linesOf(start(t, Config{Persistence: store.None}).play(play))
	if !slices.Equal(answers, asked) {
		t.Errorf("simulated %s\nreal      %s", answers, asked)
	}
	compareRecords(t, "scores", model, reality, asked)
	want := []string{"key-gone y ends of client-1/1 by  expired", "key-set y again of client-1/2 by client-1/2",
		"key-gone y stays of client-1/1 by  expired", "key-set y stays of client-1/3 by client-1/3"}
	for _, words := range want {
		if !strings.Contains(strings.Join(model, "\n"), words) {
			t.Errorf("%q is not recorded:\n%s", words, strings.Join(model, "\n"))
		}
	}
}

// TestModelAndRealityTellTheSame runs the same random commands on the simulated node and on a real server: locks of
// every type, transactions, and keys that expire. The records and replies must be equal.
func TestModelAndRealityTellTheSame(t *testing.T) {
	testkit.Needs(t, "redis-server")
	for seed := range uint64(testkit.Size(1, 4, 24)) {
		var asked [2][]string
		played := 0
		play := func(c *client) {
			r, mine := rand.New(rand.NewPCG(seed, 1)), &asked[played]
			do := func(args ...string) string {
				of := fmt.Sprint("client-1/", len(*mine)+1)
				c.Sleep(2 * time.Millisecond) // make sure that no two deadlines are the same
				answer := string(c.sendAs(history.Attempt(of), args...).Raw())
				if answer == "" {
					t.Fatalf("no answer to %s %q after\n  %s", of, args, strings.Join(*mine, "\n  "))
				}
				*mine = append(*mine, fmt.Sprintf("%s %.60q: %q", of, args, answer))
				return answer
			}
			for range 400 {
				switch r.IntN(12) {
				case 0:
					k := oneOf(r, "a|b|h|z|s|l")
					if do("PEXPIRE", k, "20") == ":1\r\n" {
						c.until(":0\r\n", "EXISTS", k)
					}
				case 1:
					do("MULTI")
					for _, args := range disjointCommands(r, 3) {
						do(args...)
					}
					do("EXEC")
				default:
					do(draw(r)...)
				}
			}
		}
		model := linesOf(simulated(t, redis.Config{}, play))
		played = 1
		reality := linesOf(start(t, Config{Persistence: store.None}).play(play))
		for i := range min(len(asked[0]), len(asked[1])) {
			m, r := timeLeft.ReplaceAllString(asked[0][i], "left"), timeLeft.ReplaceAllString(asked[1][i], "left")
			if m != r {
				t.Fatalf("seed %d, answers:\n   simulated %s\n   real      %s", seed, m, r)
			}
		}
		compareRecords(t, fmt.Sprint("seed ", seed), model, reality, asked[1])
	}
}
