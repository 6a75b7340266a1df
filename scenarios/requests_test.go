package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

const (
	compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	deleteAnyway     = `return redis.call("del", KEYS[1])`
	prefixAndDelete  = `if string.sub(redis.call("get",KEYS[1]),1,#ARGV[1]) == ARGV[1] then redis.call("del",KEYS[1]) end`
	fieldAndDelete   = `if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end redis.call('del', KEYS[1])`
	setByScript      = `return redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1])`
	setByName        = `local v = ARGV[2] return redis.call('SET', KEYS[1], v, 'NX', 'PX', ARGV[1])`
	setUntil         = `local t = ARGV[1] return redis.call('set', KEYS[1], t, 'NX', 'PXAT', ARGV[2])`
	compareAndExpire = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) end`
)

// Each line in the table is a request: "client/attempt request". A colon after the attempt means the client's second
// connection.
func TestWhatRequestsShow(t *testing.T) {
	const taken = "a/1 SET lock v1 NX PX 8000"
	for _, test := range []struct {
		name     string
		requests []string
		applied  []history.Measure
		absent   []history.Measure
		lapses   []history.Lapse
	}{
		{name: "nothing"},
		{name: "another key", requests: []string{"a/1 SET other v1 PX 8000", "a/1 DEL other"}},
		{name: "the document's lock", requests: []string{taken, "b/1 SET lock v2 NX PX 8000", "a/1 EVAL " +
			compareAndDelete + " 1 lock v1"},
			applied: []history.Measure{history.Expiry, history.OwnerCheck, history.OwnValue, history.RelativeExpiry},
			absent:  []history.Measure{history.WaitForReplicas}},
		{name: "one attempt says nothing of the values of others", requests: []string{taken},
			applied: []history.Measure{history.Expiry, history.RelativeExpiry},
			absent:  []history.Measure{history.WaitForReplicas}},
		{name: "the same value for two clients", requests: []string{"a/1 SETNX lock x", "b/1 SETNX lock x"},
			absent: []history.Measure{history.Expiry, history.OwnValue, history.WaitForReplicas}},
		{name: "the same value for two attempts", requests: []string{taken, "a/2 SET lock v1 NX PX 8000"},
			applied: []history.Measure{history.Expiry, history.RelativeExpiry},
			absent:  []history.Measure{history.OwnValue, history.WaitForReplicas}},
		{name: "the same value for two tries", requests: []string{taken, taken},
			applied: []history.Measure{history.Expiry, history.RelativeExpiry},
			absent:  []history.Measure{history.WaitForReplicas}},
		{name: "an expiry by the client's clock", requests: []string{"a/1 SET lock v1 NX PXAT 1767225600000"},
			applied: []history.Measure{history.Expiry},
			absent:  []history.Measure{history.RelativeExpiry, history.WaitForReplicas}},
		{name: "an expiry set afterwards", requests: []string{"a/1 SET lock v1 NX", "a/1 PEXPIRE lock 8000"},
			applied: []history.Measure{history.Renewal},
			absent:  []history.Measure{history.Expiry, history.WaitForReplicas}},
		{name: "WAIT, obeyed or not", requests: []string{taken, "a/1 WAIT 1 100", taken},
			applied: []history.Measure{history.Expiry, history.RelativeExpiry}},
		{name: "GET, then DEL", requests: []string{"a/1 GET lock", "a/1 DEL lock"},
			absent: []history.Measure{history.OwnerCheck}},
		{name: "WATCH, GET, MULTI, DEL, EXEC", requests: []string{"a/1 WATCH lock", "a/1 GET lock", "a/1 MULTI",
			"a/1 UNLINK lock", "a/1 EXEC"}, applied: []history.Measure{history.OwnerCheck}},
		{name: "GET, WATCH, MULTI, DEL, EXEC", requests: []string{"a/1 GET lock", "a/1 WATCH lock", "a/1 MULTI",
			"a/1 DEL lock", "a/1 EXEC"}, absent: []history.Measure{history.OwnerCheck}},
		{name: "WATCH, MULTI, GET, DEL, EXEC", requests: []string{"a/1 WATCH lock", "a/1 MULTI", "a/1 GET lock",
			"a/1 DEL lock", "a/1 EXEC"}, absent: []history.Measure{history.OwnerCheck}},
		{name: "WATCH on another connection", requests: []string{"a/1:2 WATCH lock", "a/1:2 GET lock", "a/1 MULTI",
			"a/1 DEL lock", "a/1 EXEC"}, absent: []history.Measure{history.OwnerCheck}},
		{name: "DELEX IFEQ", requests: []string{"a/1 DELEX lock IFEQ v1"},
			applied: []history.Measure{history.OwnerCheck}},
		{name: "DELEX", requests: []string{"a/1 DELEX lock"}, absent: []history.Measure{history.OwnerCheck}},
		{name: "CAD", requests: []string{"a/1 CAD lock v1"}, applied: []history.Measure{history.OwnerCheck}},
		{name: "one careless path", requests: []string{"a/1 CAD lock v1", "a/1 DEL lock", "a/1 CAD lock v1"},
			absent: []history.Measure{history.OwnerCheck}},
		{name: "a script that deletes anyway", requests: []string{"a/1 EVAL " + deleteAnyway + " 1 lock v1"},
			absent: []history.Measure{history.OwnerCheck}},
		{name: "a script that compares a prefix", requests: []string{"a/1 EVAL " + prefixAndDelete + " 1 lock v1"},
			lapses: []history.Lapse{history.PartOfOwner}},
		{name: "a script that looks for a field", requests: []string{"a/1 EVAL " + fieldAndDelete + " 1 lock 0 v1"},
			applied: []history.Measure{history.OwnerCheck}},
		{name: "a script that nobody has sent", requests: []string{"a/1 EVALSHA 0a0b 1 lock v1", "a/1 CAD lock v1"}},
		{name: "a script that sets a value of unknown origin", requests: []string{
			"a/1 EVAL " + setByName + " 1 lock 8000 v1", "b/1 EVAL " + setByName + " 1 lock 8000 v2",
			"b/2 EVAL " + setByName + " 1 lock 8000 v3"},
			applied: []history.Measure{history.Expiry, history.RelativeExpiry},
			absent:  []history.Measure{history.WaitForReplicas}},
		{name: "a script that sets", requests: []string{"a/1 EVAL " + setByScript + " 1 lock 8000 v1",
			"b/1 EVAL " + setByScript + " 1 lock 8000 v2"},
			applied: []history.Measure{history.Expiry, history.OwnValue, history.RelativeExpiry},
			absent:  []history.Measure{history.WaitForReplicas}},
		{name: "a script whose value is not known", requests: []string{"a/1 EVAL " + setUntil + " 1 lock x 1767225600",
			"b/1 EVAL " + setUntil + " 1 lock x 1767225600"}, applied: []history.Measure{history.Expiry},
			absent: []history.Measure{history.RelativeExpiry, history.WaitForReplicas}},
		{name: "a script that prolongs", requests: []string{"a/1 EVAL " + compareAndExpire + " 1 lock v1 8000"},
			applied: []history.Measure{history.Renewal, history.RelativeExpiry}},
	} {
		r := newRequestReader(func(key string) bool { return key == "lock" })
		for _, line := range test.requests {
			r.read(requestOf(line))
		}
		var applied, absent []history.Measure
		for m, shown := range r.shown {
			switch shown {
			case shownApplied:
				applied = append(applied, m)
			case shownAbsent:
				absent = append(absent, m)
			}
		}
		slices.Sort(applied)
		slices.Sort(absent)
		slices.Sort(test.applied)
		if got, want := fmt.Sprint(applied, absent, r.lapses),
			fmt.Sprint(test.applied, test.absent, test.lapses); got != want {
			t.Errorf("%s: applied, absent, lapses %s, want %s", test.name, got, want)
		}
	}
}

func requestOf(line string) request {
	who, rest, _ := strings.Cut(line, " ")
	q := request{Conn: 1}
	attempt, conn, _ := strings.Cut(who, ":")
	if conn != "" {
		q.Conn = 2
	}
	q.Attempt = history.Attempt(attempt)
	if script, is := strings.CutPrefix(rest, "EVAL "); is {
		at := strings.LastIndex(script, " 1 lock")
		q.Args, rest = []string{"EVAL", script[:at]}, script[at:]
	}
	q.Args = append(q.Args, strings.Fields(rest)...)
	return q
}

// Once any client has sent a script's text, the script is recognized by its hash.
func TestAScriptIsKnownByItsHash(t *testing.T) {
	r := newRequestReader(func(key string) bool { return key == "lock" })
	r.read(request{Conn: 1, Args: []string{"SCRIPT", "LOAD", compareAndDelete}})
	var hash string
	for hash = range r.scripts {
	}
	r.read(request{Conn: 2, Args: []string{"EVALSHA", strings.ToUpper(hash), "1", "lock", "v1"}})
	if got := r.shown[history.OwnerCheck]; got != shownApplied {
		t.Errorf("%v", got)
	}
}

func TestTheLongestTimeWithoutARequestBeginsWhenTheClientFirstAsks(t *testing.T) {
	asks := func(client history.Process, at history.Time) history.Event {
		return history.Event{Type: history.Invoke, F: history.Acquire, Process: client, Time: at}
	}
	events := []history.Event{asks("a", 0), asks("late", 20), asks("silent", 20), asks("late", 45)}
	r := newRequestReader(func(string) bool { return true })
	for _, reached := range []struct {
		client history.Process
		at     history.Time
	}{{"a", 7}, {"a", 9}, {"late", 22}, {"late", 30}, {"late", 33}, {"a", 12}} {
		r.reached(reached.client, reached.at)
	}
	want := map[history.Process]history.Span{"a": {From: 0, To: 7}, "late": {From: 22, To: 30}}
	if got := r.quiet(events); !maps.Equal(got, want) {
		t.Errorf("the longest times without a request are %v, want %v", got, want)
	}
}
