package timeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// namesakes returns a history of two clients, x and y. Both call their attempts "1", x with lock a and y with lock b,
// and x has two attempts at once with its lock.
func namesakes() *history.History {
	h := &history.History{}
	add := func(p history.Process, f history.F, typ history.Type, lock history.Lock, of history.Attempt) {
		e := history.Event{Index: len(h.Events), Time: history.Time(len(h.Events)+1) * 1e6, Process: p, F: f, Type: typ,
			Lock: lock, Attempt: of}
		if f == history.KeySet || f == history.Apply {
			e.Attempt, e.Of = "", of
		}
		if f == history.Apply {
			e.Op = history.Write
		}
		h.Events = append(h.Events, e)
	}
	for _, of := range []history.Attempt{"1", "2"} {
		add("x", history.Acquire, history.Invoke, "a", of)
	}
	for _, of := range []history.Attempt{"2", "1"} {
		add("x", history.Acquire, history.OK, "a", of)
	}
	add("y", history.Acquire, history.Invoke, "b", "1")
	add("y", history.Acquire, history.OK, "b", "1")
	add("redis-1", history.KeySet, history.OK, "a", "1")
	add("redis-1", history.KeySet, history.OK, "b", "1")
	add("x", history.Write, history.Invoke, "a", "1")
	add("y", history.Write, history.Invoke, "b", "1")
	add(history.Resource, history.Apply, history.OK, "a", "1")
	add(history.Resource, history.Apply, history.OK, "b", "1")
	add("y", history.Release, history.Invoke, "b", "1")
	add("x", history.Release, history.Invoke, "a", "1")
	return h
}

// TestAttemptsOfDifferentLocksMayHaveTheSameName checks that keys, effects, calls and words are those of the client
// that made the attempt with this lock.
func TestAttemptsOfDifferentLocksMayHaveTheSameName(t *testing.T) {
	l := Arrange(namesakes(), nil)
	if got := strings.Join(l.names(), ", "); got != "x (1), x (2), y, redis-1" {
		t.Fatalf("the lanes are %s", got)
	}
	for _, c := range []struct {
		lock history.Lock
		of   history.Process
		lane int
		own  bool
	}{{"a", "x", 0, true}, {"b", "y", 2, false}, {"elsewhere", "", -1, false}} {
		title := trace.Title{Lock: c.lock, Attempt: "1"}
		if l.holder(title) != c.of || l.number(title) != c.lane || l.hasOwnName(title) != c.own {
			t.Errorf("attempt 1 with lock %s is of %q, in lane %d, shown under its own name: %t", c.lock,
				l.holder(title), l.number(title), l.hasOwnName(title))
		}
	}
	if got := l.holder(trace.Title{Lock: "elsewhere", Attempt: "2"}); got != "x" {
		t.Errorf("attempt 2, which only x has made, is of %q", got)
	}
	for i, want := range []history.Process{"x", "y"} {
		if f := l.effects[i]; f.Client != want || l.history.Events[f.Sent].Process != want {
			t.Errorf("effect %d of %s is tied to event %d of %q", i, want, f.Sent, f.Client)
		}
	}
	var b bytes.Buffer
	l.draw(text.New(&b, 120, false))
	for _, want := range []string{"resource accepts 1's write", "resource accepts y's write",
		"y leaves and releases b"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, b.String())
		}
	}
}

// TestEffectsAreTiedToTheCallsThatSentThem compares the ties with those of a simulated network, which delays and loses
// requests and replies. A client gives up waiting for a reply and makes its next call while the request is on its way.
func TestEffectsAreTiedToTheCallsThatSentThem(t *testing.T) {
	delayed, lost := 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		h, truth := slowNetwork(r)
		for _, f := range Arrange(h, nil).effects {
			want := truth[f.Pos]
			// The value of a read whose reply did not arrive is not in the client's events.
			read := f.Op == history.Read && h.Events[want].Task == 0
			switch {
			case read && (f.Sent < 0 || f.Sent > f.Pos):
				t.Errorf("seed %d: the read at %d is tied to event %d", seed, f.Pos, f.Sent)
			case !read && f.Sent != want:
				t.Errorf("seed %d: the %s at %d is tied to event %d, not %d", seed, f.Op, f.Pos, f.Sent, want)
			case read:
				lost++
			case slices.ContainsFunc(h.Events[want+1:f.Pos], func(e history.Event) bool {
				return e.F == f.Op && e.Type == history.Invoke
			}):
				delayed++
			}
		}
	}
	if delayed < 100 || lost < 100 {
		t.Errorf("only %d effects arrived after the next call, and %d reads had no reply", delayed, lost)
	}
}

// slowNetwork returns a history of one attempt that reads and writes over a slow network. truth maps each effect to its
// call. The Task of a read's call is 1 if its reply arrives.
func slowNetwork(r *rand.Rand) (h *history.History, truth map[int]int) {
	h, truth = &history.History{}, map[int]int{}
	add := func(e history.Event) int {
		e.Index, e.Time, e.Lock = len(h.Events), history.Time(len(h.Events)+1)*1e6, "l"
		h.Events = append(h.Events, e)
		return e.Index
	}
	type request struct {
		call  int
		f     history.F
		value string
	}
	var sent []request // on their way
	value := ""
	arrive := func(i int) {
		q := sent[i]
		sent = slices.Delete(sent, i, i+1)
		if q.f == history.Write {
			value = q.value
		}
		at := add(history.Event{Process: history.Resource, F: history.Apply, Type: history.OK, Op: q.f, Of: "c/1",
			Value: value})
		truth[at] = q.call
	}
	add(history.Event{Process: "c", F: history.Acquire, Type: history.OK, Attempt: "c/1"})
	for i := range 12 {
		e := history.Event{Process: "c", F: history.Read, Type: history.Invoke, Attempt: "c/1"}
		if r.IntN(2) == 0 {
			e.F, e.Value = history.Write, fmt.Sprint("v", i)
		}
		q := request{add(e), e.F, e.Value}
		sent = append(sent, q)
		for len(sent) > 1 && r.IntN(2) == 0 {
			arrive(r.IntN(len(sent) - 1))
		}
		switch r.IntN(3) {
		case 0: // the reply arrives
			arrive(len(sent) - 1)
			e.Type = history.OK
			if e.F == history.Read {
				e.Value, h.Events[q.call].Task = value, 1
			}
		case 1: // the client stops waiting
			e.Type, e.Why = history.Info, history.NoReply
		case 2: // and the request is lost
			sent = sent[:len(sent)-1]
			e.Type, e.Why = history.Info, history.NoReply
		}
		add(e)
	}
	return h, truth
}
