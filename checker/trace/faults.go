package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Fault is one fault, with the positions at which it struck and ended.
type Fault struct {
	history.Fault
	Kind  history.F
	Does  history.Effect
	Line  string // the fault's line in the plan
	Start int
	Stop  int // position of its end; Open if the end was not recorded
}

// Faults returns a history's faults, in the form that the laws use and in the order in which they struck. It ignores a
// fault if only its end was recorded.
func Faults(h *history.History) []Fault {
	t := Trace{History: h, struck: underWay{}}
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == history.Nemesis {
			t.fault(i, e)
		}
	}
	return t.Faults
}

// fault records that a fault struck. If e is the end of a fault, it ends the oldest fault in progress that has the same
// name and value.
func (t *Trace) fault(i int, e *history.Event) {
	switch e.Type {
	case history.Invoke:
		t.struck.add(int32(len(t.Faults)), faultName{e.F, e.Value})
		t.strike(i, e)
	case history.OK:
		if n := t.struck.oldest(t.Faults, faultName{e.F, e.Value}); n >= 0 {
			t.Faults[n].Stop = i
		}
	case history.Info:
		t.reported(i, e)
	}
}

func (t *Trace) strike(i int, e *history.Event) {
	f := Fault{Kind: e.F, Does: e.F.Does(), Line: e.Value, Start: i, Stop: Open}
	if e.Fault != nil {
		f.Fault = *e.Fault
	}
	if f.Line == "" {
		f.Line = string(e.F)
	}
	t.Faults = append(t.Faults, f)
}

// faultName says which fault an end event ends: the kind and, if the event names it, the line of the plan. If line is
// empty, the event ends any fault of that kind.
type faultName struct {
	kind history.F
	line string
}

// underWay lists the faults in progress under each name, in the order in which they struck. A fault that has ended
// stays in its list until oldest removes it.
type underWay map[faultName][]int32

func (u underWay) add(n int32, name faultName) {
	u[name] = append(u[name], n)
	if name.line != "" {
		name.line = ""
		u[name] = append(u[name], n)
	}
}

// oldest returns the oldest fault with the given name that is still in progress, or -1 if there is none.
func (u underWay) oldest(faults []Fault, name faultName) int32 {
	list := u[name]
	for len(list) > 0 && faults[list[0]].Stop != Open {
		list = list[1:]
	}
	u[name] = list
	if len(list) == 0 {
		return -1
	}
	return list[0]
}

// Over returns the position at which the fault is over. Usually, this is where the fault ends. If the fault lasts
// forever, such as a permanent cut, Over returns Open. If the fault has no duration, it is over as soon as it begins.
// This includes a crash without a restart: afterward, the system has one process fewer, but no fault is in progress.
func (f *Fault) Over() int {
	if f.Stop == Open && !f.Ends && !f.Kind.Lasts() {
		return f.Start
	}
	return f.Stop
}

// isLasting reports whether the fault takes something away for good: a permanent cut, a permanent change of a clock's
// rate, or a process that never comes back.
func (f *Fault) isLasting() bool {
	return f.Stop == Open && !f.Ends && (f.Does == history.Parts || f.Does == history.PacesClock || f.Does.IsDown())
}

// unfelt reports whether a fault strikes only the resource or its links. If so, it adds the fault to Unfelt. While
// nobody uses the resource, such a fault does not affect anyone.
func (t *Trace) unfelt(f Fault) bool {
	all := func(side []history.Process) bool {
		return len(side) > 0 &&
			!slices.ContainsFunc(side, func(p history.Process) bool { return p != history.Resource })
	}
	is := all(f.On) || all(f.To)
	if is {
		t.Unfelt = append(t.Unfelt, f)
	}
	return is
}

// Counted returns the position from which waiting time counts again after a fault. Usually, this is where the fault is
// over. If the fault permanently changes a clock's rate or cuts a link, Counted returns the start of the fault: the
// system stays that way, so time counts immediately. There is one exception: if the header does not specify a quorum, a
// permanent cut is never over, because it may not leave a quorum.
func (t *Trace) Counted(f *Fault) int {
	known := t.History.Header.StatesQuorum()
	if f.Stop == Open && !f.Ends && (f.Does == history.PacesClock || f.Does == history.Parts && known) {
		return f.Start
	}
	return f.Over()
}

// Mended returns the position at which the processes or links that f disabled are working again. For a crash, this is
// the restart, or Open if there is none. For other faults, it is their end. If a service has several members and one of
// them loses all its data, Mended returns Open, even if it restarts: the member is not allowed to vote under its old
// name. A service's only member restarts empty instead.
func (t *Trace) Mended(f *Fault) int {
	switch {
	case f.Loses == history.LosesEverything && t.History.Header.OneService():
		return Open
	case f.Does.IsDown():
		return f.Stop
	}
	return f.Over()
}

// Cite returns the fault as written in the plan, to be used as a reason in an explanation. It records that the
// explanation names the fault.
func (t *Trace) Cite(f *Fault) string {
	t.Cited = append(t.Cited, f.Start)
	return f.Line
}

// FaultsIn returns the faults that struck strictly between two positions and for which matches returns true.
func (t *Trace) FaultsIn(from, to int, matches func(*Fault) bool) []*Fault {
	var list []*Fault
	for i := range t.Faults {
		if f := &t.Faults[i]; from < f.Start && f.Start < to && matches(f) {
			list = append(list, f)
		}
	}
	return list
}

// LastFault returns the most recent fault, before position i, for which matches returns true. It returns nil if there
// is none.
func (t *Trace) LastFault(i int, matches func(*Fault) bool) *Fault {
	for n := len(t.Faults) - 1; n >= 0; n-- {
		if f := &t.Faults[n]; f.Start < i && matches(f) {
			return f
		}
	}
	return nil
}
