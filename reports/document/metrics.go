package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Metrics lists a run's metrics. The text form omits the metrics of individual processes, whose names have labels in
// braces.
type Metrics checker.Metrics

// Text writes the metrics in columns. A value that exceeds its alarm level is followed by an exclamation mark.
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

// HTML writes the metrics as a table.
func (b Metrics) HTML(p *html.Writer) {
	p.Put(html.El("table", html.Class("metrics"), html.El("tbody", html.Newline,
		html.Each(b, func(m checker.Metric) html.Part {
			return html.All(html.El("tr",
				html.If(m.Alarming(), html.Attr("class", "alarm", "title", alarm(m))),
				html.El("th", html.Text(m.Name)), html.El("td", html.Text(MetricValue(m)))), html.Newline)
		}))), html.Newline)
}

// JSON returns the values by name. A value is nil if there was nothing to measure or if it is not a finite number.
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

// MetricValue returns a metric's value with its unit and four significant digits. Times below a millisecond are in µs.
// If there was nothing to measure, MetricValue says so in words.
func MetricValue(m checker.Metric) string {
	switch {
	case m.Samples > 0:
	case m.Name == "lock_contention_rate": // only the code of the lock knows how often it has retried
		return "not known"
	default:
		return "none"
	}
	switch m.Unit {
	case "ratio":
		return fourDigits(m.Value*100) + "%"
	case "s":
		if 0 < m.Value && m.Value < 1e-3 {
			return fourDigits(m.Value*1e6) + " µs"
		}
		return fourDigits(m.Value) + " s"
	}
	return fourDigits(m.Value)
}

// fourDigits formats a number with at most four significant digits and without an exponent.
func fourDigits(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// alarm describes the alarm level that a metric's value exceeds.
func alarm(m checker.Metric) string {
	m.Value = m.Alarm
	return fmt.Sprintf("above %s, the level above which the documentation advises looking for the cause",
		MetricValue(m))
}
