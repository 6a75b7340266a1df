package single

import (
	"fmt"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Idle is the reason why one of the plan's faults had no effect, if that is certain.
type Idle uint8

// These are the reasons why a fault was idle. The zero value, Active, means that the fault may have had an effect.
const (
	Active Idle = iota
	NeverStruck
	StruckInVain
)

// String returns the reason as words that can follow the fault's text. It returns "" for Active.
func (i Idle) String() string {
	return [...]string{Active: "", NeverStruck: "never struck",
		StruckInVain: "struck while no affected client held or asked for a lock"}[i]
}

// idleness returns the reason why a planned fault was idle, or Active.
func idleness(f campaign.Planned) Idle {
	switch {
	case f.Struck == 0:
		return NeverStruck
	case f.Met == 0:
		return StruckInVain
	}
	return Active
}

// plan returns the run's faults. For each idle fault, it says why the fault was idle.
func (r *Run) plan() document.Plan {
	lines := document.PlanOf(r.Plan)
	for i := range min(len(lines), len(r.Idle)) {
		lines[i].Idle = r.Idle[i].String()
		if r.Idle[i] == NeverStruck {
			lines[i].Idle += r.asked(lines[i].Line)
		}
	}
	return lines
}

// If a fault never struck because its message was never sent, the report lists the requests that the client sent
// instead. mostAsked is the maximum number of kinds of requests in this list.
const mostAsked = 8

// asked says what the client sent instead of the message that a fault names, if that message was never sent. Otherwise,
// it returns "". line is the fault's line in the plan.
func (r *Run) asked(line string) string {
	for i := range r.Missed {
		if m := &r.Missed[i]; m.Line == line {
			return ": " + Asked(m)
		}
	}
	return ""
}

// Asked says what a client sent instead of the message that a fault names.
func Asked(m *nemesis.Missed) string {
	if len(m.Asked) == 0 {
		return "its client sent no request"
	}
	var words []string
	for _, a := range m.Asked[:min(len(m.Asked), mostAsked)] {
		words = append(words, a.String())
	}
	if n := len(m.Asked) - mostAsked; n > 0 {
		words = append(words, text.Count(n, "more kind")+" of request")
	}
	return fmt.Sprintf("%s asked for %s", m.Asked[0].Client, text.Join(words, " and "))
}

// idle says how many of the plan's faults certainly had no effect. It returns "" if there are none.
func (r *Run) idle() string {
	n := map[Idle]int{}
	for _, idle := range r.Idle {
		n[idle]++
	}
	return IdleFaults(n[NeverStruck], n[StruckInVain], len(r.Plan))
}

// IdleFaults says how many of the faults never struck in any of the runs, and how many struck only while no affected
// client held or requested a lock. It returns "" if there are none of either kind.
func IdleFaults(never, vain, of int) string {
	var words []string
	for _, idle := range []struct {
		n   int
		why Idle
	}{{never, NeverStruck}, {vain, StruckInVain}} {
		subject := text.Grouped(idle.n)
		switch {
		case idle.n == 0:
			continue
		case of == 1:
			subject = "the fault"
		case len(words) == 0:
			subject += " of " + text.Count(of, "fault")
		}
		words = append(words, subject+" "+idle.why.String())
	}
	if len(words) == 0 {
		return ""
	}
	return text.Sentence(text.Join(words, ", and "))
}
