package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestRecordsSayWhatARequestHasChecked checks that if a request changes another owner's key or member, the record of
// the change shows what the request checked atomically with the change.
func TestRecordsSayWhatARequestHasChecked(t *testing.T) {
	const released = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`
	for _, test := range []struct {
		name, owned string // the owner's commands
		version     Version
		requests    []string // sent by another client; a script's text is in backquotes
		want        string
	}{
		{"a plain SET", "SET k v", Redis7, []string{"SET k w"}, "key-set nothing"},
		{"a SET that is allowed if there is one", "SET k v", Redis7, []string{"SET k w XX"}, "key-set presence"},
		{"a SET that compares", "SET k v", Redis8, []string{"SET k w IFEQ v"}, "key-set value"},
		{"CAS", "SET k v", Tair, []string{"CAS k v w"}, "key-set value"},
		{"CAD", "SET k v", Tair, []string{"CAD k v"}, "key-gone value"},
		{"DELEX with a condition", "SET k v", Redis8, []string{"DELEX k IFEQ v"}, "key-gone value"},
		{"DELEX without", "SET k v", Redis8, []string{"DELEX k"}, "key-gone nothing"},
		{"DEL", "SET k v", Redis7, []string{"DEL k"}, "key-gone nothing"},
		{"GETSET", "SET k v", Redis7, []string{"GETSET k w"}, "key-set nothing"},
		{"EXPIRE", "SET k v", Redis7, []string{"PEXPIRE k 100"}, "key-prolonged nothing"},
		{"EXPIRE with a condition", "SET k v PX 9", Redis7, []string{"PEXPIRE k 100 GT"}, "key-prolonged presence"},
		{"what was read in another request", "SET k v", Redis7, []string{"GET k", "DEL k"}, "key-gone nothing"},

		{"the well-known release", "SET k v", Redis7, []string{"EVAL `" + released + "` 1 k v"}, "key-gone value"},
		{"a script like it", "SET k v", Redis7, []string{"EVAL `local v = redis.call('get', KEYS[1]) " +
			"if v == ARGV[1] then return redis.call('del', KEYS[1]) end` 1 k v"}, "key-gone value"},
		{"a script that looks for a key", "SET k v", Redis7, []string{"EVAL `if redis.call('exists', KEYS[1]) == 1 " +
			"then return redis.call('set', KEYS[1], 'w') end` 1 k"}, "key-set presence"},
		{"a script that looks at nothing", "SET k v", Redis7,
			[]string{"EVAL `return redis.call('del', KEYS[1])` 1 k"}, "key-gone nothing"},
		{"a script that looks at another key", "SET k v", Redis7, []string{"EVAL `redis.call('get', 'other') " +
			"return redis.call('del', KEYS[1])` 1 k"}, "key-gone nothing"},
		{"a script after one that has looked", "SET k v", Redis7, []string{"EVAL `return redis.call('get', 'k')` 1 k",
			"EVAL `return redis.call('del', KEYS[1])` 1 k"}, "key-gone nothing"},
		{"a script that looks after it has acted", "SET k v", Redis7, []string{"EVAL `redis.call('set', 'k', 'w') " +
			"return redis.call('get', 'k')` 1 k"}, "key-set nothing"},

		{"a transaction that watches the key", "SET k v", Redis7, []string{"WATCH k", "GET k", "MULTI", "SET k w",
			"EXEC"}, "key-set value"},
		{"a request that watches without a transaction", "SET k v", Redis7, []string{"WATCH k", "GET k", "SET k w"},
			"key-set watched"},
		{"a deletion that does", "SET k v", Redis7, []string{"WATCH k", "GET k", "DEL k"}, "key-gone watched"},
		{"an extension that does", "SET k v", Redis7, []string{"WATCH k", "GET k", "PEXPIRE k 9"},
			"key-prolonged watched"},
		{"one that watches another key", "SET k v", Redis7, []string{"WATCH other", "DEL k"}, "key-gone nothing"},
		{"one that has ended its watch", "SET k v", Redis7, []string{"WATCH k", "UNWATCH", "DEL k"},
			"key-gone nothing"},
		{"one that watches and checks by itself", "SET k v", Redis7, []string{"WATCH k", "SET k w XX"},
			"key-set presence"},
		{"a transaction that watches another", "SET k v", Redis7, []string{"WATCH other", "MULTI", "SET k w", "EXEC"},
			"key-set nothing"},
		{"a transaction that watches nothing", "SET k v", Redis7, []string{"MULTI", "GET k", "DEL k", "EXEC"},
			"key-gone nothing"},
		{"what follows a transaction", "SET k v", Redis7, []string{"WATCH k", "MULTI", "EXEC", "DEL k"},
			"key-gone nothing"},

		{"a field that is named", "HSET k f v", Redis7, []string{"HDEL k f"}, "key-gone f value"},
		{"a field that is set", "HSET k f v", Redis7, []string{"HSET k f w"}, "key-set f nothing"},
		{"a script that looks at the field", "HSET k f v", Redis7, []string{"EVAL `if redis.call('hexists', 'k', " +
			"'f') == 1 then redis.call('del', 'k') end` 1 k"}, "key-gone f value"},
		{"a script that looks at another field", "HSET k f v", Redis7, []string{
			"EVAL `if redis.call('hexists', 'k', 'mine') == 0 then redis.call('del', 'k') end` 1 k"},
			"key-gone f nothing"},
		{"a script that looks at another field of the owner", "HSET k f v until 9", Redis7, []string{
			"EVAL `if redis.call('hget', 'k', 'until') == '9' then redis.call('hset', 'k', 'f', 'w') end` 1 k"},
			"key-set f value"},
		{"a script that looks at all fields", "HSET k f v", Redis7, []string{"EVAL `if redis.call('hlen', 'k') == 1 " +
			"then redis.call('del', 'k') end` 1 k"}, "key-gone f value"},
		{"a member that is named", "ZADD k 1 m", Redis7, []string{"ZREM k m"}, "key-gone m value"},
		{"a member of a set", "SADD k m", Redis7, []string{"SREM k m"}, "key-gone m value"},

		{"a key by which its owner lives", "SET k v; SET alive 1 PX 100", Redis7, []string{
			"EVAL `if redis.call('exists', 'alive') == 0 then redis.call('del', 'k') end` 1 k"}, "key-gone lapse"},
		{"one that never was", "SET k v", Redis7, []string{
			"EVAL `if redis.call('exists', 'alive') == 0 then redis.call('del', 'k') end` 1 k"}, "key-gone nothing"},
		{"one that was deleted", "SET k v; SET alive 1 PX 100; DEL alive", Redis7, []string{
			"EVAL `if redis.call('exists', 'alive') == 0 then redis.call('del', 'k') end` 1 k"}, "key-gone nothing"},
		{"one that was set again", "SET k v; SET alive 1 PX 100; SET alive 1 PX 9000", Redis7, []string{
			"EVAL `if redis.call('exists', 'alive') == 1 then redis.call('del', 'k') end` 1 k"}, "key-gone nothing"},
		{"one that was looked at in another request", "SET k v; SET alive 1 PX 100", Redis7, []string{
			"EXISTS alive", "DEL k"}, "key-gone nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(Config{Version: test.version})
			for _, command := range strings.Split(test.owned, "; ") {
				m.do("owner/1", command)
			}
			m.sleep(time.Second / 5)
			if strings.Contains(test.owned, "PX 9") && !strings.Contains(test.owned, "PX 9000") {
				m.do("owner/1", test.owned) // the same after the owner's key has expired
			}
			m.events = nil
			for _, r := range test.requests {
				m.args("other/1", words(r)...)
			}
			if got := checks(m.events); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// words splits a request into its words. Text in backquotes is one word.
func words(request string) (list []string) {
	for i, part := range strings.Split(request, "`") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// checks lists the events, each with what its request checked.
func checks(events []history.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, strings.Join(strings.Fields(fmt.Sprint(e.F, " ", e.Member, " ", e.Checked)), " "))
	}
	return strings.Join(all, "; ")
}

