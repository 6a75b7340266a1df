package redis_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// ofAllTypes contains commands for keys of all types. ofLists contains list commands, including some that wait.
// ofHashes contains commands for hashes whose fields have deadlines.
var (
	ofAllTypes = [][]string{{"SET", "a", "v", "NX", "PX", "2000"}, {"SET", "b", "v"}, {"DEL", "b"}, {"INCR", "n"},
		{"RPUSH", "l", "x"}, {"LPOP", "l"}, {"RPOPLPUSH", "l", "m"}, {"GET", "a"},
		{"CAD", "a", "v"}, {"WAIT", "1", "100"}, {"PEXPIRE", "l", "500"}, {"EVAL", releaseScript, "1", "a", "v"},
		{"HSET", "h", "f", "v"}, {"HSET", "h", "g", "v"}, {"HDEL", "h", "f"}, {"HINCRBY", "h", "n", "1"},
		{"ZADD", "z", "1", "m"}, {"SADD", "s", "x"}, {"SREM", "s", "x"}, {"FLUSHALL"},
		{"MULTI"}, {"EXEC"}}
	ofLists = [][]string{{"RPUSH", "a", "x", "y"}, {"LPUSH", "b", "z"}, {"BLPOP", "a", "0.2"}, {"BRPOP", "b", "a", "0"},
		{"BLMOVE", "a", "b", "LEFT", "LEFT", "0.1"}, {"BRPOPLPUSH", "b", "c", "0.2"}, {"DEL", "c"}, {"WAIT", "1", "50"},
		{"PEXPIRE", "b", "500"}, {"MULTI"}, {"EXEC"}, {"WATCH", "a"}, {"CLIENT", "UNBLOCK", "2"}}
	ofHashes = [][]string{{"HSET", "h", "f", "v"}, {"HSET", "h", "g", "v", "f", "v"}, {"HDEL", "h", "f"},
		{"HPEXPIRE", "h", "500", "FIELDS", "1", "f"}, {"HPEXPIRE", "h", "1500", "NX", "FIELDS", "2", "f", "g"},
		{"HSETEX", "h", "FNX", "PX", "800", "FIELDS", "1", "f", "v"}, {"HGETEX", "h", "PX", "300", "FIELDS", "1", "g"},
		{"HGETDEL", "h", "FIELDS", "1", "f"}, {"HPERSIST", "h", "FIELDS", "1", "f"}, {"HGET", "h", "f"},
		{"HINCRBY", "h", "n", "1"}, {"HGETALL", "h"}, {"PEXPIRE", "h", "900"}, {"RENAME", "h", "i"}, {"HLEN", "i"},
		{"COPY", "i", "h", "REPLACE"}, {"DEL", "i"}, {"SET", "h", "v", "PX", "300"}, {"WAIT", "1", "50"}, {"MULTI"},
		{"EXEC"}}
)

