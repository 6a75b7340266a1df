package claims

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestACauseLiesBeforeItsEffect uses package slow, a literal implementation of the laws, to determine when each law was
// violated. Every reason given by a finding (a server or resource record, a lease, a fault) must have happened by then.
// The finding itself must not claim a later time for the violation.
func TestACauseLiesBeforeItsEffect(t *testing.T) {
	rounds, each := testkit.Size(1, 2, 50), testkit.Size(1, 1, 4)
	w, stories := NewWrongs(t), map[checker.Law]int{}
	var of *Run
	var literal slow.Verdict
	Stories(t, rounds, each, func(s *Story) bool {
		if of != s.Run {
			of, literal = s.Run, slow.Check(s.History)
		}
		stories[s.Law]++
		order(w, s, literal.Of(string(s.Law)).Shown(s.History,
			slow.Reported{Cause: s.Cause.String(), Witness: s.Witness, At: s.At}))
		return true
	})
	t.Log(stories)
	if n := w.Count(""); n > 0 {
		t.Errorf("%d times something comes before its cause", n)
	}
	for _, law := range checker.Laws {
		if stories[law] == 0 {
			t.Errorf("no story of %s", law)
		}
	}
}

// order compares the times in a finding with the time at which its law was violated, according to package slow.
func order(w *Wrongs, s *Story, literal slow.Breach) {
	wrong := func(kind string, at int) {
		e := &s.History.Events[at]
		w.Add(fmt.Sprintf("%s: %s by %s", kind, s.Law, s.Cause), s,
			"broken at %v, by events %v; event %d, at %v: %s %s %s", literal.Broken, literal.Events, at, e.Time,
			e.Process, e.F, e.Value)
	}
	if len(literal.Events) == 0 {
		wrong("not broken at all", s.At)
		return
	}
	last := slices.Max(literal.Events) // events at the same instant are ordered by index
	later := func(i int) bool {
		e := &s.History.Events[i]
		return e.Time > literal.Broken || e.Time == literal.Broken && s.History.Events[last].Time == e.Time && i > last
	}
	// two leases overlap from the time of the later grant on, although the client does not learn of this grant until
	// afterward
	if s.Law == checker.LeaseExclusion && s.At != last || s.Law != checker.LeaseExclusion && later(s.At) {
		wrong("said to be broken later", s.At)
	}
	for _, i := range s.Faults {
		if later(i) {
			wrong("a fault that struck later is named", i)
		}
	}
	for _, i := range s.Witness {
		switch e := &s.History.Events[i]; {
		// for fault-tolerance, the late return itself is the violation
		case e.Grant != nil && s.Law != checker.FaultTolerance:
			if e.Grant.Granted > literal.Broken {
				wrong("a lease that was granted later", i)
			}
		case e.Process == history.Nemesis && e.Type != history.Invoke: // a fault may end after the violation
		case e.Process == history.Nemesis, e.Process == history.Resource,
			slices.Contains(s.History.Header.Servers, e.Process):
			if later(i) {
				wrong("a record that was made later", i)
			}
		}
	}
}