// TestOnlyRequestsCheck checks that if a key changes without a request, for example because it expires, the record does
// not contain a check.
func TestOnlyRequestsCheck(t *testing.T) {
	m := newMachine(everysec)
	m.do("a/1", "SET k v PX 100")
	m.do("b/1", "EVAL 0")
	m.events = nil
	m.sleep(time.Second)
	m.jump(-time.Second / 2)
	for _, e := range m.events {
		if e.Checked != history.CheckNotRecorded {
			t.Errorf("%+v", e)
		}
	}
	if len(m.events) == 0 {
		t.Error("nothing happened")
	}
}

// TestAScoreWhoseTimeHasNotComeIsRecorded removes a sorted-set member because of its score. If the score is a time in
// seconds, milliseconds, microseconds or nanoseconds, the record must show whether that time had come by the server's
// clock.
func TestAScoreWhoseTimeHasNotComeIsRecorded(t *testing.T) {
	now := time.Duration(epoch)
	for unit, in := range map[time.Duration]string{time.Second: "s", time.Millisecond: "ms", time.Microsecond: "us",
		time.Nanosecond: "ns"} {
		for score, want := range map[time.Duration]history.Check{now - time.Hour: history.CheckedScore,
			now: history.CheckedScore, now + 2*time.Second: history.CheckedEarlyScore,
			now + time.Hour: history.CheckedEarlyScore} {
			m := newMachine(Config{})
			m.do("client-1/1", fmt.Sprintf("ZADD sem %d a", score/unit))
			m.do("client-2/1", "ZREMRANGEBYSCORE sem -inf +inf")
			if e := m.events[len(m.events)-1]; e.F != history.KeyGone || e.Checked != want {
				t.Errorf("%d %s: %s %s, want %s", score/unit, in, e.F, e.Checked, want)
			}
		}
	}
	for _, score := range []string{"-1", "0", "5", "1000000", "1e300", "inf"} {
		m := newMachine(Config{})
		m.do("client-1/1", "ZADD sem "+score+" a")
		m.do("client-2/1", "ZREMRANGEBYSCORE sem -inf +inf")
		if e := m.events[len(m.events)-1]; e.F != history.KeyGone || e.Checked != history.CheckedScore {
			t.Errorf("%s: %s %s", score, e.F, e.Checked)
		}
	}
}
