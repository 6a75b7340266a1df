package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// fault is one fault as it struck and ended.
type fault struct {
	history.Fault
	kind history.F
	does history.Effect
	line string // as the plan states it
	from int
	to   int // open if its end was not recorded
}

// Strike is a fault as a history tells of it: when it struck and when it was over.
type Strike struct {
	history.Fault
	Kind  history.F
	Line  string // as the plan states it
	From  int    // position of its beginning in the history
	To    int    // of its end, if that was recorded
	Ended bool
}

// Strikes lists the faults of a history in the order in which they struck, as the laws read them. An end of which no
// beginning was recorded is none.
func Strikes(h *history.History) []Strike {
	t := trace{h: h, struck: underWay{}}
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == history.Nemesis {
			t.fault(i, e)
		}
	}
	all := make([]Strike, len(t.faults))
	for i := range t.faults {
		f := &t.faults[i]
		all[i] = Strike{Fault: f.Fault, Kind: f.kind, Line: f.line, From: f.from}
		if f.to != open {
			all[i].To, all[i].Ended = f.to, true
		}
	}
	return all
}

// fault notes a strike, or the end of the oldest fault of the same line that goes on.
func (t *trace) fault(i int, e *history.Event) {
	switch e.Type {
	case history.Invoke:
		t.struck.add(int32(len(t.faults)), faultName{e.F, e.Value})
		t.strike(i, e)
	case history.OK:
		if n := t.struck.oldest(t.faults, faultName{e.F, e.Value}); n >= 0 {
			t.faults[n].to = i
		}
	case history.Info:
		t.reported(i, e)
	}
}

func (t *trace) strike(i int, e *history.Event) {
	f := fault{kind: e.F, does: e.F.Does(), line: e.Value, from: i, to: open}
	if e.Fault != nil {
		f.Fault = *e.Fault
	}
	if f.line == "" {
		f.line = string(e.F)
	}
	t.faults = append(t.faults, f)
}

// faultName is what the end of a fault has in common with its beginning. An end without a line ends any of its kind.
type faultName struct {
	kind history.F
	line string
}

// underWay lists the faults by name that have struck, in order; those whose end was recorded are dropped when they are met.
type underWay map[faultName][]int32

func (u underWay) add(n int32, name faultName) {
	u[name] = append(u[name], n)
	if name.line != "" {
		name.line = ""
		u[name] = append(u[name], n)
	}
}

// oldest gives the oldest fault of that name that has not ended, -1 if there is none.
func (u underWay) oldest(faults []fault, name faultName) int32 {
	list := u[name]
	for len(list) > 0 && faults[list[0]].to != open {
		list = list[1:]
	}
	u[name] = list
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

// over is the position at which the fault is over: its end, or its beginning if it has no length or is for good. A crash
// without restart leaves a smaller system, not a fault under way.
func (f *fault) over() int {
	if f.to == open && !f.Ends && !f.kind.Lasts() {
		return f.from
	}
	return f.to
}

// ofResource reports whether a fault strikes the resource alone, or its links: where nobody uses the resource, nobody feels it.
func ofResource(f fault) bool {
	all := func(side []history.Process) bool {
		return len(side) > 0 && !slices.ContainsFunc(side, func(p history.Process) bool { return p != history.Resource })
	}
	return all(f.On) || all(f.To)
}

// counted is the position from which the time counts again for those who wait: that at which the fault is over. What is
// wrong for good is how things are from then on; but of a cut of which nobody says whether it leaves a quorum, that is not
// known.
func (t *trace) counted(f *fault) int {
	known := t.h.Header.Quorum > 0 && len(t.h.Header.Servers) > 0
	if f.to == open && !f.Ends && (f.does == history.PacesClock || f.does == history.Parts && known) {
		return f.from
	}
	return f.over()
}

// mended is the position at which what f took away is back: of a crash the restart, open if there is none; of others
// their end. A member of one service that has lost everything is none any more: a stranger of its name may not vote.
func (t *trace) mended(f *fault) int {
	switch {
	case f.Loses == history.LosesEverything && oneService(&t.h.Header):
		return open
	case f.does.IsDown():
		return f.to
	}
	return f.over()
}

// cite gives the line of a fault for a story that names it as a reason, and notes that it was named.
func (t *trace) cite(f *fault) string {
	t.cited = append(t.cited, f.from)
	return f.line
}

// faultsIn lists the faults that struck between two positions and match.
func (t *trace) faultsIn(from, to int, matches func(*fault) bool) []*fault {
	var list []*fault
	for i := range t.faults {
		if f := &t.faults[i]; from < f.from && f.from < to && matches(f) {
			list = append(list, f)
		}
	}
	return list
}

// lastFault returns the latest fault, struck before position i, that matches.
func (t *trace) lastFault(i int, matches func(*fault) bool) *fault {
	for n := len(t.faults) - 1; n >= 0; n-- {
		if f := &t.faults[n]; f.from < i && matches(f) {
			return f
		}
	}
	return nil
}
