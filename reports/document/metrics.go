package document

import (
	"math"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Metrics are those of a run. A text leaves out those of single processes.
type Metrics checker.Metrics

// Text writes the metrics in columns. An exclamation mark follows what exceeds its alarm level.
func (b Metrics) Text(p *text.Writer) {
	var items []string
	for _, m := range b {
		if strings.Contains(m.Name, "{") {
			continue
		}
		item := m.Name + "  " + MetricValue(m)
		if m.Alarming() {
			item += " (!)"
		}
		items = append(items, item)
	}
	p.Columns(Label("metrics"), items)
}

// HTML writes a table.
func (b Metrics) HTML(p *html.Writer) {
	p.Put(html.El("table", html.Class("metrics"), html.El("tbody", html.Newline,
		html.Each(b, func(m checker.Metric) html.Part {
			return html.All(html.El("tr",
				html.If(m.Alarming(), html.Attr("class", "alarm", "title", alarm(m))),
				html.El("th", html.Text(m.Name)), html.El("td", html.Text(MetricValue(m)))), html.Newline)
		}))), html.Newline)
}

// JSON gives the values by name; null where there was nothing to measure, or no number came out.
func (b Metrics) JSON() map[string]*float64 {
	all := map[string]*float64{}
	for _, m := range b {
		all[m.Name] = nil
		if m.Samples > 0 && !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			all[m.Name] = &m.Value
		}
	}
	return all
}

// MetricValue is the value of a metric with its unit, µs below a millisecond, and four significant digits, or says that
// there was nothing to measure.
func MetricValue(m checker.Metric) string {
	switch {
	case m.Samples > 0:
	case m.Name == "lock_contention_rate": // only the lock's own code knows how often it has asked
		return "not known"
	default:
		return "none"
	}
	switch m.Unit {
	case "ratio":
		return fourDigits(m.Value*100) + " %"
	case "s":
		if 0 < m.Value && m.Value < 1e-3 {
			return fourDigits(m.Value*1e6) + " µs"
		}
		return fourDigits(m.Value) + " s"
	}
	return fourDigits(m.Value)
}

// fourDigits writes a number with four significant digits at most, and no exponent.
func fourDigits(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// alarm says which level an alarming value exceeds.
func alarm(m checker.Metric) string {
	m.Value = m.Alarm
	return "above " + MetricValue(m) + ", from where the documents advise to look into it"
}
