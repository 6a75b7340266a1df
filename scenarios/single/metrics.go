package single

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// metricLines writes the metrics of the whole run in columns. Those of single processes are in the JSON and the HTML.
func metricLines(p *text.Writer, ms checker.Metrics) {
	var items []string
	for _, m := range ms {
		if strings.Contains(m.Name, "{") {
			continue
		}
		it := m.Name + "  " + value(m)
		if m.Alarming() {
			it += " (!)"
		}
		items = append(items, it)
	}
	p.Columns("metrics ", items)
}

// value gives the value of a metric with its unit and four significant digits, or says that there was nothing to
// measure.
func value(m checker.Metric) string {
	switch {
	case m.Samples > 0:
	case m.Name == "lock_contention_rate": // only the lock's own code knows how often it has asked
		return "not known"
	default:
		return "none"
	}
	switch m.Unit {
	case "ratio":
		return strconv.FormatFloat(m.Value*100, 'g', 4, 64) + " %"
	case "":
		return strconv.FormatFloat(m.Value, 'g', 4, 64)
	}
	return strconv.FormatFloat(m.Value, 'g', 4, 64) + " " + m.Unit
}

// alarm says which level an alarming value exceeds; empty for one that does not.
func alarm(m checker.Metric) string {
	if !m.Alarming() {
		return ""
	}
	m.Value = m.Alarm
	return "above " + value(m) + ", from where the documents advise to look into it"
}
