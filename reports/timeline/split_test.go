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

// goroutines returns a history of one service in which n goroutines acquire the lock at the same time, between 1 µs and
// 9 µs.
func goroutines(n int) *history.History {
	h := &history.History{}
	add := func(at int, of history.Type, f history.F, i int) {
		h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: history.Time(at*1000 + i),
			Process: "orders@vm-7", Type: of, F: f, Lock: "l",
			Attempt: history.Attempt(fmt.Sprintf("orders@vm-7/%d", i))})
	}
	for i := range n {
		add(1, history.Invoke, history.Acquire, i+1)
	}
	for i := range n {
		add(2, history.OK, history.Acquire, n-i) // the last to request the lock is the first to enter
	}
	for i := range n {
		add(9, history.Invoke, history.Release, i+1)
	}
	return h
}

// TestGoroutinesOfOneServiceAreSeenApart checks that each goroutine has its own lane, with its own name, in the text
// and in the picture. The lane shows the goroutine's wait and section, and different goroutines' times differ.
func TestGoroutinesOfOneServiceAreSeenApart(t *testing.T) {
	l := Arrange(goroutines(3), nil)
	l.ToTheMicrosecond()
	if len(l.clients) != 3 {
		t.Fatalf("%d lanes", len(l.clients))
	}
	for i := range l.clients {
		lane := &l.clients[i]
		name := history.Attempt(fmt.Sprintf("orders@vm-7/%d", i+1))
		title := trace.Title{Lock: "l", Attempt: name}
		if lane.Name != fmt.Sprintf("orders@vm-7 (%d)", i+1) || len(lane.Waits) != 1 || len(lane.Sections) != 1 ||
			lane.Waits[0].Attempt != name || lane.Sections[0].Attempt != name || l.number(title) != i {
			t.Errorf("lane %d: %+v", i, lane)
		}
	}
	var words bytes.Buffer
	p := text.New(&words, 100, false)
	l.draw(p)
	c := l.chart()
	if len(c.Rows) != 3 {
		t.Errorf("the picture has the lanes %+v", c.Rows)
	}
	for i := range 3 {
		lane, attempt := fmt.Sprintf("orders@vm-7 (%d)", i+1), fmt.Sprintf("orders@vm-7/%d acquires", i+1)
		if !strings.Contains(words.String(), lane) || !strings.Contains(words.String(), attempt) ||
			c.Rows[i].Name != lane {
			t.Errorf("%s or %s is missing:\n%s", lane, attempt, words.String())
		}
	}
	if !strings.Contains(words.String(), "0.000002") || strings.Contains(words.String(), "  0.000 ") {
		t.Errorf("times are not to the microsecond:\n%s", words.String())
	}
}

// TestWhoDoesOneThingAtATimeHasOneLane checks that a client has a single lane if it makes one attempt after another, or
// if it holds two locks.
func TestWhoDoesOneThingAtATimeHasOneLane(t *testing.T) {
	h := goroutines(1)
	for _, e := range goroutines(1).Events {
		e.Time += 20_000
		e.Attempt = "orders@vm-7/2"
		h.Events = append(h.Events, e)
	}
	other := h.Events[0]
	other.Lock, other.Attempt, other.Time = "other", "orders@vm-7/3", 30_000
	h.Events = append(h.Events[:5:5], append([]history.Event{other}, h.Events[5:]...)...)
	if l := Arrange(h, nil); len(l.clients) != 1 || l.clients[0].Name != "orders@vm-7" ||
		l.hasOwnName(trace.Title{Lock: "l", Attempt: "orders@vm-7/1"}) {
		t.Errorf("%d lanes: %+v", len(l.clients), l.clients)
	}
}

// TestManyLanesAreCutToThoseOfTheWitness checks that a picture has at most mostLanes lanes, that these include the
// witness's lanes, and that the picture says how many lanes there are in all.
func TestManyLanesAreCutToThoseOfTheWitness(t *testing.T) {
	l := Arrange(goroutines(900), nil)
	last := len(l.history.Events) - 1
	l.witness[last] = true
	c := l.chart()
	if n := len(c.Rows); n != mostLanes || c.Rows[n-1].Name != "orders@vm-7 (900)" || c.numbers[last] != 1 ||
		!strings.Contains(strings.Join(c.Notes, "\n"), "Only 48 of 900 client lanes are drawn.") {
		t.Errorf("%d lanes, the last %+v; %v", n, c.Rows[n-1], c.Notes)
	}
	if y2 := c.Pins[0].Y2; y2 < c.Rows[mostLanes-1].Y {
		t.Errorf("the witness's number leads to %d, above its lane", y2)
	}
}

// TestTheLanesOfTheWitnessAreShownFirst checks that the lane with an event from the witness comes before the client's
// other lanes. This must be true even if the event, such as a request for a lock, does not name its attempt.
func TestTheLanesOfTheWitnessAreShownFirst(t *testing.T) {
	tried := map[string]int{} // number of events tried, by their kind and whether they name their attempt
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		h := manyAtOnce(r)
		l := Arrange(h, nil)
		for pos := range h.Events {
			var rows []row
			for other := range h.Events {
				if other == pos || r.IntN(3) == 0 {
					rows = append(rows, row{pos: other, proof: other == pos})
				}
			}
			want := laneShowing(l, pos)
			if want < 0 {
				continue
			}
			e := &h.Events[pos]
			tried[fmt.Sprint(e.F, e.Type, e.Attempt != "", want > l.clientOf[e.Process])]++
			if all, part := involved(l, rows); all[0] != want || part[0] != want {
				t.Fatalf("seed %d: %s of %s at %d is shown in lane %d, and first come %v and %v", seed, e.F, e.Process,
					pos, want, all, part)
			}
		}
	}
	for _, f := range []history.F{history.Acquire, history.Release} {
		for _, of := range []history.Type{history.Invoke, history.OK} {
			for _, named := range []bool{false, true} {
				kind := fmt.Sprint(f, of, named, true)
				if ends := f == history.Release && of == history.OK; tried[kind] == 0 && !ends {
					t.Errorf("no %s was the witness: %v", kind, tried)
				}
			}
		}
	}
}

// manyAtOnce returns a history with two clients that each do several things at once. Only some events name their
// attempt.
func manyAtOnce(r *rand.Rand) *history.History {
	h := &history.History{}
	add := func(of history.Type, f history.F, p, a string) {
		if r.IntN(2) == 0 {
			a = ""
		}
		h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: history.Time(len(h.Events)) * 1000,
			Process: history.Process(p), Type: of, F: f, Lock: "l", Attempt: history.Attempt(a)})
	}
	steps := map[string]int{}
	for range 60 {
		p := fmt.Sprint("client-", r.IntN(2)+1)
		a := fmt.Sprint(p, "/", r.IntN(3))
		switch steps[a]++; steps[a] {
		case 1:
			add(history.Invoke, history.Acquire, p, a)
		case 2:
			add(history.OK, history.Acquire, p, a)
		case 3:
			add(history.Invoke, history.Release, p, a)
			delete(steps, a)
		}
	}
	return h
}

// laneShowing returns the index of the lane in which something begins or ends at a position, or -1 if there is none.
func laneShowing(l *Lanes, pos int) int {
	at := func(s span) bool { return s.First == pos || s.Last == pos }
	return slices.IndexFunc(l.clients, func(c clientLane) bool {
		return slices.ContainsFunc(c.Waits, func(w wait) bool { return at(w.span) }) ||
			slices.ContainsFunc(c.Sections, func(s section) bool { return at(s.span) })
	})
}
