package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// faultKind is the verb of a fault.
type faultKind string

const (
	pauseFault    faultKind = "pause"
	jumpFault     faultKind = "jump"
	driftFault    faultKind = "drift"
	crashFault    faultKind = "crash"
	shutDownFault faultKind = "shut down"
	failOverFault faultKind = "fail over"
	cutFault      faultKind = "cut"
	delayFault    faultKind = "delay"
	breakFault    faultKind = "break"
	slowFault     faultKind = "slow fsync"
	expireFault   faultKind = "expire session"
	otherFault    faultKind = ""
)

var faultKinds = []faultKind{pauseFault, jumpFault, driftFault, crashFault, shutDownFault, failOverFault, cutFault,
	delayFault, breakFault, slowFault, expireFault}

// lasts reports whether a fault of this kind goes on until its end is recorded. The others are over as they strike: a
// crash without restart leaves a smaller system, not a fault under way.
func (k faultKind) lasts() bool {
	switch k {
	case pauseFault, driftFault, cutFault, delayFault, slowFault, otherFault:
		return true
	}
	return false
}

// restarts stands in the line of a crash or shutdown that ends with a restart.
const restarts = ", restart after "

// fault is one fault as it struck and ended.
type fault struct {
	kind faultKind
	line string // as the plan states it
	on   []history.Process
	from int
	to   int // open if its end was not recorded
}

// fault notes a strike, or the end of the oldest fault of the same line that goes on.
func (t *trace) fault(i int, e *history.Event) {
	switch e.Type {
	case history.Invoke:
		line := e.Value
		if line == "" {
			line = string(e.F)
		}
		t.faults = append(t.faults, fault{kind: kindOf(line, e.F), line: line, on: e.On, from: i, to: open})
	case history.OK:
		for n := range t.faults {
			f := &t.faults[n]
			if f.to == open && t.h.Events[f.from].F == e.F && (f.line == e.Value || e.Value == "") {
				f.to = i
				return
			}
		}
	}
}

func kindOf(line string, f history.F) faultKind {
	for _, text := range []string{line, string(f)} {
		for _, k := range faultKinds {
			if rest, ok := strings.CutPrefix(text, string(k)); ok && (rest == "" || rest[0] == ' ') {
				return k
			}
		}
	}
	return otherFault
}

// over is the position at which f is over: its end, or its beginning if it does not last.
func (f *fault) over() int {
	if f.to == open && !f.kind.lasts() && !strings.Contains(f.line, restarts) {
		return f.from
	}
	return f.to
}

// losesAll stands in the line of a crash after which nothing is left of a server.
const losesAll = "losing everything"

// mended is the position at which what f took away is back: of a crash the restart, open if there is none; of others
// their end. A member of one service that has lost everything is none any more: a stranger of its name may not vote.
func (t *trace) mended(f *fault) int {
	switch {
	case f.kind == crashFault && strings.Contains(f.line, losesAll) && oneService(&t.h.Header):
		return open
	case f.kind == crashFault || f.kind == shutDownFault:
		return f.to
	}
	return f.over()
}

func (f *fault) strikes(p history.Process) bool { return slices.Contains(f.on, p) }

// isClock reports whether it changes a clock and nothing else.
func (f *fault) isClock() bool { return f.kind == jumpFault || f.kind == driftFault }

// isLink reports whether it holds up or loses messages.
func (f *fault) isLink() bool {
	return f.kind == cutFault || f.kind == delayFault || f.kind == breakFault
}

// overlaps reports whether f was on at some moment after time from and before position to.
func (t *trace) overlaps(f *fault, from history.Time, to int) bool {
	return f.from < to && (f.over() == open || t.time(f.over()) >= from)
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
