package format

import (
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, text string) *Document {
	t.Helper()
	d, err := ParseDocument("d.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocumentsAreChangedInPlace(t *testing.T) {
	const text = `name: a
servers: {redis: 5, persistence: none}
lock: {protocol: redlock, ttl: 10s}
overrides:
  client-1: {lock: {quorum: 2}}
faults:
  - "crash redis-1 losing everything at 1s, restart after 2s"
  - pause client-1 for 1s at 2s
expect: {ownership: holds}
`
	d := parsed(t, text)
	clone := d.Clone()
	d.Set("lock.ttl", "5s")
	d.Set("servers.persistence.append-fsync", "always")
	d.Set("work.cycles", "2")
	d.Set("faults.2", "pause client-1 for 3s at 2s")
	d.Remove("expect.ownership")
	d.Remove("lock.nothing.at.all")
	d.Rename("overrides.client-1", "client-2")
	d.SetList("promise", []string{"ownership", "token-order"})
	const want = `name: a
servers: {redis: 5, persistence: {append-fsync: always}}
lock: {protocol: redlock, ttl: 5s}
overrides:
  client-2: {lock: {quorum: 2}}
faults:
  - crash redis-1 losing everything at 1s, restart after 2s
  - pause client-1 for 3s at 2s
work: {cycles: 2}
promise:
  - ownership
  - token-order
`
	if got := d.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, ok := d.Get("faults.2"); !ok || got != "pause client-1 for 3s at 2s" {
		t.Errorf("faults.2 is %q, %v", got, ok)
	}
	if _, ok := d.Get("faults.3"); ok {
		t.Error("there are two faults")
	}
	if got := d.Keys("lock"); !slices.Equal(got, []string{"protocol", "ttl"}) {
		t.Errorf("keys of lock: %v", got)
	}
	if got := clone.String(); got != parsed(t, text).String() {
		t.Errorf("the clone has changed too:\n%s", got)
	}
	d.Remove("faults.1")
	d.Remove("faults.1")
	if got := d.List("faults"); got != nil {
		t.Errorf("faults left: %v", got)
	}
}

func TestListsThatAreTooLongForALineAreSpread(t *testing.T) {
	const text = `name: x
mix:
  pause: 1s..2s
  without:
    - crash losing everything of servers, restart within 10s
    - crash losing unsynced writes of servers, restart within 10s
    - jump of servers
`
	if got := parsed(t, text).String(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
}

func TestEmptyMappingsAndListsArePrinted(t *testing.T) {
	const text = "name: x\nwork: {locks: []}\nfaults: []\nnetwork: {links: {}}\noverrides: {}\nexpect: {}\n"
	if got := parsed(t, text).String(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
}

func TestScalarsAreQuotedWhereTheyMust(t *testing.T) {
	for _, s := range []string{"", " a", "a: b", "a #b", "{a", "a, b", "null", "~", ">= 9s", "- a", "a:", `a"b`, `a\b`,
		`delay the "return redis.call('get', …" of client-1 to redis-1 by 1s`, `a "b\" 'c'`, `"a: b" \c`,
		`delay the "a: b" of c`, `\a`, `a: "b"`, `it's "b"`, `it's: "b"`, `"`, "a\nb", "1", "on", "über"} {
		d := parsed(t, "name: x\nlock: {a: b}\n")
		d.Set("name", s)
		d.Set("lock.a", s)
		back := parsed(t, d.String())
		for _, path := range []string{"name", "lock.a"} {
			if got, ok := back.Get(path); !ok || got != s {
				t.Errorf("%s: %q was read back as %q from\n%s", path, s, got, d)
			}
		}
	}
}

// TestACommandWithQuotesIsWrittenWithoutEscapes checks that a fault appears in the file exactly as it is written in a
// plan.
func TestACommandWithQuotesIsWrittenWithoutEscapes(t *testing.T) {
	for _, s := range []string{`delay its "EVAL redis.call("GET", KEYS[1]) == 'x'" to redis-1 by 7s`,
		`delay its "EVAL return {err = "ERR: no"}" to redis-1 by 7s`, `delay its "EVAL return "#"" to redis-1 by 7s`} {
		if got := Quoted(s, false); !strings.Contains(got, s) {
			t.Errorf("%s is written %s", s, got)
		}
	}
}

func TestLongProseIsFolded(t *testing.T) {
	const summary = "With one fault two clients hold the lock: the first has outlived its lease # and does not know, " +
		"the second was granted it in good faith, as - if anyone asked - it should have been."
	d := parsed(t, "name: x\n")
	d.Set("summary", summary)
	const want = "name: x\n" +
		"summary: >-\n" +
		"  With one fault two clients hold the lock: the first has outlived its lease # and does not know, the " +
		"second\n  was granted it in good faith, as - if anyone asked - it should have been.\n"
	if d.String() != want {
		t.Errorf("got\n%s\nwant\n%s", d, want)
	}
	if got, _ := parsed(t, d.String()).Get("summary"); got != summary {
		t.Errorf("read back as %q", got)
	}
	for _, odd := range []string{strings.Repeat("two  spaces ", 20), strings.Repeat("x", 200)} {
		d.Set("summary", odd)
		if got, _ := parsed(t, d.String()).Get("summary"); got != odd {
			t.Errorf("%q was read back as %q from\n%s", odd, got, d)
		}
	}
}
