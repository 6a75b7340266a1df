package timeline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// goroutines is a history of one service, of which so many goroutines each take the lock at once, all from 1 to 9 µs.
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
		add(2, history.OK, history.Acquire, n-i) // the last to ask is the first to enter
	}
	for i := range n {
		add(9, history.Invoke, history.Release, i+1)
	}
	return h
}

// TestGoroutinesOfOneServiceAreSeenApart: in text and picture each has a lane, in which it asks and works, its name,
// and times that differ.
func TestGoroutinesOfOneServiceAreSeenApart(t *testing.T) {
	l := Arrange(goroutines(3), nil)
	l.ToTheMicrosecond()
	if len(l.clients) != 3 {
		t.Fatalf("%d lanes", len(l.clients))
	}
	for i := range l.clients {
		lane := &l.clients[i]
		name := history.Attempt(fmt.Sprintf("orders@vm-7/%d", i+1))
		if lane.Name != fmt.Sprintf("orders@vm-7 (%d)", i+1) || len(lane.Waits) != 1 || len(lane.Sections) != 1 ||
			lane.Waits[0].Attempt != name || lane.Sections[0].Attempt != name || l.number(name) != i {
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

// TestWhoDoesOneThingAtATimeHasOneLane, whatever its attempts are about; so has who holds two locks.
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
	if l := Arrange(h, nil); len(l.clients) != 1 || l.clients[0].Name != "orders@vm-7" || l.apart("orders@vm-7/1") {
		t.Errorf("%d lanes: %+v", len(l.clients), l.clients)
	}
}

// TestManyLanesAreCutToThoseOfTheWitness: a picture has so many lanes at most, those of the witness among them, and
// says how many there are.
func TestManyLanesAreCutToThoseOfTheWitness(t *testing.T) {
	l := Arrange(goroutines(900), nil)
	last := len(l.history.Events) - 1
	l.witness[last] = true
	c := l.chart()
	if n := len(c.Rows); n != mostLanes || c.Rows[n-1].Name != "orders@vm-7 (900)" || c.Number(last) != 1 ||
		!strings.Contains(strings.Join(c.Notes, "\n"), "48 of 900 lanes of clients drawn.") {
		t.Errorf("%d lanes, the last %+v; %v", n, c.Rows[n-1], c.Notes)
	}
	if y2 := c.Pins[0].Y2; y2 < c.Rows[mostLanes-1].Y {
		t.Errorf("the witness's number leads to %d, above its lane", y2)
	}
}
