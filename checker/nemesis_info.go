package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Jepsen's nemesis reports all that it does as info, once when it begins to and once when it has: "start-partition",
// "stop-partition". The words in which it ends what the keys begin:
var endings = map[string][]string{
	"start":     {"stop", "heal", "recover"},
	"kill":      {"start", "restart", "recover"},
	"crash":     {"start", "restart", "recover"},
	"pause":     {"resume", "continue", "recover"},
	"partition": {"heal", "recover"},
	"isolate":   {"heal", "recover"},
	"cut":       {"heal", "recover"},
}

// begins gives the words that end a fault whose beginning is reported as f; nothing if f begins none.
func begins(f history.F) (ends []string) {
	word := string(f)
	if what, ok := strings.CutPrefix(word, "start-"); ok {
		return []string{"stop-" + what, "heal-" + what, "recover"}
	}
	verb, what, qualified := strings.Cut(word, "-")
	for _, end := range endings[verb] {
		if ends = append(ends, end); qualified {
			ends = append(ends, end+"-"+what)
		}
	}
	return ends
}

// report is what a nemesis said by info of one kind of fault.
type report struct {
	kind  history.F
	ends  []string
	fault int // the latest, in trace.faults
	over  bool
}

// reported notes a fault that is told of as info. Its second report says the same as the first, and the last report of its
// end says when it was over.
func (t *trace) reported(i int, e *history.Event) {
	ended := false
	for n := range t.reports {
		if r := &t.reports[n]; slices.Contains(r.ends, string(e.F)) {
			t.faults[r.fault].to, r.over, ended = i, true, true
		}
	}
	ends := begins(e.F)
	if ended || len(ends) == 0 {
		return
	}
	n := slices.IndexFunc(t.reports, func(r report) bool { return r.kind == e.F })
	switch {
	case n < 0:
		t.reports = append(t.reports, report{kind: e.F, ends: ends, fault: len(t.faults)})
	case t.reports[n].over:
		t.reports[n].fault, t.reports[n].over = len(t.faults), false
	default:
		return
	}
	t.strike(i, e)
}
