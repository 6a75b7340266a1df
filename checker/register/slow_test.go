package register

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// asked is an operation in the form that the slow check uses: on one register, by a sequential process.
type asked struct {
	f              history.F
	old, value     string
	call, returned int
	sure           bool // whether the operation certainly took effect
}

// slowCheck is a slow check that follows the definition. The law holds if the operations have a possible order,
// starting from nil. A possible order contains every operation that took effect, and any subset of the operations that
// may have taken effect. Each operation lies between its call and its return, and each read returns the value that it
// found. The law is violated if no initial value makes an order possible, even when a read that returned nil is allowed
// to match any value. Otherwise the law is undecided.
func slowCheck(events []history.Event) checker.Outcome {
	all, values, exercised := operations(events)
	if !exercised {
		return checker.Unchecked
	}
	if inSomeOrder("nil", all, false) {
		return checker.Holds
	}
	if slices.ContainsFunc(values, func(first string) bool { return inSomeOrder(first, all, true) }) {
		return checker.Undecided
	}
	return checker.Violated
}

// operations returns the operations that took effect or may have taken effect, the values that were read or written,
// and one more value. exercised reports whether anything was read.
func operations(events []history.Event) (all []asked, values []string, exercised bool) {
	under := map[history.Process]asked{}
	for i, e := range events {
		o := under[e.Process]
		if e.Type == history.Invoke {
			o = asked{f: e.F, value: e.Value, call: i, returned: len(events)}
			if e.F == history.CAS {
				o.old, o.value = e.Value[1:2], e.Value[3:4]
			}
			under[e.Process] = o
			continue
		}
		delete(under, e.Process)
		switch e.Type {
		case history.OK:
			if o.returned, o.sure = i, true; e.F == history.Read {
				o.value = e.Value
			}
			exercised = exercised || e.F != history.Write
			all = append(all, o)
		case history.Info:
			all = append(all, o)
		}
	}
	for _, o := range under {
		all = append(all, o)
	}
	all = slices.DeleteFunc(all, func(o asked) bool { return o.f == history.Read && !o.sure })
	values = []string{"nil", "another"}
	for i := range all {
		if all[i].value == "" {
			all[i].value = "nil"
		}
		values = append(values, all[i].value, all[i].old)
	}
	return all, values, exercised
}

// inSomeOrder reports whether the remaining operations can be ordered. It recursively tries every operation that may
// come next.
func inSomeOrder(value string, left []asked, lenient bool) bool {
	if !slices.ContainsFunc(left, func(o asked) bool { return o.sure }) {
		return true
	}
	for i, o := range left {
		if slices.ContainsFunc(left, func(other asked) bool { return other.returned < o.call }) {
			continue
		}
		after := o.value
		switch {
		case o.f == history.Read && (o.value == value || lenient && o.value == "nil"):
			after = value
		case o.f == history.Read, o.f == history.CAS && o.old != value:
			continue
		}
		if inSomeOrder(after, slices.Delete(slices.Clone(left), i, i+1), lenient) {
			return true
		}
	}
	return false
}

// choices returns the events that may come next: what each process may do.
func choices(events []history.Event, processes int) (next []history.Event) {
	for p := range processes {
		process := history.Process(fmt.Sprint("process-", p))
		under, busy := history.Event{}, false
		for _, e := range events {
			if e.Process == process {
				under, busy = e, e.Type == history.Invoke
			}
		}
		add := func(kind history.Type, f history.F, value string) {
			next = append(next, history.Event{Index: len(events), Time: history.Time(len(events)), Process: process,
				Type: kind, F: f, Value: value, Lock: "lock"})
		}
		switch {
		case !busy:
			add(history.Invoke, history.Read, "")
			add(history.Invoke, history.Write, "1")
			add(history.Invoke, history.CAS, "[1 2]")
			add(history.Invoke, history.CAS, "[2 1]")
		case under.F == history.Read:
			for _, value := range []string{"", "1", "2"} {
				add(history.OK, history.Read, value)
			}
		default:
			add(history.OK, under.F, under.Value)
			add(history.Fail, under.F, under.Value)
			add(history.Info, under.F, ":timed-out")
		}
		if !busy && under.Type == 0 {
			break // processes that have done nothing yet are interchangeable
		}
	}
	return next
}

