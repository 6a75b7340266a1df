package campaign

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Fault counts how many faults of one kind were drawn, how many struck, and how many struck while they could have an
// effect.
type Fault struct {
	Kind  nemesis.Kind `json:"kind"`
	Drawn int          `json:"drawn"`
	// Struck is the number of faults that struck. A fault does not strike if the point or message that triggers it
	// never occurs, or if it stops a process that is already down.
	Struck int `json:"struck"`
	// Met is the number of faults that struck while they could have an effect (see WhileHeld): at some time between the
	// fault's start and end, a client affected by it requested or held a lock. A fault in a server, in the resource or
	// in a link between them affects all clients. A fault with a lasting effect, such as a clock jump or a server that
	// stays down, lasts until the end of the run.
	Met int `json:"met"`
}

// WhileHeld is how reports describe faults that struck while they could have an effect.
const WhileHeld = "while an affected client held or asked for a lock"

// Planned is a fault that is in every run's plan. Struck is the number of runs in which it struck. Met is the number of
// runs in which it struck while it could have an effect, as in Fault.
type Planned struct {
	Line   string `json:"line"`
	Struck int    `json:"struck"`
	Met    int    `json:"met"`
}

// PlannedIn returns a Planned for each of a plan's faults. Its counts are for the single run with history h, so they
// are all 0 or 1.
func PlannedIn(plan []nemesis.Fault, h *history.History) []Planned {
	var s Strikes
	faults := NewPlanned(plan)
	s.CountPlanned(faults, plan, h)
	return faults
}

// NewPlanned returns a Planned for each of a plan's faults, with all counts zero.
func NewPlanned(plan []nemesis.Fault) []Planned {
	faults := make([]Planned, len(plan))
	for i, f := range plan {
		faults[i].Line = f.String()
	}
	return faults
}

// NewFaults returns a Fault for every kind of fault, in the order of nemesis.Kinds, with all counts zero.
func NewFaults() []Fault {
	list := make([]Fault, len(nemesis.Kinds))
	for i, k := range nemesis.Kinds {
		list[i].Kind = k
	}
	return list
}

// CountPlanned adds the run with history h to the counts for each of a plan's faults.
func (s *Strikes) CountPlanned(faults []Planned, plan []nemesis.Fault, h *history.History) {
	s.Follow(plan, h)
	for i := range faults {
		if s.struck[i] {
			faults[i].Struck++
		}
		if s.met[i] {
			faults[i].Met++
		}
	}
}

// Strikes finds out which of a plan's faults struck in a run. It can be used for several runs, one after another. The
// zero value is ready to use.
type Strikes struct {
	plan   []nemesis.Fault
	lines  []string // lines of the plan's faults, as a history records them
	struck []bool
	under  []bool                  // whether the fault has struck and has not ended yet
	met    []bool                  // whether the fault struck while it could have an effect (see WhileHeld)
	busy   map[history.Process]int // number of locks that each client requests or holds
}

// Count counts a plan's faults by kind, for the run with history h.
func (s *Strikes) Count(tallies []Fault, plan []nemesis.Fault, h *history.History) {
	s.Follow(plan, h)
	for i := range plan {
		t := &tallies[slices.Index(nemesis.Kinds, plan[i].Kind)]
		t.Drawn++
		if s.struck[i] {
			t.Struck++
		}
		if s.met[i] {
			t.Met++
		}
	}
}

// Struck reports whether the ith fault of the plan struck in the most recent run.
func (s *Strikes) Struck(i int) bool { return s.struck[i] }

// Follow finds out which of a plan's faults struck in the run with history h.
func (s *Strikes) Follow(plan []nemesis.Fault, h *history.History) {
	n := len(plan)
	s.plan, s.lines = plan, s.lines[:0]
	for i := range plan {
		s.lines = append(s.lines, plan[i].Recorded())
	}
	s.struck, s.under, s.met = cleared(s.struck, n), cleared(s.under, n), cleared(s.met, n)
	if s.busy == nil {
		s.busy = map[history.Process]int{}
	}
	clear(s.busy)
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == history.Nemesis {
			s.fault(e)
		} else {
			s.client(e)
		}
	}
}

func cleared(b []bool, n int) []bool {
	b = slices.Grow(b[:0], n)[:n]
	clear(b)
	return b
}

// fault handles an event at which a fault strikes or ends.
func (s *Strikes) fault(e *history.Event) {
	for i := range s.plan {
		f := &s.plan[i]
		if s.lines[i] != e.Value || string(e.F) != f.Kind.String() {
			continue
		}
		switch {
		case e.Type == history.Invoke && !s.struck[i]:
			s.struck[i], s.under[i] = true, true
			for c, n := range s.busy {
				s.met[i] = s.met[i] || n > 0 && concerns(f, c)
			}
			return
		case e.Type == history.OK && s.under[i]:
			s.under[i] = f.Kind.Does() == history.SetsClock
			return
		}
	}
}

// client tracks how many locks each client is requesting or holding. It ignores the probe, which requests locks after
// everything else has ended.
func (s *Strikes) client(e *history.Event) {
	switch {
	case !nemesis.IsClient(e.Process):
	case e.F == history.Acquire && e.Type == history.Invoke:
		s.busy[e.Process]++
		for i := range s.plan {
			s.met[i] = s.met[i] || s.under[i] && concerns(&s.plan[i], e.Process)
		}
	case e.F == history.Crashed:
		s.busy[e.Process] = 0
	case e.F == history.Acquire && e.Type != history.OK, e.F == history.Release && e.Type != history.Invoke:
		s.busy[e.Process] = max(s.busy[e.Process]-1, 0)
	}
}

// concerns reports whether a fault affects a client. A fault that strikes clients affects only those clients. Any other
// fault affects all clients.
func concerns(f *nemesis.Fault, client history.Process) bool {
	others := false
	for _, p := range f.On() {
		if p == client {
			return true
		}
		others = others || nemesis.IsClient(p)
	}
	return !others
}