// storm returns a group with random faults, and with clients that write to all of its nodes. All faults end after
// thirty seconds.
func storm(t *testing.T, seed uint64, version redis.Version, commands [][]string) *cluster {
	r := rand.New(rand.NewPCG(seed, 5))
	cfg := redis.Config{Version: version, Persistence: store.Policy(r.IntN(4)),
		FsyncTime: time.Duration(r.IntN(3)) * ms, SemiSync: r.IntN(3) == 0, MinReplicasToWrite: r.IntN(4) / 3}
	c := newCluster(t, cfg, 2).watch(redis.SentinelConfig{DownAfter: 2 * time.Second,
		FailoverTimeout: 10 * time.Second, ReconfigureAfter: time.Second})
	span := func(limit time.Duration) time.Duration { return time.Duration(r.Int64N(int64(limit))) }
	all := append([]sim.ProcessID{observer}, c.names...)
	for range 6 {
		at, end := span(20*time.Second), span(10*time.Second)
		p, o := c.names[r.IntN(3)], all[r.IntN(4)]
		switch r.IntN(6) {
		case 0:
			c.at(at, func() { c.Cut(p, o) })
			c.at(at+end, func() { c.Heal(p, o) })
		case 1:
			how := []sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState}[r.IntN(3)]
			c.at(at, func() {
				if c.Stop(p, how) {
					c.at(at+end, func() { c.Restart(p) })
				}
			})
		case 2:
			c.at(at, func() { c.failOver(p) })
		case 3:
			c.at(at, func() { c.Pause(o) })
			c.at(at+end, func() { c.Resume(o) })
		case 4:
			c.at(at, func() { c.Jump(p, span(4*time.Second)-2*time.Second) })
		case 5:
			c.at(at, func() { c.ServerFault(p, sim.ServerFault{Kind: sim.FailOver, To: c.names[r.IntN(3)]}) })
		}
	}
	for i := range 3 {
		draw := rand.New(rand.NewPCG(seed, uint64(i)))
		c.client("client-"+strconv.Itoa(i+1), 0, func(s *session) {
			for n := range 150 {
				s.attempt = history.Attempt(fmt.Sprintf("%s/%d", s.Name(), n))
				conn := sim.Conn{Server: c.names[draw.IntN(3)]}
				args := commands[draw.IntN(len(commands))]
				if s.Call(300*ms, nil, sim.Request{Conn: conn, Args: args, Attempt: s.attempt,
					Phase: args[0]})[0].Status != sim.Answered {
					s.Close(conn)
				}
				s.Sleep(time.Duration(draw.Int64N(int64(200 * ms))))
			}
		})
	}
	return c
}

// TestNodesConverge injects random faults into groups. At the end of each run, exactly one node must be the master, all
// nodes must have its data, and every missing key must have a record.
func TestNodesConverge(t *testing.T) {
	for seed := range uint64(testkit.Size(3, 8, 100)) {
		converges(t, seed, redis.Tair, ofAllTypes)
		converges(t, seed, redis.Tair, ofLists)
		converges(t, seed, redis.Redis8, ofHashes)
	}
}

func converges(t *testing.T, seed uint64, version redis.Version, commands [][]string) {
	c := storm(t, seed, version, commands)
	c.run(4 * time.Minute)
	masters := 0
	for _, name := range c.names {
		if got, want := c.keys(name), c.keys(master); got != want {
			t.Errorf("seed %d: %s has\n%s\nand %s\n%s", seed, name, got, master, want)
		}
		if c.nodes[name].Master() == "" {
			masters++
		}
	}
	if masters != 1 {
		t.Errorf("seed %d: %d masters", seed, masters)
	}
	accounted(t, c, seed)
	again := storm(t, seed, version, commands)
	if again.run(4 * time.Minute); again.Digest() != c.Digest() {
		t.Errorf("seed %d gave two digests", seed)
	}
}

// accounted checks every key that was set. At the end, the key must exist, another attempt must have set it again, or a
// record must say that it is gone. Every key that exists must have a record that says that it was set.
func accounted(t *testing.T, c *cluster, seed uint64) {
	type owned struct {
		name string
		of   history.Attempt
	}
	there := map[owned]bool{}
	for _, k := range c.nodes[master].Keys() {
		if k.Owner != "" {
			there[owned{k.Name, k.Owner}] = true
		}
		for _, m := range k.Members {
			there[owned{k.Name + "." + m.Name, m.Owner}] = true
		}
	}
	last, set, ended := map[string]history.Attempt{}, map[owned]bool{}, map[owned]bool{}
	for _, e := range c.Finish().Events {
		name := string(e.Lock)
		if e.Member != "" {
			name += "." + e.Member
		}
		switch e.F {
		case history.KeySet:
			set[owned{name, e.Of}] = true
			if old, ok := last[name]; ok && old != e.Of {
				ended[owned{name, old}] = true // set by another attempt
			}
			last[name] = e.Of
		case history.KeyGone:
			ended[owned{name, e.Of}] = true
		}
	}
	for k := range set {
		if !there[k] && !ended[k] {
			t.Errorf("seed %d: nothing records what became of %v", seed, k)
		}
	}
	for k := range there {
		if !set[k] {
			t.Errorf("seed %d: nothing records why there is %v", seed, k)
		}
	}
}