func judged(t *testing.T, h *history.History) checker.Finding {
	t.Helper()
	v, of := Check(h)
	if !of {
		t.Fatal("not of registers")
	}
	return v.Of(checker.Linearizability)
}

// agree checks that Check and slowCheck reach the same outcome for the events. If Check reports a violation, both must
// also agree on the events up to that violation.
func agree(t *testing.T, seen map[checker.Outcome]int, events []history.Event) {
	t.Helper()
	h := &history.History{Events: events}
	want := slowCheck(events)
	f := judged(t, h)
	if seen[f.Outcome]++; f.Outcome != want {
		t.Fatalf("%s: %v (%s), and read slowly %v", format(events), f.Outcome, f.Explanation, want)
	}
	if f.Outcome != checker.Violated {
		return
	}
	before, until := tookEffect(events, f.At), tookEffect(events, f.At+1)
	if slowCheck(before) == checker.Violated || slowCheck(until) != checker.Violated {
		t.Fatalf("%s: violated at %d (%s), and read slowly not there", format(events), f.At, f.Explanation)
	}
	if last := &until[len(until)-1]; last.F == history.Read {
		var could []string
		for _, value := range []string{"1", "2", "nil"} {
			last.Value = value
			all, values, _ := operations(until)
			if slices.ContainsFunc(values, func(first string) bool { return inSomeOrder(first, all, value != "nil") }) {
				could = append(could, value)
			}
		}
		if says := " It could have found " + strings.Join(could, " or ") + "."; len(could) > 0 &&
			!strings.HasSuffix(f.Explanation, says) {
			t.Fatalf("%s: %s\nread slowly: %s", format(events), f.Explanation, says)
		}
	}
}

// tookEffect returns the events before position end, except those for operations that turned out to have failed.
func tookEffect(events []history.Event, end int) (left []history.Event) {
	for i, e := range events[:end] {
		returned := i + slices.IndexFunc(events[i:], func(o history.Event) bool {
			return o.Process == e.Process && o.Type != history.Invoke
		})
		if returned < i || events[returned].Type != history.Fail {
			left = append(left, e)
		}
	}
	return left
}

func format(events []history.Event) (text string) {
	for _, e := range events {
		text += fmt.Sprintf("\n%d %s %s %s %s", e.Index, e.Process, e.Type, e.F, e.Value)
	}
	return text
}

// TestEverySmallHistoryIsJudgedAsDefined checks all histories with three processes and five events (six events in a
// full run).
func TestEverySmallHistoryIsJudgedAsDefined(t *testing.T) {
	length := testkit.Size(5, 5, 6)
	seen := map[checker.Outcome]int{}
	var grow func(events []history.Event)
	grow = func(events []history.Event) {
		if len(events) == length {
			agree(t, seen, events)
			return
		}
		for _, e := range choices(events, 3) {
			grow(append(events[:len(events):len(events)], e))
		}
	}
	grow(nil)
	if seen[checker.Holds] < 1000 || seen[checker.Violated] < 500 || seen[checker.Undecided] < 1000 {
		t.Errorf("%v", seen)
	}
}

// TestRandomHistoriesAreJudgedAsDefined checks random histories with three processes and fourteen events.
func TestRandomHistoriesAreJudgedAsDefined(t *testing.T) {
	rounds := testkit.Size(500, 2000, 200_000)
	seen := map[checker.Outcome]int{}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 14))
		var events []history.Event
		for range 14 {
			next := choices(events, 3)
			events = append(events, next[r.IntN(len(next))])
		}
		agree(t, seen, events)
	}
	if seen[checker.Holds] < 100 || seen[checker.Violated] < 100 || seen[checker.Undecided] < 100 {
		t.Errorf("%v", seen)
	}
}
