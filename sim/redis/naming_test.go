package redis

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
)

// A request is named after its command. A script is named after its entry in WellKnown or its first line, no matter how
// it is sent.
func TestRequestsAreNamed(t *testing.T) {
	const own = "\n-- takes it #1\n  local v = redis.call(\"get\", KEYS[1])\nreturn v"
	release := `if redis.call('GET',KEYS[1]) == ARGV[1] then return redis.call('DEL',KEYS[1]) else return 0 end`
	hash := func(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
	var n Namer
	for _, c := range []struct {
		want string
		args []string
	}{
		{"SET", []string{"set", "lock", "v", "NX"}},
		{"PING", []string{"ping"}},
		{"EVALSHA", []string{"evalsha", hash(own), "1", "lock"}},
		{"-- takes it 1", []string{"EVAL", own, "1", "lock"}},
		{"-- takes it 1", []string{"evalsha", hash(own), "1", "lock"}},
		{"release", []string{"eval", release, "1", "lock", "v"}},
		{"SCRIPT", []string{"script", "load", "return 1 -- twice"}},
		{"return 1 -- twice", []string{"EVALSHA_RO", hash("return 1 -- twice"), "0"}},
		{"local v = redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', AR", []string{"EVAL",
			`local v = redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2], "more and more")`, "1"}},
		{"EVAL", []string{"EVAL", " \n ", "0"}},
		{"[31M 'RED'", []string{"\x1b[31m #\"red\"\n", "lock"}},
		{"?", []string{"\x00"}},
		{"?", []string{""}},
		{strings.Repeat("LONG", 15), []string{strings.Repeat("long", 1000)}},
	} {
		if got := n.Name(c.args); got != c.want {
			t.Errorf("%q is named %q, want %q", c.args, got, c.want)
		}
	}
	for range 2 { // a run must not know what was sent in another run
		n.Begin()
		for _, want := range []string{"EVALSHA", "-- takes it 1"} {
			if got := n.Name([]string{"EVALSHA", hash(own), "1", "lock"}); got != want {
				t.Errorf("it is named %q, want %q", got, want)
			}
			n.Name([]string{"EVAL", own, "1", "lock"})
		}
	}
}

// The number of stored scripts is bounded, even if each request sends a new script.
func TestFewScriptsAreKept(t *testing.T) {
	var n Namer
	for i := range 3 * mostScripts {
		if i%10 == 0 {
			n.Begin()
		}
		n.Name([]string{"EVAL", fmt.Sprint("return ", i), "0"})
	}
	if len(n.texts) > mostScripts+10 || len(n.hashes) != len(n.texts) {
		t.Errorf("%d scripts are kept, and %d hashes", len(n.texts), len(n.hashes))
	}
}
