package single

import "github.com/fencepost-sim/fencepost/reports/text"

// Why a fault of the plan can have had no effect.
const (
	neverStruck = "never struck"
	inVain      = "struck while the lock was neither held nor asked for"
)

// planLine is a fault of the plan, and why it can have had no effect; empty if it can.
type planLine struct{ Line, Idle string }

// planned are the faults of the plan.
func (r *Run) planned() []planLine {
	lines := make([]planLine, len(r.Plan))
	for i, fault := range r.Plan {
		lines[i].Line = fault
		if i < len(r.Idle) {
			lines[i].Idle = r.Idle[i]
		}
	}
	return lines
}

// idle says how many faults of the plan can have had no effect; nothing if all can.
func (r *Run) idle() string {
	why := map[string]int{}
	for _, f := range r.planned() {
		why[f.Idle]++
	}
	return Idle(why[neverStruck], why[inVain], len(r.Plan))
}

// Idle says how many of so many faults never struck, in one run or in any of many, and how many did so in vain; nothing
// if there are none.
func Idle(never, vain, of int) string {
	var words []string
	for _, idle := range []struct {
		n    int
		what string
	}{{never, neverStruck}, {vain, inVain}} {
		subject := text.Grouped(idle.n)
		switch {
		case idle.n == 0:
			continue
		case of == 1:
			subject = "the fault"
		case len(words) == 0:
			subject += " of " + text.Count(of, "fault")
		}
		words = append(words, subject+" "+idle.what)
	}
	if len(words) == 0 {
		return ""
	}
	return text.Sentence(text.Join(words, ", and "))
}
