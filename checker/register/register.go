// Package register checks histories of registers. Clients read a register, write it, or compare its value and set a new
// one. The package decides whether a history is linearizable. Jepsen's data store histories are of this kind, and so
// are those published with Knossos.
//
// A register behaves like knossos.model's cas-register and multi-register, with one exception: if the history gives the
// initial values, nil is a value like any other. A history may leave something open, so that one interpretation
// explains the operations and another does not. The law is then undecided, and the finding says what the outcome
// depends on.
//
// Goals: no wrong statement about any history, however incomplete. A violation is reported at the first return that
// makes it certain, together with the values that could have been read instead. The work on each register is bounded,
// and so is the memory.
//
// Non-goals: locks (see package checker); data other than registers; consistency models other than linearizability.
package register

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
)

// Check checks a history of registers. If h is not such a history (see Of), ok is false and nothing is checked. The
// laws for locks are not checked. Linearizability is checked for each register separately, or for all registers
// together if any operation uses several.
func Check(h *history.History) (v checker.Verdict, ok bool) {
	t, err := read(h)
	if t == nil || err != nil {
		return v, false
	}
	for _, law := range checker.Laws {
		v.Findings = append(v.Findings, checker.Finding{Law: law, Explanation: "The history contains no lock."})
	}
	f := checker.Finding{Law: checker.Linearizability}
	t.judge(&f)
	v.Findings = append(v.Findings, f)
	return v, true
}

// judge determines the finding for all registers. If several are not linearizable, it reports the earliest violation.
func (t *reader) judge(f *checker.Finding) {
	took, read := 0, 0
	for i := range t.operations {
		if o := &t.operations[i]; o.returned != never {
			took++
			if o.reads() {
				read++
			}
		}
	}
	if read == 0 {
		f.Outcome, f.Explanation = checker.Unchecked, "No operation that took effect read anything."
		return
	}
	var broken *violation
	open, parts := "", t.parts()
	for i := range parts {
		outcome, why := parts[i].judge()
		if outcome == checker.Violated {
			v := parts[i].broken()
			if why = v.unseen(); why == "" && (broken == nil || v.returned < broken.returned) {
				broken = v
			}
		}
		if why != "" && len(parts) > 1 {
			why += fmt.Sprintf(" This is about the register %s.", shown(parts[i].name))
		}
		open = cmp.Or(open, why)
	}
	switch {
	case broken != nil:
		broken.report(f, len(parts) > 1)
	case open != "":
		f.Outcome, f.Explanation = checker.Undecided, open
	default:
		each := ""
		if len(parts) > 1 {
			each = fmt.Sprintf(" on each of the %d registers", len(parts))
		}
		f.Outcome, f.Explanation = checker.Holds, fmt.Sprintf(
			"Some order of the operations%s explains everything that was read: "+
				"%d took effect, %d of which read a value, and %d more may have taken effect.",
			each, took, read, len(t.operations)-took)
	}
}

// view is an interpretation of what a history leaves open. If the zero view explains a history, so does every other
// view.
type view struct {
	anything bool // the registers may have had any initial value, not only nil
	unknown  bool // a read that returned nil may have read any value
	early    bool // a call whose time is unknown may have happened at the earliest time that is possible
	clocks   bool // each call may have been earlier, and each return later, by up to the clock error
}

// part holds the operations on one register, or on all registers if any operation uses several.
type part struct {
	t          *reader
	name       string // name of the register; empty if there are several
	operations []operation
	registers  map[string]int
	values     map[string]int // number of each value; none has the number 0
}

// parts groups the operations by register, in the order in which the history first mentions the registers. If any
// operation uses several registers, there is a single part for all of them.
func (t *reader) parts() (parts []part) {
	together := slices.ContainsFunc(t.operations, func(o operation) bool { return o.several() })
	of := map[string]int{}
	for _, o := range t.operations {
		name := o.steps[0].register
		if together {
			name = ""
		}
		n, ok := of[name]
		if !ok {
			n = len(parts)
			of[name] = n
			parts = append(parts, part{t: t, name: name, registers: map[string]int{}, values: map[string]int{none: 0}})
		}
		parts[n].operations = append(parts[n].operations, o)
	}
	for i := range parts {
		parts[i].number()
	}
	return parts
}

