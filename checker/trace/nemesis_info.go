package trace

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Jepsen's nemesis reports everything it does as info, once when it begins and once when it has finished. What begins
// with a word on the left is ended by one on the right, and what begins with "start-WHAT" by "stop-WHAT".
var endings = map[string][]string{
	"start":     {"stop"},
	"kill":      {"start", "restart"},
	"crash":     {"start", "restart"},
	"pause":     {"resume"},
	"partition": {"heal"},
	"isolate":   {"heal"},
}

// endsOf returns the words that end a fault that begins with f; none if f begins no fault.
func endsOf(f history.F) []string {
	if what, ok := strings.CutPrefix(string(f), "start-"); ok {
		return []string{"stop-" + what}
	}
	return endings[string(f)]
}

// report is what a nemesis recorded as info of one kind of fault.
type report struct {
	kind  history.F
	ends  []string
	fault int // the latest, in Trace.Faults
	over  bool
}

// reported records a fault that is reported as info. Its second report repeats the first, and the last report of its
// end states when it was over.
func (t *Trace) reported(i int, e *history.Event) {
	ended := false
	for n := range t.reports {
		if r := &t.reports[n]; slices.Contains(r.ends, string(e.F)) {
			t.Faults[r.fault].Stop, r.over, ended = i, true, true
		}
	}
	ends := endsOf(e.F)
	if ended || len(ends) == 0 {
		return
	}
	n := slices.IndexFunc(t.reports, func(r report) bool { return r.kind == e.F })
	switch {
	case n < 0:
		t.reports = append(t.reports, report{kind: e.F, ends: ends, fault: len(t.Faults)})
	case t.reports[n].over:
		t.reports[n].fault, t.reports[n].over = len(t.Faults), false
	default:
		return
	}
	t.strike(i, e)
}
