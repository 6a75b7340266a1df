//go:build linux

package redisserver

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// standing is an existing key, as the records describe it.
type standing struct {
	of    history.Attempt
	value string
}

// account returns the keys that exist according to the records, as a checker would determine them.
func account(t *testing.T, list []history.Event) map[string]standing {
	t.Helper()
	stands := map[string]standing{}
	for i := range list {
		e := &list[i]
		key := string(e.Lock) + " " + e.Member
		was, there := stands[key]
		switch {
		case e.F == history.KeySet:
			stands[key] = standing{e.Of, e.Value}
		case !there || was.of != e.Of:
			t.Fatalf("%s: there stands %q", lineOf(e), was.of)
		case e.F == history.KeyGone:
			delete(stands, key)
		}
	}
	return stands
}

// TestRecordsTellWhatStands checks that the records describe exactly the keys on the server at the end of a run. During
// the run, four clients request locks while the server is paused, is stopped in every possible way, and has its clock
// changed. Each value names the attempt that set it.
func TestRecordsTellWhatStands(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server", "gcc")
	const runs = 24
	plan := []nemesis.Fault{{Kind: nemesis.Jump, Target: "redis-1", By: time.Second},
		{Kind: nemesis.Crash, Target: "redis-1", Loss: nemesis.LosesUnsynced}}
	seen := map[string]int{}
	for seed := range uint64(runs) {
		r := start(t, Config{Persistence: store.Policy(seed % 4)}, plan...)
		over, renames := 0, map[history.Attempt]bool{}
		work := func(n int, e sim.Env) {
			c := &client{t: t, Env: e, w: r.l.w, server: "redis-1", conn: 100 * n, asked: 10_000 * n}
			d := rand.New(rand.NewPCG(seed, uint64(n)))
			for i := range 150 {
				of := history.Attempt(fmt.Sprintf("client-1/%d", 1000*n+i))
				k, px := oneOf(d, "a|b|c"), oneOf(d, "5|20|60|100000")
				args := [][]string{{"SET", k, string(of), "NX", "PX", px}, {"SET", k, string(of), "NX", "PX", px},
					{"SET", k, string(of)}, {"DEL", k}, {"PEXPIRE", k, px}, {"HSET", "h", oneOf(d, "x|y"), string(of)},
					{"HDEL", "h", oneOf(d, "x|y")}, {"ZADD", "z", fmt.Sprint(1000*n + i), oneOf(d, "x|y")},
					{"EVAL", compareAndDelete, "1", k, string(of)}, {"PEXPIRE", "h", px},
					{"RENAME", k, "d"}}[d.IntN(11)]
				renames[of] = args[0] == "RENAME"
				if c.askFor(20*time.Millisecond, of, args...) == "" {
					c.Close(sim.Conn{Server: "redis-1", N: c.conn})
					c.conn++
				}
			}
			over++
		}
		trouble := func(e sim.Env) {
			d := rand.New(rand.NewPCG(seed, 99))
			w := r.l.w
			for over < 4 {
				e.Sleep(time.Duration(d.IntN(30)) * time.Millisecond)
				switch d.IntN(4) {
				case 0:
					w.Pause("redis-1")
					e.Sleep(time.Duration(d.IntN(40)) * time.Millisecond)
					w.Resume("redis-1")
				case 1:
					w.Stop("redis-1", sim.Stop(1+d.IntN(3)))
					e.Sleep(time.Duration(d.IntN(30)) * time.Millisecond)
					w.Restart("redis-1")
				case 2:
					w.Jump("redis-1", time.Duration(d.IntN(200)-100)*time.Millisecond)
				}
			}
			over++
		}
		audited := false
		got := r.play(func(c *client) {
			for n := 1; n <= 4; n++ {
				c.Go(fmt.Sprint("works ", n), func(e sim.Env) { work(n, e) })
			}
			c.Go("trouble", trouble)
			for over < 5 {
				c.Sleep(time.Millisecond)
			}
			audited = audit(t, c, seed, renames)
		})
		if !audited {
			t.Errorf("run %d was not audited", seed)
		}
		for i := range got {
			seen[string(got[i].F)+string(got[i].Why)]++
		}
	}
	for _, what := range []string{"key-set", "key-prolonged", "key-gonedeleted", "key-goneexpired",
		"key-gone" + string(history.LostUnpersisted)} {
		if seen[what] == 0 {
			t.Errorf("no %s was recorded", what)
		}
	}
}

// audit checks that the keys on the server are those that exist at the same instant according to the records, with the
// same values. A key's value must name the attempt that set it. The attempts in renames are an exception: if the reply
// to a rename was lost in a crash, the records attribute the moved value to the rename.
func audit(t *testing.T, c *client, seed uint64, renames map[history.Attempt]bool) bool {
	c.conn = 1
	for _, k := range []string{"a", "b", "c", "d", "h"} {
		c.sendAs("", "PERSIST", k) // from now on, keys must not expire
	}
	stands := account(t, recorded(c.w))
	found := 0
	check := func(key, value string, there bool) {
		s, stood := stands[key]
		alien := s.of != "" && string(s.of) != value && key[0] != 'z' && !renames[s.of]
		if there != stood || there && (s.value != value || alien) {
			t.Errorf("run %d: %s is %q (%v), and by the records %+v (%v)", seed, key, value, there, s, stood)
		}
		if there {
			found++
		}
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		reply := c.sendAs("", "GET", k)
		value, there := reply.Bulk()
		check(k+" ", value, there)
	}
	for _, m := range []string{"x", "y"} {
		reply := c.sendAs("", "HGET", "h", m)
		value, there := reply.Bulk()
		check("h "+m, value, there)
		reply = c.sendAs("", "ZSCORE", "z", m)
		value, there = reply.Bulk()
		check("z "+m, value, there)
	}
	if found != len(stands) {
		t.Errorf("run %d: %d keys are there, and by the records %v", seed, found, stands)
	}
	return true
}

// TestWhatACrashSwallowedIsFound checks that a request that was carried out is attributed to its client even if its
// reply was lost when the server stopped.
func TestWhatACrashSwallowedIsFound(t *testing.T) {
	testkit.FullOnly(t)
	testkit.Needs(t, "redis-server", "gcc")
	slow := nemesis.Fault{Kind: nemesis.SlowFsync, Target: "redis-1", By: time.Second, For: time.Second}
	for how, want := range map[sim.Stop]string{
		sim.ShutDown:  "[redis-1: key-set lock  of client-1/1 by client-1/1  = 1, for ever]",
		sim.PowerLoss: "[]", // the request was not on disk yet
	} {
		got := start(t, Config{Persistence: store.Always}, slow).play(func(c *client) {
			c.sendAs("", "GET", "lock") // the server is running again
			c.w.ServerFault("redis-1", sim.ServerFault{Kind: sim.SlowFsync, By: time.Second, Begin: true})
			if got := c.askFor(200*time.Millisecond, "client-1/1", "SET", "lock", "1"); got != "" {
				t.Errorf("the answer is there: %q", got)
			}
			c.crash(how, 10*time.Millisecond)
			c.w.ServerFault("redis-1", sim.ServerFault{Kind: sim.SlowFsync, By: time.Second})
			c.sendAs("", "GET", "lock")
		})
		if lines := fmt.Sprint(linesOf(got)); lines != want {
			t.Errorf("%s: recorded is %s, and should be %s", stops[how], lines, want)
		}
	}
}
