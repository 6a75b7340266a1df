package front

import (
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

const (
	acquireScript = `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])`
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
)

// TestWhoseRequestItIs: an owner value belongs to the attempt that set it last, wherever it appears; everything else
// belongs to the attempt that the client has begun.
func TestWhoseRequestItIs(t *testing.T) {
	w := sim.New(1, sim.Options{})
	o := owners{of: values{}, scripts: scripts{}}
	hash := "3fb7c0eae5c7dfb8cfc8ee3b0a4b4c6cd3ea2a14"
	for _, step := range []struct {
		begin   history.Attempt
		server  sim.ProcessID
		request []string
		of      history.Attempt
	}{
		{"c/1", "redis-1", []string{"HELLO", "3"}, "c/1"},
		{"", "redis-1", []string{"SET", "lock", "a1", "PX", "8000", "NX"}, "c/1"},
		{"", "redis-1", []string{"EVALSHA", hash, "1", "lock", "a1"}, "c/1"},
		{"c/2", "redis-1", []string{"set", "lock", "b2", "nx"}, "c/2"},
		{"", "redis-1", []string{"EVAL", releaseScript, "1", "lock", "a1"}, "c/1"},
		{"", "redis-1", []string{"EVAL", releaseScript, "1", "lock", "b2"}, "c/2"},
		{"", "redis-1", []string{"DEL", "lock"}, "c/2"},
		// one value for all attempts
		{"c/3", "redis-1", []string{"EVAL", acquireScript, "1", "lock", "b2", "8000"}, "c/3"},
		{"", "redis-1", []string{"EVAL", releaseScript, "1", "lock", "b2"}, "c/3"},
		{"", "redis-1", []string{"GET"}, "c/3"},
		{"", "redis-1", []string{"EVAL", "x"}, "c/3"},
		{"", "redis-1", []string{"EVAL", "x", "9", "lock", "b2"}, "c/3"},
	} {
		if step.begin != "" {
			o.Begin(step.begin, 0)
		}
		if of, _ := o.tag(w.Now(), step.server, step.request); of != step.of {
			t.Errorf("%v: of %s, want %s", step.request, of, step.of)
		}
	}
}

// TestTheRoundThatAcquires: since and granted are those of the latest round of requests.
func TestTheRoundThatAcquires(t *testing.T) {
	w := sim.New(1, sim.Options{})
	o := owners{of: values{}, scripts: scripts{}}
	o.Begin("c/1", 0)
	for _, step := range []struct {
		at     time.Duration
		server sim.ProcessID
		reply  string
		want   string
	}{
		{1, "redis-1", "+OK\r\n", "1 [redis-1]"},
		{2, "redis-2", "$-1\r\n", "1 [redis-1]"},
		{3, "redis-1", "$-1\r\n", "3 []"}, // a new round
		{4, "redis-2", "+OK\r\n", "3 [redis-2]"},
		{5, "redis-3", ":1\r\n", "3 [redis-2 redis-3]"},
		{6, "redis-4", "-ERR no\r\n", "3 [redis-2 redis-3]"},
	} {
		w.Advance(sim.Time(step.at))
		args := []string{"SET", "lock", "v", "NX"}
		of, _ := o.tag(w.Now(), step.server, args)
		o.answered(step.server, &sim.Incoming{Attempt: of, Args: args}, []byte(step.reply))
		if got := fmt.Sprint(int64(o.try.since), o.try.granted); got != step.want {
			t.Errorf("after %d: %s, want %s", step.at, got, step.want)
		}
	}
}

// TestARoundOfSeveralKeys: a request for another key of the same server belongs to the round, one for the same key
// begins the next.
func TestARoundOfSeveralKeys(t *testing.T) {
	w := sim.New(1, sim.Options{})
	o := owners{of: values{}, scripts: scripts{}}
	o.Begin("c/1", 0)
	for n, step := range []struct {
		key, reply string
		want       string
	}{
		{"0:lock", "$-1\r\n", "1 []"},
		{"1:lock", "+OK\r\n", "1 [redis-1]"},
		{"0:lock", "+OK\r\n", "3 [redis-1]"},
		{"1:lock", "+OK\r\n", "3 [redis-1]"},
		{"2:lock", "$-1\r\n", "3 [redis-1]"},
		{"0:lock", "$-1\r\n", "6 []"},
	} {
		w.Advance(sim.Time(n + 1))
		args := []string{"EVAL", acquireScript, "1", step.key, "v", "8000"}
		of, _ := o.tag(w.Now(), "redis-1", args)
		o.answered("redis-1", &sim.Incoming{Attempt: of, Args: args}, []byte(step.reply))
		if got := fmt.Sprint(int64(o.try.since), o.try.granted); got != step.want {
			t.Errorf("after %s: %s, want %s", step.key, got, step.want)
		}
	}
}

// TestAScriptThatAnotherClientHasSent: its hash is as good as its text, even from a client that never sends the text.
func TestAScriptThatAnotherClientHasSent(t *testing.T) {
	w := sim.New(1, sim.Options{})
	known := scripts{}
	first, second := owners{of: values{}, scripts: known}, owners{of: values{}, scripts: known}
	first.Begin("a/1", 0)
	first.tag(w.Now(), "redis-1", []string{"EVAL", acquireScript, "1", "lock", "a1", "8000"})
	hash := fmt.Sprintf("%X", sha1.Sum([]byte(acquireScript)))
	for n, step := range []struct {
		request []string
		since   sim.Time
	}{
		// no request for the lock: from the beginning
		{[]string{"GET", "lock"}, 5},
		{[]string{"EVALSHA", "0a0b", "1", "lock", "b1", "8000"}, 5},          // it is not known what this one does
		{[]string{"EVALSHA", hash, "1", "lock", "b1", "8000"}, 12},           // the round that acquires
		{[]string{"EVALSHA", hash, "1", "lock", "b1", "8000"}, sim.Time(13)}, // and the next
	} {
		if n == 0 {
			second.Begin("b/1", 5)
		}
		w.Advance(sim.Time(10 + n))
		second.tag(w.Now(), "redis-1", step.request)
		if got := second.try.since; got != step.since {
			t.Errorf("after %v: since %d, want %d", step.request, got, step.since)
		}
	}
}