func (p *part) number() {
	add := func(to map[string]int, name string) {
		if _, ok := to[name]; !ok {
			to[name] = len(to)
		}
	}
	if initial := p.t.h.Header.Initial; initial != "" {
		add(p.values, p.t.value(initial))
	}
	for _, o := range p.operations {
		for _, s := range o.steps {
			add(p.registers, s.register)
			add(p.values, s.value)
		}
	}
}

// widest returns the most permissive view. If any view explains the operations, this one does.
func (p *part) widest() view {
	h := &p.t.h.Header
	return view{anything: h.Initial == "", unknown: h.Initial == "", early: p.t.unclear, clocks: h.ClockError > 0}
}

// judge decides the outcome from all interpretations of the history (see view). If every interpretation explains the
// operations, the law holds. If none does, it is violated. If only some do, the outcome is undecided, and why says what
// it depends on.
func (p *part) judge() (outcome checker.Outcome, why string) {
	widest, end := p.widest(), len(p.t.h.Events)
	narrow := p.explained(view{}, end)
	if narrow == linear.Linearizable && !widest.clocks {
		return checker.Holds, ""
	}
	wide := narrow
	if widest != (view{}) {
		wide = p.explained(widest, end)
	}
	switch {
	case wide == linear.Refuted:
		return checker.Violated, ""
	case wide == linear.Unknown, narrow == linear.Unknown:
		return checker.Undecided, fmt.Sprintf("There are too many orders of %d operations to try them all.",
			len(p.operations))
	case widest.clocks:
		return checker.Undecided,
			fmt.Sprintf("Some order of the operations explains everything that was read, "+
				"but the clocks may have been off by %s, so the true order may be another one.", p.t.h.Header.OffBy())
	}
	return checker.Undecided, fmt.Sprintf("No order of the operations explains everything that was read, "+
		"but one does if %s.", p.dependsOn(widest))
}

// dependsOn returns a clause that says what must be assumed to explain the operations. It names a single assumption if
// that is enough.
func (p *part) dependsOn(widest view) string {
	all := ""
	for _, c := range []struct {
		view view
		says string
	}{
		{view{anything: widest.anything},
			"the register did not hold nil at first (state with --initial what it held)"},
		{view{unknown: widest.unknown},
			"the reads that returned nil may have found other values (with --initial, " +
				"nil is a value like any other)"},
		{view{early: widest.early}, "some operation was called earlier than the history shows (its call is missing, " +
			"or several threads share a process name)"},
	} {
		switch {
		case c.view == (view{}):
		case p.explained(c.view, len(p.t.h.Events)) == linear.Linearizable:
			return c.says
		case all == "":
			all = c.says
		default:
			all += ", and " + c.says
		}
	}
	return all
}

// explained determines whether some order of the operations explains every read that had returned by position end.
func (p *part) explained(v view, end int) linear.Answer {
	initial := make([]int, len(p.registers))
	for i := range initial {
		switch {
		case v.anything:
			initial[i] = linear.Anything
		case p.t.h.Header.Initial != "":
			initial[i] = p.values[p.t.value(p.t.h.Header.Initial)]
		}
	}
	var list []linear.Transaction
	for i := range p.operations {
		o := &p.operations[i]
		to := linear.Transaction{Optional: o.returned == never || o.returned > end}
		if to.Optional && !o.writes() {
			continue
		}
		for _, s := range o.steps {
			if !s.write && v.unknown && s.value == none && o.f != history.CAS {
				continue
			}
			to.Steps = append(to.Steps, linear.Step{Register: p.registers[s.register], Write: s.write,
				Value: p.values[s.value]})
		}
		if to.Call, to.Return = p.bounds(o, v); to.Optional {
			to.Return = linear.Forever
		}
		list = append(list, to)
	}
	return linear.Transactions(initial, list)
}

// bounds returns an operation's call and return. They are positions or, if clock errors matter, the earliest possible
// time of the call and the latest possible time of the return.
func (p *part) bounds(o *operation, v view) (call, returned int64) {
	at := o.last
	if v.early || v.clocks {
		at = o.first
	}
	if !v.clocks {
		return int64(at), int64(o.returned)
	}
	off, events := int64(p.t.h.Header.ErrorOf(o.process)), p.t.h.Events
	call, returned = math.MinInt64, linear.Forever
	if at >= 0 && int64(events[at].Time) > math.MinInt64+off {
		call = int64(events[at].Time) - off
	}
	if o.returned != never && int64(events[o.returned].Time) < linear.Forever-off {
		returned = int64(events[o.returned].Time) + off
	}
	return call, returned
}
