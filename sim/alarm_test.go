package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// answeredSoon returns a world with a server that answers within 2 ms.
func answeredSoon() *World {
	w := New(1, Options{Delay: Delay{time.Millisecond, time.Millisecond}})
	w.AddServer("redis-1", answerer{})
	return w
}

func call(env Env, timeout time.Duration) {
	env.Call(timeout, nil, Request{Conn: Conn{Server: "redis-1"}, Args: []string{"PING"}, Attempt: "c/1",
		Phase: "ping"})
}

// TestWaitsThatEndEarlyLeaveNothingBehind checks that a task has at most one event in the queue and a signal has at
// most one waiter, no matter how many waits have ended early. It also checks that a wait that is shorter than earlier
// ones ends on time.
func TestWaitsThatEndEarlyLeaveNothingBehind(t *testing.T) {
	w, events, waiters := answeredSoon(), 0, 0
	var over Signal
	var woken history.Time
	w.AddClient("client-1", 0, func(env Env) {
		for range 100 {
			call(env, time.Hour)
			events = max(events, len(w.queue))
		}
		for range 100 {
			env.Sleep(time.Millisecond, &over)
			waiters = max(waiters, len(over.waiting))
		}
		env.Sleep(time.Minute)
		woken = w.now
	})
	w.Run(Time(2*time.Hour), nil)
	if events > 1 || waiters > 1 {
		t.Errorf("%d events in the queue, %d waiters", events, waiters)
	}
	if want := Time(100*3*time.Millisecond + time.Minute); woken != want {
		t.Errorf("woken at %v, not at %v", woken, want)
	}
}

// TestWaitsThatEndTogetherEndInTheOrderOfTheirBeginnings checks that if several waits end at the same instant, the one
// that began first ends first, even if a wait reuses the event of an earlier wait.
func TestWaitsThatEndTogetherEndInTheOrderOfTheirBeginnings(t *testing.T) {
	w := answeredSoon()
	var order []history.Process
	sleepUntil := func(env Env, at time.Duration) {
		env.Sleep(at - env.Monotonic())
		order = append(order, env.Name())
	}
	w.AddClient("client-1", 0, func(env Env) {
		call(env, 10*time.Millisecond) // answered at 2 ms
		sleepUntil(env, 100*time.Millisecond)
	})
	w.AddClient("client-2", Time(5*time.Millisecond), func(env Env) { sleepUntil(env, 100*time.Millisecond) })
	w.Run(Time(time.Second), nil)
	if want := []history.Process{"client-1", "client-2"}; !slices.Equal(order, want) {
		t.Errorf("%v, not %v", order, want)
	}
}
