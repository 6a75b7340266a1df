package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

// picture returns the markup of a story's picture.
func picture(s reporttest.Story) string {
	p := html.NewWriter("", "")
	p.Put(Arrange(s.History, s.Findings).chart().card())
	return p.Body()
}

func TestLongRunIsDrawnAroundItsWitness(t *testing.T) {
	s := reporttest.Long()
	for len(s.History.Events) <= mostEvents { // append the same events again and again, each time an hour later
		for _, e := range s.History.Events[:1000] {
			e.Index = len(s.History.Events)
			e.Time += 3600e9
			s.History.Events = append(s.History.Events, e)
		}
	}
	got := picture(s)
	if !strings.Contains(got, fmt.Sprintf("%d of %d events are drawn", mostEvents, len(s.History.Events))) {
		t.Error("the page does not say what it leaves out")
	}
	witness := Arrange(s.History, s.Findings).witness
	if len(witness) == 0 {
		t.Error("the run has no witness")
	}
	for pos := range witness {
		if !strings.Contains(got, fmt.Sprintf(`id="event-%d"`, pos)) {
			t.Errorf("event %d of the witness is left out", pos)
		}
	}
}

// TestOperationsOfRegistersAreDrawn checks that in a history without locks, each operation is drawn from call to
// return, with its value.
func TestOperationsOfRegistersAreDrawn(t *testing.T) {
	h := &history.History{Header: history.Header{End: 9e6}}
	add := func(at history.Time, p history.Process, kind history.Type, f history.F, register, value string) {
		h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: at, Process: p, Type: kind, F: f,
			Lock: history.Lock(register), Value: value})
	}
	add(1e6, "p", history.Invoke, history.Write, "x", "1")
	add(2e6, "q", history.Invoke, history.Read, "x", "")
	add(3e6, "p", history.Info, history.Write, "x", "1")
	add(4e6, "q", history.OK, history.Read, "x", "7")
	add(5e6, "q", history.Invoke, history.CAS, "x", "[7 8]")
	drawn := func() (boxes []string) {
		for _, s := range Arrange(h, nil).chart().Shapes {
			if s.Kind == "box" && strings.HasPrefix(s.Class, "caption") {
				boxes = append(boxes, fmt.Sprintf("%s %d-%d", s.Label, s.A/1e6, s.B/1e6))
			}
		}
		return boxes
	}
	if got := strings.Join(drawn(), ", "); got != "write 1 1-3, read 7 2-4, cas [7 8] 5-9" {
		t.Error(got)
	}
	add(6e6, "p", history.Invoke, history.Write, "y", "2")
	if got := strings.Join(drawn(), ", "); got != "write x 1 1-3, write y 2 6-9, read x 7 2-4, cas x [7 8] 5-9" {
		t.Error(got)
	}
	described := Arrange(h, nil).describe([]int{0, 1, 3, 4})
	if described[0].Words != `p sends its write of "1" to x` ||
		described[1].Words != "q asks for the value of x" || described[2].Words != `q reads "7" from x` ||
		described[3].Words != `q asks for the compare-and-set "[7 8]" of x` {
		t.Errorf("%+v", described)
	}
	h.Header.Locks = []history.Lock{"x"}
	if got := drawn(); len(got) > 0 {
		t.Errorf("what is done with a lock's resource is drawn as %q", got)
	}
}

// TestFaultLabelsDoNotOverlap checks that the labels of faults that strike at the same time do not overlap, even on a
// narrow page.
func TestFaultLabelsDoNotOverlap(t *testing.T) {
	x := reporttest.NewHistory(2, 5)
	x.Acquire(0.001, 0.012, 9, "client-1/1", 0, 1, 2, 3)
	for i := range 12 {
		x.At(1+0.01*float64(i)).Fault(1,
			fmt.Sprintf("crash redis-%d losing everything at 1.%02ds, restart after 500ms", i%5+1, i), "redis-1")
	}
	x.At(20).Client("client-1", "release", 1, "client-1/1")
	c := Arrange(&x.H, nil).chart()
	type label struct{ y, from, to float64 }
	var seen []label
	for _, s := range c.Shapes {
		if s.Kind != "label" {
			continue
		}
		var at float64
		fmt.Sscan(s.X, &at)
		l := label{float64(s.Y), at, at + labelWidth(s.Label)}
		for _, o := range seen {
			if o.y == l.y && l.from < o.to && o.from < l.to {
				t.Errorf("labels overlap: %v and %v", o, l)
			}
		}
		seen = append(seen, l)
	}
	if len(seen) != 12 {
		t.Errorf("%d labels, want 12", len(seen))
	}
}

// TestWitnessNumbersDoNotOverlap checks that in short runs, the witness events' numbers do not overlap, even on the
// narrowest page.
func TestWitnessNumbersDoNotOverlap(t *testing.T) {
	pins := 0
	for _, r := range reporttest.Stories[:5] {
		s := r.Make()
		l := Arrange(s.History, s.Findings)
		c := l.chart()
		if len(c.Pins) != len(l.witness) {
			t.Errorf("%s: %d numbers for %d events", r.Name, len(c.Pins), len(l.witness))
		}
		pins += len(c.Pins)
		for i, a := range c.Pins {
			for _, b := range c.Pins[:i] {
				gap := (c.scale.place(history.Time(a.A)) - c.scale.place(history.Time(b.A))) * narrow
				if a.Y == b.Y && gap < 17 {
					t.Errorf("%s: %d and %d overlap", r.Name, b.Number, a.Number)
				}
			}
		}
	}
	if pins < 5 {
		t.Errorf("only %d numbers", pins)
	}
}
