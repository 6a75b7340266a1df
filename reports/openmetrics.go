package reports

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// metricHelp says what each metric is, in the documents' words.
var metricHelp = map[string]string{
	"lock_acquisition_time_p50": "Median time from asking for a lock to holding it, in seconds.",
	"lock_acquisition_time_p99": "99th percentile of the time from asking for a lock to holding it, in seconds. Alarm above half of the TTL.",
	"lock_contention_rate":      "Acquires that failed, of all. Alarm above 0.3.",
	"lock_hold_duration_p99":    "99th percentile of the time a lock is held, in seconds. Alarm above 0.8 of the TTL.",
	"lock_timeout_rate":         "Acquires that ended with their client's patience, of all. Alarm above 0.05.",
	"fencing_token_reject_rate": "Reads and writes refused for a stale token, of all. Alarm above 0.",
	"unavailability":            "Longest time in which somebody waited for a lock that nobody alive held, in seconds.",
	"wake_ups_per_release":      "Waiting clients told to look again, for each release.",
	"messages_per_acquire":      "Requests sent to lock servers, for each lock acquired.",
}

// OpenMetrics gives the metrics of a run in the OpenMetrics text format (version 1.0.0), as gauges under the documents'
// names, with the scenario and the seed as labels. A metric without observations has no line.
func (run *Run) OpenMetrics() []byte {
	var b bytes.Buffer
	last := ""
	for _, m := range byFamily(run.Metrics) {
		family, label := splitLabel(m.Name)
		if m.Samples == 0 {
			continue
		}
		if family != last {
			b.WriteString("# TYPE " + family + " gauge\n")
			if help := metricHelp[family]; help != "" {
				b.WriteString("# HELP " + family + " " + help + "\n")
			}
			last = family
		}
		b.WriteString(family + "{scenario=" + quoteLabel(run.Scenario) + ",seed=\"" + strconv.FormatUint(run.Seed, 10) + `"` + label + "} ")
		b.WriteString(strconv.FormatFloat(m.Value, 'g', -1, 64) + "\n")
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

// OpenMetrics gives the totals of many runs in the OpenMetrics text format, as gauges: how many came out how, how often
// each law did, and in how many each fault of the plan struck.
func (m *Many) OpenMetrics() []byte {
	var b bytes.Buffer
	family := func(name, help string) {
		b.WriteString("# TYPE " + name + " gauge\n# HELP " + name + " " + help + "\n")
	}
	sample := func(name string, n int, labels ...string) {
		b.WriteString(name + "{scenario=" + quoteLabel(m.Scenario))
		for i := 0; i < len(labels); i += 2 {
			b.WriteString("," + labels[i] + "=" + quoteLabel(labels[i+1]))
		}
		b.WriteString("} " + strconv.Itoa(n) + "\n")
	}
	family("fencepost_runs", "Runs, by how they came out. Those that an interruption left out count as undecided.")
	for _, t := range m.totals()[:3] {
		sample("fencepost_runs", t.n, "outcome", t.words)
	}
	family("fencepost_distinct_runs", "Runs that differ by digest.")
	sample("fencepost_distinct_runs", m.Campaign.Digests())
	family("fencepost_law_runs", "Runs, by law and how it came out.")
	for _, l := range m.Laws {
		for _, of := range []struct {
			outcome checker.Outcome
			n       int
		}{{checker.Holds, l.Holds}, {checker.Violated, l.Violated}, {checker.Undecided, l.Undecided},
			{checker.Unchecked, l.Unchecked}} {
			sample("fencepost_law_runs", of.n, "law", string(l.Law), "outcome", of.outcome.String())
		}
	}
	if len(m.Plan) > 0 {
		family("fencepost_fault_runs", "Runs in which a fault of the plan struck, and in which it met a lock that was asked for or held.")
		for i, f := range m.Plan { // the number tells equal faults apart
			number := strconv.Itoa(i + 1)
			sample("fencepost_fault_runs", f.Struck, "fault", f.Line, "number", number, "effect", "struck")
			sample("fencepost_fault_runs", f.Met, "fault", f.Line, "number", number, "effect", "met a lock in use")
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

// byFamily brings the lines of one family together, as the format asks.
func byFamily(all checker.Metrics) checker.Metrics {
	var out checker.Metrics
	done := map[string]bool{}
	for _, m := range all {
		family, _ := splitLabel(m.Name)
		if done[family] {
			continue
		}
		done[family] = true
		for _, x := range all {
			if f, _ := splitLabel(x.Name); f == family {
				out = append(out, x)
			}
		}
	}
	return out
}

// splitLabel separates a name from the label of a single process.
func splitLabel(name string) (family, label string) {
	family, rest, labelled := strings.Cut(name, "{")
	if !labelled {
		return family, ""
	}
	return family, "," + strings.TrimSuffix(rest, "}")
}

func quoteLabel(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
