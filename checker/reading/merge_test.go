package reading

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// part returns a Part with the history that the given lines encode.
func part(t *testing.T, name string, lines ...string) Part {
	t.Helper()
	h, err := history.Decode(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return Part{Name: name, History: h}
}

// took returns the line of a history that records a successful acquire by the process at the given time.
func took(process string, at int) string {
	return fmt.Sprintf(`{"time":%d,"process":%q,"type":"ok","f":"acquire","lock":"l","attempt":"%s/%d","since":%d,`+
		`"granted":%d,"until":%d}`, at, process, process, at, at, at, at+5)
}

// TestMachinesAreMergedByTheirTimes merges three files that start measuring time at different instants. In the second
// file, the clock jumps backward once.
func TestMachinesAreMergedByTheirTimes(t *testing.T) {
	h, err := Merge([]Part{
		part(t, "a", `{"header":{"start":1000,"clock_error":3,"end":50,"ttl":7,"locks":["l"]}}`, took("a", 10),
			took("a", 40)),
		part(t, "b", `{"header":{"start":990,"clock_error":5,"end":70,"ttl":6,"locks":["m","l"]}}`, took("b", 0),
			took("b", 25), took("b", 15), took("b", 60)),
		part(t, "c", `{"header":{"start":1005,"clock_error":1,"end":0}}`, took("c", 6)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range h.Events {
		got = append(got, fmt.Sprintf("%s@%d", e.Process, e.Time))
		if e.Index != i || e.Grant.Granted != e.Time || e.Grant.Until != e.Time+5 {
			t.Errorf("%+v, %+v", e, e.Grant)
		}
	}
	if want := "b@0 a@20 c@21 b@25 b@15 a@50 b@60"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if x := h.Header; x.Start != 990 || x.ClockError != 5 || x.End != 70 || x.TTL != 7 || len(x.Locks) != 2 {
		t.Errorf("%+v", x)
	}
}

// TestAllTimesOfAnEventMove merges two files that start at different instants. Each time in an event must be measured
// from the earlier instant.
func TestAllTimesOfAnEventMove(t *testing.T) {
	key := `{"time":%d,"process":"redis-1","type":"ok","f":"key-%s","lock":"l","of":"a/1","by":"a/1","sent":%d%s}`
	h, err := Merge([]Part{
		part(t, "a", `{"header":{"start":100,"clock_error":3}}`, took("a", 10)),
		part(t, "b", `{"header":{"start":150,"clock_error":5}}`, fmt.Sprintf(key, 20, "set", 15, `,"until":90`),
			fmt.Sprintf(key, 30, "prolonged", 25, ""), fmt.Sprintf(key, 40, "gone", 35, `,"why":"deleted"`),
			`{"time":50,"process":"redis-1","type":"info","f":"crashed","until":45}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h.Events[1:] {
		got = append(got, fmt.Sprintf("%d %d %d", e.Time, e.Sent, e.Until))
	}
	want := fmt.Sprintf("70 65 140, 80 75 %d, 90 85 0, 100 0 95", int64(history.Never))
	if strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestEachMachineKeepsItsClockAndItsEnd checks each process's clock error, and when its recording ends. The recording
// ends when the header says, but not before the last event. If the file is truncated, it ends at the last event.
func TestEachMachineKeepsItsClockAndItsEnd(t *testing.T) {
	cut := part(t, "c", `{"header":{"start":100,"clock_error":3,"end":90}}`, took("c", 40))
	cut.Cut = "line 3: text without its closing quote"
	h, err := Merge([]Part{
		part(t, "a", `{"header":{"start":100,"clock_error":3,"end":90}}`, took("a", 40), took("a2", 41)),
		part(t, "b", `{"header":{"start":110,"clock_error":5,"end":0}}`, took("b", 40)), cut,
		part(t, "d", `{"header":{"start":100,"clock_error":3,"end":30}}`, took("d", 40)),
		part(t, "e", `{"header":{"start":90,"clock_error":7,"clock_errors":{"e":2},"seen":{"e":50},"end":70}}`,
			took("e", 40), took("e2", 60)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[history.Process]struct{ off, seen history.Time }{"a": {3, 100}, "a2": {3, 100},
		"b": {5, 60}, "c": {3, 50}, "d": {3, 50}, "e": {2, 50}, "e2": {7, 70}} {
		if off, seen := h.Header.ErrorOf(p), h.Header.Seen[p]; off != want.off || seen != want.seen {
			t.Errorf("%s: off by %d, recorded until %d; want %v", p, off, seen, want)
		}
	}
	if h.Header.ClockError != 7 || h.Header.Start != 90 {
		t.Errorf("%+v", h.Header)
	}
	same, err := Merge([]Part{part(t, "a", `{"header":{"clock_error":3,"end":0}}`, took("a", 1)),
		part(t, "b", `{"header":{"clock_error":3,"end":0}}`, took("b", 1))})
	if err != nil || same.Header.ClockErrors != nil || same.Header.ClockError != 3 {
		t.Errorf("%+v, %v", same, err)
	}
}

func TestWhatIsNotOfOneServiceIsNotMerged(t *testing.T) {
	const header = `{"header":{"clock_error":3,"end":50,"quorum":2}}`
	for _, c := range []struct {
		second []string
		want   string
	}{
		{[]string{header, took("b", 1)}, ""},
		{[]string{`{"header":{"end":50,"quorum":2}}`}, `b does not state its clock's error, so its events cannot be ` +
			`ordered relative to those of another machine: add "clock_error" (ns) to its header, or --clock-error`},
		{[]string{`{"header":{"clock_error":3,"end":50,"quorum":2,"start":4}}`},
			`the header of b states when its time begins ("start"), but the header of a does not`},
		{[]string{header, took("a", 2)},
			`a and b both record the process "a": processes of different machines need different names`},
		{[]string{header, strings.Replace(took("b", 1), "b/1", "a/1", 1)},
			`a and b both have an attempt "a/1": attempts need different names`},
		{[]string{`{"header":{"clock_error":3,"end":50,"quorum":3}}`},
			`b: the header has quorum 3, but the earlier files have 2: they describe different lock services`},
		{[]string{`{"header":{"clock_error":3,"end":50,"quorum":2,"servers":["x"]}}`},
			`b: the header has servers [x], but the earlier files have []: they describe different lock services`},
		{[]string{`{"header":{"clock_error":3,"end":50,"quorum":2,"reading":"strict"}}`},
			`b: the header has reading strict, but the earlier files have default: they describe different lock services`},
	} {
		_, err := Merge([]Part{part(t, "a", header, took("a", 1)), part(t, "b", c.second...)})
		if c.want == "" && err != nil || c.want != "" && fmt.Sprint(err) != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	alone := part(t, "b", `{"header":{"end":50}}`)
	if h, err := Merge([]Part{alone}); err != nil || h != alone.History {
		t.Errorf("a single history: %v", err)
	}
}

// TestFilesThatAreReadTogetherAreMergedInPlace checks that files read by ReadAll are merged in the array into which
// they were read. If the file sizes are unknown, the events must be copied, and the merged history must be the same.
func TestFilesThatAreReadTogetherAreMergedInPlace(t *testing.T) {
	texts := []string{`{"header":{"start":5,"clock_error":3,"end":90}}`, `{"header":{"start":7,"clock_error":3,"end":90}}`,
		`{"header":{"start":6,"clock_error":3,"end":90}}`}
	for i := range 60 {
		texts[i%7%3] += "\n" + took(fmt.Sprint("p", i%7%3), i)
	}
	merged := func(seekable bool) (h *history.History, inPlace bool) {
		var names []string
		var from []io.Reader
		for i, text := range texts {
			names = append(names, fmt.Sprint(i))
			if from = append(from, strings.NewReader(text)); !seekable {
				from[i] = bufio.NewReader(from[i])
			}
		}
		files, err := ReadAll(names, from)
		if err != nil {
			t.Fatal(err)
		}
		first := &files[0].History.Events[0]
		if h, _, err = Together(files, Options{}); err != nil {
			t.Fatal(err)
		}
		return h, first == &h.Events[0]
	}
	one, inPlace := merged(true)
	other, copied := merged(false)
	if !inPlace || copied {
		t.Errorf("in place: %t, and %t of unknown lengths", inPlace, copied)
	}
	if !reflect.DeepEqual(one, other) || len(one.Events) != 60 {
		t.Errorf("%d events and %d, or others", len(one.Events), len(other.Events))
	}
	if !slices.IsSortedFunc(one.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) }) {
		t.Error("they are not in the order of their times")
	}
}
