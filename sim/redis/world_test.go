package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// call sends a single command to redis-1 and returns the RESP reply without line endings.
func call(env sim.Env, attempt history.Attempt, command string) string {
	reply := env.Call(time.Second, nil,
		sim.Request{Conn: sim.Conn{Server: "redis-1"}, Args: strings.Fields(command), Attempt: attempt,
			Phase: command})[0]
	if reply.Status != sim.Answered {
		return fmt.Sprint("status ", reply.Status)
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(reply.Raw()), "\r\n"), "\r\n", " ")
}

// lossOfPower runs a simulation in which redis-1 grants a lock and loses power before the next fsync.
func lossOfPower(node *redis.Node, persistence store.Policy) (report []string, digest sim.Digest) {
	node.Reset(redis.Config{Persistence: persistence, FsyncTime: store.DefaultFsyncTime})
	w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: 2 * time.Millisecond}})
	w.AddServer("redis-1", node)
	w.AddClient("client-1", 0, func(env sim.Env) {
		report = append(report, "client-1 "+call(env, "client-1/1", "SET lock a NX PX 10000"))
	})
	w.AddClient("client-2", 0, func(env sim.Env) {
		env.Sleep(time.Second)
		report = append(report, "client-2 "+call(env, "client-2/1", "SET lock b NX PX 10000"))
	})
	w.At(sim.Time(500*time.Millisecond), func() { w.Stop("redis-1", sim.PowerLoss) })
	w.At(sim.Time(600*time.Millisecond), func() { w.Restart("redis-1") })
	w.Run(sim.Time(time.Minute), func() bool { return false })
	for _, e := range w.Finish().Events {
		if strings.HasPrefix(string(e.F), "key-") {
			report = append(report, fmt.Sprintf("%s %s of %s %s", e.Process, e.F, e.Of, e.Why))
		}
	}
	return report, w.Digest()
}

func TestLockOfAnUnsyncedSecondIsGrantedTwice(t *testing.T) {
	node := redis.New(redis.Config{})
	report, digest := lossOfPower(node, store.Everysec)
	want := []string{"client-1 +OK", "client-2 +OK", "redis-1 key-set of client-1/1 ",
		"redis-1 key-gone of client-1/1 lost in crash (unsynced)",
		"redis-1 key-set of client-2/1 ", "redis-1 key-gone of client-2/1 expired"}
	if !slices.Equal(report, want) {
		t.Errorf("got %q\nwant %q", report, want)
	}
	if _, again := lossOfPower(node, store.Everysec); again != digest {
		t.Errorf("a reused node gives digest %v, a new one %v", again, digest)
	}
}

func TestLockOutlivesALossOfPowerWithFsyncAlways(t *testing.T) {
	report, _ := lossOfPower(redis.New(redis.Config{}), store.Always)
	want := []string{"client-1 +OK", "client-2 $-1", "redis-1 key-set of client-1/1 ",
		"redis-1 key-gone of client-1/1 expired"}
	if !slices.Equal(report, want) {
		t.Errorf("got %q\nwant %q", report, want)
	}
}
