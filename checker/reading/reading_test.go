package reading

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// rumor returns a random history of three processes that acquire and release one lock. Each process is sequential.
// Calls have all possible outcomes, and processes may crash.
func rumor(seed uint64, n int) *history.History {
	r := rand.New(rand.NewPCG(seed, 13))
	h := &history.History{}
	var calling [3]history.F
	for i := range n {
		p := r.IntN(3)
		e := history.Event{Index: 3 * i, Time: history.Time(i), Process: history.Process(fmt.Sprint("client-", p+1)),
			Type: history.Invoke, F: history.Acquire, Lock: "orders"}
		switch {
		case r.IntN(20) == 0:
			e.F, e.Type, e.Lock, calling[p] = history.Crashed, history.Info, "", ""
		case calling[p] != "":
			e.F, e.Type, calling[p] = calling[p], []history.Type{history.OK, history.OK, history.Fail,
				history.Info}[r.IntN(4)], ""
		case r.IntN(2) == 0:
			e.F = history.Release
			fallthrough
		default:
			calling[p] = e.F
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// named returns the history with the process's name as the attempt for all its holds. Some locks store such a value,
// which identifies only the client.
func named(h *history.History) *history.History {
	out := &history.History{Header: h.Header}
	for _, e := range h.Events {
		if e.F == history.Release || e.F == history.Acquire && e.Type != history.Invoke {
			e.Attempt = history.Attempt(e.Process)
		}
		out.Events = append(out.Events, e)
	}
	return out
}

func outcomeOf(events []history.Event, i int) history.Type {
	for _, e := range events[i+1:] {
		if e.Process == events[i].Process {
			if e.F != events[i].F {
				return 0
			}
			return e.Type
		}
	}
	return 0
}

// overlapAsWritten is a slow check that follows the definition directly. After each event, it counts how many times
// each process holds the lock. It reports whether two processes ever hold the lock at the same time, or one process
// holds it twice although acquires do not nest. A hold ends when its release is called. Under the strict reading, it
// does not end if the release fails.
func overlapAsWritten(h *history.History) bool {
	for now := range h.Events {
		holders := 0
		for _, p := range []history.Process{"client-1", "client-2", "client-3"} {
			holds := 0
			for i, e := range h.Events[:now+1] {
				switch {
				case e.Process != p:
				case e.F == history.Crashed:
					holds = 0
				case e.F == history.Acquire && e.Type == history.OK:
					holds++
				case e.F == history.Release && e.Type == history.Invoke:
					if h.Header.Reading == history.Strict && outcomeOf(h.Events, i) == history.Fail {
						continue
					}
					holds = max(0, holds-1)
				}
			}
			if h.Header.Reentrant {
				holds = min(holds, 1)
			}
			holders += holds
		}
		if holders > 1 {
			return true
		}
	}
	return false
}

// TestReadingsAreReadAsWritten checks random histories under every Reading and compares the verdicts with those of
// overlapAsWritten.
func TestReadingsAreReadAsWritten(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(testkit.Size(500, 2_000, 6_000)) {
		h := rumor(seed, 4+int(seed%12))
		for _, rec := range []history.Recording{{}, {Reading: history.Strict}, {Reentrant: true},
			{Reading: history.Strict, Reentrant: true}} {
			h.Header.Recording = rec
			before := fmt.Sprint(h.Events)
			read, _ := prepare(h)
			f := checker.Check(read).Of(checker.MutualExclusion)
			want := overlapAsWritten(h)
			if (f.Outcome == checker.Violated) != want {
				t.Fatalf("seed %d, %+v: %v (%s), by definition %t\n%v\n%v", seed, rec, f.Outcome, f.Explanation, want,
					h.Events, read.Events)
			}
			if rec.Reentrant {
				read, _ := prepare(named(h))
				if f := checker.Check(read).Of(checker.MutualExclusion); (f.Outcome == checker.Violated) != want {
					t.Fatalf("seed %d, %+v, with names: %v (%s), by definition %t\n%v\n%v", seed, rec, f.Outcome,
						f.Explanation, want, h.Events, read.Events)
				}
			}
			if fmt.Sprint(h.Events) != before {
				t.Fatalf("seed %d: the history has changed", seed)
			}
			if again, left := prepare(read); rec.Reading == history.Strict && left.Releases > 0 ||
				!reflect.DeepEqual(again.Events, read.Events) {
				t.Fatalf("seed %d, %+v: read twice, it is another", seed, rec)
			}
			seen[fmt.Sprintf("%v %t %t", rec.Reading, rec.Reentrant, want)]++
		}
	}
	for _, what := range []string{"default false", "default true", "strict false", "strict true"} {
		for _, violated := range []string{" true", " false"} {
			if n := seen[what+violated]; n < testkit.Size(40, 160, 500) {
				t.Errorf("%s, violated%s: %d histories only of %v", what, violated, n, seen)
			}
		}
	}
}

// TestNestedLeasesExtendTheOuterOne checks that a nested acquire's lease extends the outer hold.
func TestNestedLeasesExtendTheOuterOne(t *testing.T) {
	h, err := history.Decode(strings.NewReader(`{"header":{"reentrant":true,"end":100}}
{"time":0,"process":"a","type":"invoke","f":"acquire","lock":"l"}
{"time":1,"process":"a","type":"ok","f":"acquire","lock":"l","attempt":"a/1","since":0,"granted":1,"until":10}
{"time":2,"process":"a","type":"invoke","f":"acquire","lock":"l"}
{"time":3,"process":"a","type":"ok","f":"acquire","lock":"l","attempt":"a/1","since":2,"granted":3,"until":30}
{"time":4,"process":"a","type":"invoke","f":"release","lock":"l","attempt":"a/1"}
{"time":5,"process":"a","type":"ok","f":"release","lock":"l","attempt":"a/1"}
{"time":19,"process":"b","type":"invoke","f":"acquire","lock":"l"}
{"time":20,"process":"b","type":"ok","f":"acquire","lock":"l","attempt":"b/1","since":19,"granted":20,"until":40}
`))
	if err != nil {
		t.Fatal(err)
	}
	read, left := prepare(h)
	if left.Nested != 1 || len(read.Events) != 6 {
		t.Errorf("%d nested acquires, %d events left", left.Nested, len(read.Events))
	}
	for _, law := range []checker.Law{checker.LeaseExclusion, checker.MutualExclusion} {
		f := checker.Check(read).Of(law)
		if f.Outcome != checker.Violated {
			t.Errorf("%s: %v: %s", law, f.Outcome, f.Explanation)
		}
	}
	h.Events[3].Grant.Until = 15
	read, _ = prepare(h)
	if f := checker.Check(read).Of(checker.LeaseExclusion); f.Outcome != checker.Holds {
		t.Errorf("%v: %s", f.Outcome, f.Explanation)
	}
}

func TestAKindRefusesWhatItsLocksDoNotHave(t *testing.T) {
	ok := history.Event{Index: 7, Process: "a", Type: history.OK, F: history.Acquire}
	with := func(change func(*history.Event)) history.Event {
		e := ok
		change(&e)
		return e
	}
	for _, c := range []struct {
		e    history.Event
		want string
	}{
		{ok, ""},
		{with(func(e *history.Event) { e.F = history.Release }), ""},
		{with(func(e *history.Event) { e.F, e.Type = history.Crashed, history.Info }), ""},
		{with(func(e *history.Event) { e.Process, e.F = history.Nemesis, "start" }), ""},
		{with(func(e *history.Event) { e.F = history.Extend }),
			"index 7: extend of a: a mutex is only acquired and released"},
		{with(func(e *history.Event) { e.F = history.Write }),
			"index 7: write of a: a mutex is only acquired and released"},
		{with(func(e *history.Event) { e.Token = 1 }),
			"index 7: acquire of a states a lease, a token or a shared hold: a mutex lock has none"},
		{with(func(e *history.Event) { e.Grant = &history.Grant{} }),
			"index 7: acquire of a states a lease, a token or a shared hold: a mutex lock has none"},
		{with(func(e *history.Event) { e.Shared = true }),
			"index 7: acquire of a states a lease, a token or a shared hold: a mutex lock has none"},
	} {
		h := &history.History{Events: []history.Event{c.e}}
		if err := Mutex.take(h); c.want == "" && err != nil || c.want != "" && fmt.Sprint(err) != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if err := AsRecorded.take(h); err != nil || h.Header.Reentrant {
			t.Errorf("as recorded: %v", err)
		}
	}
	fenced := with(func(e *history.Event) { e.Token = 1 })
	h := &history.History{Events: []history.Event{ok, fenced}}
	if err := Reentrant.take(h); err != nil || !h.Header.Reentrant {
		t.Errorf("%v, reentrant %t", err, h.Header.Reentrant)
	}
	h.Events[1].Shared = true
	if err := Reentrant.take(h); fmt.Sprint(err) !=
		"index 7: acquire of a states a lease or a shared hold: a reentrant lock has none" {
		t.Error(err)
	}
	for word, want := range map[string]string{"mutx": `unknown kind of lock "mutx" (did you mean "mutex"?)`,
		"bicycle": `unknown kind of lock "bicycle": it must be mutex or reentrant`} {
		if _, err := KindOf(word); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestWhatRegistersHeldAtFirst checks that an option for the initial value overrides the header. If the history is
// about locks, an initial value is an error.
func TestWhatRegistersHeldAtFirst(t *testing.T) {
	const read, nothing = `{"time":5,"process":"a","type":"ok","f":"read","value":"1"}`,
		`{"time":5,"process":"nemesis","type":"info","f":"kill"}`
	for _, c := range []struct{ header, events, option, want, err string }{
		{`{}`, read, "", "", ""}, {`{"initial":"0"}`, read, "", "0", ""}, {`{"initial":"0"}`, read, "1", "1", ""},
		{`{}`, read, "nil", "nil", ""}, {`{}`, nothing, "nil", "nil", ""},
		{`{}`, asJSON, "nil", "", "h: an initial register value (initial) is given, but the history is about locks"},
		{`{"initial":"0"}`, asJSON, "", "",
			"h: an initial register value (initial) is given, but the history is about locks"},
		{`{}`, strings.Replace(read, "read", "cas", 1), "", "", "h: index 0: cas of a: its value is 1, not [OLD NEW]"},
	} {
		f, err := Read("h", strings.NewReader(`{"header":`+c.header+"}\n"+c.events))
		if err != nil {
			t.Fatal(err)
		}
		h, _, err := Together([]*File{f}, Options{Initial: c.option})
		if err == nil && (c.err != "" || h.Header.Initial != c.want) || err != nil && err.Error() != c.err {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestAReleaseThatFailedIsTheOneOfItsAttempt checks histories in which several calls are in progress. A failed return
// belongs to its own attempt's call, even if other calls do not name an attempt.
func TestAReleaseThatFailedIsTheOneOfItsAttempt(t *testing.T) {
	h := &history.History{}
	h.Header.Reading = history.Strict
	for i, e := range []history.Event{{Type: history.Invoke}, {Type: history.Invoke, Attempt: "client-1/2"},
		{Type: history.Fail, Attempt: "client-1/2"}, {Type: history.OK}} {
		e.Index, e.Time, e.Process, e.F, e.Lock = i, history.Time(i), "client-1", history.Release, "orders"
		h.Events = append(h.Events, e)
	}
	read, left := prepare(h)
	if left.Releases != 1 || len(read.Events) != 2 || read.Events[0].Index != 0 || read.Events[1].Index != 3 {
		t.Errorf("%+v of %+v", left, read.Events)
	}
}
