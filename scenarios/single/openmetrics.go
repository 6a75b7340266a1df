package single

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// metricHelp describes each metric in the words of the documentation.
var metricHelp = map[string]string{
	"lock_acquisition_time_p50": "Median time from asking for a lock to holding it, in seconds.",
	"lock_acquisition_time_p99": "99th percentile of the time from asking for a lock to holding it, in seconds. " +
		"Alert above half of the TTL.",
	"lock_contention_rate":   "Share of attempts that found the lock already taken. Alert above 0.3.",
	"lock_hold_duration_p99": "99th percentile of the time a lock is held, in seconds. Alert above 80% of the TTL.",
	"lock_timeout_rate":      "Share of acquires that ended because the client gave up. Alert above 0.05.",
	"release_without_effect_rate": "Share of releases that left their client's keys in place, " +
		"among those whose effect is known. Alert above 0.",
	"fencing_token_reject_rate": "Share of reads and writes that were refused because of a stale token. Alert above 0.",
	"unavailability":            "Longest wait for a lock that no live process held, in seconds.",
	"wake_ups_per_release":      "Number of waiting clients that were notified, per release.",
	"messages_per_acquire":      "Requests sent to lock servers, for each lock acquired.",
}

// openMetrics returns a run's metrics in the OpenMetrics text format (version 1.0.0), as gauges. They are named as in
// the documentation, and labeled with the scenario and the seed. A metric without samples does not have a line.
func (r *Run) openMetrics() []byte {
	var b bytes.Buffer
	last := ""
	for _, m := range byFamily(r.Metrics) {
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
		b.WriteString(family + "{scenario=" + QuoteLabel(r.Scenario) + ",seed=\"" + strconv.FormatUint(r.Seed, 10) +
			`"` + label + "} ")
		b.WriteString(strconv.FormatFloat(m.Value, 'g', -1, 64) + "\n")
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

// byFamily groups the metrics by family, as the format requires.
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

// splitLabel splits a metric's name into its family and, if it has one, the label that names a process.
func splitLabel(name string) (family, label string) {
	family, rest, labelled := strings.Cut(name, "{")
	if !labelled {
		return family, ""
	}
	return family, "," + strings.TrimSuffix(rest, "}")
}

// QuoteLabel quotes a label's value as OpenMetrics 1.0.0 requires (section "Escaping").
func QuoteLabel(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
