package search

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// openMetrics returns the totals of all runs as gauges in the OpenMetrics text format. The gauges are the number of
// runs with each outcome, the number of runs with each outcome for each law, and the number of runs in which each of
// the plan's faults struck.
func (r *RunsReport) openMetrics() []byte {
	var b bytes.Buffer
	family := func(name, help string) {
		b.WriteString("# TYPE " + name + " gauge\n# HELP " + name + " " + help + "\n")
	}
	sample := func(name string, n int, labels ...string) {
		b.WriteString(name + "{scenario=" + single.QuoteLabel(r.Scenario))
		for i := 0; i < len(labels); i += 2 {
			b.WriteString("," + labels[i] + "=" + single.QuoteLabel(labels[i+1]))
		}
		b.WriteString("} " + strconv.Itoa(n) + "\n")
	}
	family("fencepost_runs", "Runs by outcome. Runs that were not performed count as undecided.")
	for _, t := range r.totals(document.Standing{})[:3] {
		sample("fencepost_runs", t.Count, "outcome", t.Words)
	}
	family("fencepost_distinct_runs", "Number of distinct runs, by their digests.")
	sample("fencepost_distinct_runs", r.Campaign.Digests())
	family("fencepost_law_runs", "Runs by law and outcome.")
	for _, l := range r.Laws {
		for _, of := range []struct {
			outcome checker.Outcome
			n       int
		}{{checker.Holds, l.Holds}, {checker.Violated, l.Violated}, {checker.Undecided, l.Undecided},
			{checker.Unchecked, l.Unchecked}} {
			sample("fencepost_law_runs", of.n, "law", string(l.Law), "outcome", of.outcome.String())
		}
	}
	if len(r.Plan) > 0 {
		family("fencepost_fault_runs",
			fmt.Sprintf("For each fault of the plan: the number of runs in which it struck, and in which it struck %s.",
				campaign.WhileHeld))
		for i, f := range r.Plan { // the number distinguishes equal faults
			number := strconv.Itoa(i + 1)
			sample("fencepost_fault_runs", f.Struck, "fault", f.Line, "number", number, "effect", "struck")
			sample("fencepost_fault_runs", f.Met, "fault", f.Line, "number", number, "effect",
				"struck "+campaign.WhileHeld)
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}
