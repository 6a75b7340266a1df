//go:build linux

package live

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
)

// takesAll is a client that acquires all its locks, works with each of them, and releases them. If crosswise is set, it
// does none of the work, and it requests its second lock while the other client is holding that lock.
func takesAll(redis, resource *wire, crosswise bool) {
	var locks []string
	for n := 1; os.Getenv(fmt.Sprint("FENCEPOST_LOCK_", n)) != ""; n++ {
		locks = append(locks, os.Getenv(fmt.Sprint("FENCEPOST_LOCK_", n)))
	}
	me := os.Getenv("FENCEPOST_CLIENT")
	for n := range 2 {
		for i, lock := range locks {
			for crosswise && i == 1 && redis.ask("EXISTS", lock) != ":1" {
				time.Sleep(5 * time.Millisecond)
			}
			resource.ask("FENCEPOST", "ACQUIRING", lock)
			for redis.ask("SET", lock, me, "NX") != "+OK" { // the client uses the same value for all locks
				time.Sleep(5 * time.Millisecond)
			}
			resource.ask("FENCEPOST", "ACQUIRED", lock, me)
			if !crosswise {
				resource.ask("READ", lock)
				resource.ask("WRITE", lock, fmt.Sprint(me, n))
			}
		}
		for _, lock := range locks {
			resource.ask("FENCEPOST", "RELEASING", lock, me)
			redis.ask("MULTI")
			redis.ask("DEL", lock)
			redis.ask("EXEC")
			resource.ask("FENCEPOST", "RELEASED", lock, me)
		}
	}
}

// TestSeveralLocks checks that each client gets its own locks, in its own order. If the orders differ, the clients must
// get stuck.
func TestSeveralLocks(t *testing.T) {
	testkit.FullOnly(t)
	laws := []checker.Law{checker.LeaseExclusion, checker.MutualExclusion, checker.ResourceSafety, checker.Ownership,
		checker.DeadlockFreedom}
	for _, test := range []struct{ order, client, want string }{
		{"[orders, stock]", "all", "holds; holds; holds; holds; holds"},
		{"[stock, orders]", "crosswise", "holds; holds; unchecked; unchecked; violated by stuck in a cycle of waiters"},
	} {
		order, want := test.order, test.want
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			s := scenario(t, "set-nx-px", "work: {locks: [orders, stock]}",
				"overrides: {client-2: {work: {locks: "+order+"}}}", "limit: 6s")
			r, err := run(t, s, test.client)
			if err != nil {
				t.Fatal(err)
			}
			if got := outcomes(r, laws...); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			granted := 0
			for _, e := range r.History.Events {
				if e.F == history.Acquire && e.Type == history.OK && e.Grant != nil && e.Process != history.Probe {
					granted++
				}
			}
			if ungranted := strings.Contains(strings.Join(r.Notes, " "), "ACQUIRED"); ungranted || granted < 2 {
				t.Errorf("%d grants were seen; %q", granted, r.Notes)
			}
		})
	}
}

// TestWhichLockARequestIsAbout checks that a request is assigned to the lock named in it or its transaction. If none is
// named, it is assigned to the lock that the client requested last.
func TestWhichLockARequestIsAbout(t *testing.T) {
	_, k := rig()
	k.locks, k.latest = []history.Lock{"a", "b"}, "b"
	k.stage.loop = realtime.NewLoop(k.stage.world, nil)
	s := &state{client: k, conn: &realtime.Conn{Server: "redis-1"}}
	for _, step := range []struct {
		request string
		lock    history.Lock
	}{
		{"PING", "b"}, {"SET a x NX", "a"}, {"EVAL script 1 b x", "b"}, {"DEL a a", "a"}, {"WATCH a b", "b"},
		{"MULTI", "b"}, {"SET a x", "a"}, {"EXPIRE a 1", "a"}, {"EXEC", "a"}, {"SET b x", "b"},
	} {
		if got := s.lockOf(strings.Fields(step.request)); got != step.lock {
			t.Errorf("%s is about %s, not %s", step.request, got, step.lock)
		}
	}
	if err := k.stage.loop.Err(); err != nil {
		t.Error(err)
	}
	for _, requests := range []string{"MSETNX a x b x", "MULTI; SET a x; SET b x"} {
		k.stage.loop = realtime.NewLoop(k.stage.world, nil)
		for request := range strings.SplitSeq(requests, "; ") {
			s.lockOf(strings.Fields(request))
		}
		if err := k.stage.loop.Err(); err == nil || !strings.Contains(err.Error(), "names a and b in one command") {
			t.Errorf("%s: %v", requests, err)
		}
	}
}
