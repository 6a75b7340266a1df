package trace

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// endings maps the word with which Jepsen's nemesis begins a fault to the words that end it. The nemesis reports every
// action twice, when it begins and when it has finished, both times in an event of type info. A fault that begins with
// "start-WHAT" ends with "stop-WHAT".
var endings = map[string][]string{
	"start":     {"stop"},
	"kill":      {"start", "restart"},
	"crash":     {"start", "restart"},
	"pause":     {"resume"},
	"partition": {"heal"},
	"isolate":   {"heal"},
}

// endsOf returns the words that end a fault that begins with f, or nil if f does not begin a fault.
func endsOf(f history.F) []string {
	if what, ok := strings.CutPrefix(string(f), "start-"); ok {
		return []string{"stop-" + what}
	}
	return endings[string(f)]
}

// report is the latest fault of one kind that a nemesis reported in events of type info.
type report struct {
	kind  history.F
	ends  []string
	fault int // its index in Trace.Faults
	over  bool
}

// reported records a fault that the nemesis reports in events of type info. There may be several reports of the fault's
// beginning and of its end. The fault begins at the first report of its beginning, and ends at the last report of its
// end.
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
