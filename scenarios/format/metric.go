package format

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// metric is a metric that a scenario can set a bound for.
type metric struct {
	name string
	unit string // the same as checker.Metric.Unit
	// perProcess is set if the metric also exists for each client, with {process="client-1"} appended to its name.
	perProcess bool
	// zeroWithout is set if the metric is zero, rather than unknown, when there are no samples.
	zeroWithout bool
}

// most returns the largest value that the metric can have. The smallest is 0 for every metric.
func (m *metric) most() float64 {
	if m.unit == asRatio {
		return 1
	}
	return math.Inf(1)
}

const (
	inSeconds = "s"
	asRatio   = "ratio"
	asCount   = ""
)

var metrics = []metric{
	{name: "lock_acquisition_time_p50", unit: inSeconds, perProcess: true},
	{name: "lock_acquisition_time_p99", unit: inSeconds, perProcess: true},
	{name: "lock_contention_rate", unit: asRatio},
	{name: "lock_hold_duration_p99", unit: inSeconds},
	{name: "lock_timeout_rate", unit: asRatio},
	{name: "release_without_effect_rate", unit: asRatio},
	{name: "fencing_token_reject_rate", unit: asRatio},
	{name: "unavailability", unit: inSeconds, zeroWithout: true},
	{name: "wake_ups_per_release", unit: asCount},
	{name: "messages_per_acquire", unit: asCount},
}

// ofProcess matches the names of metrics for a single process.
var ofProcess = regexp.MustCompile(`^([a-z0-9_]+)\{process="([^"]+)"\}$`)

// metricOf splits a name into the metric and the process. The process is empty if the metric is for the whole run.
func metricOf(name string) (m *metric, process history.Process) {
	if parts := ofProcess.FindStringSubmatch(name); parts != nil {
		name, process = parts[1], history.Process(parts[2])
	}
	for i := range metrics {
		if metrics[i].name == name {
			return &metrics[i], process
		}
	}
	return nil, process
}

// ReadMetrics reads a mapping from metrics to bounds. If names is not nil, it also checks client names in the keys.
func ReadMetrics(r *Reader, n ast.Node, names *nemesis.Names) (bounds []Bound) {
	r.Entries(n, "expect.metrics", "{lock_timeout_rate: 0}", func(key string, place Place, value ast.Node) {
		m, ok := readMetric(r, key, place, names)
		if !ok {
			return
		}
		b, ok := readBound(r, value, m.unit)
		switch most := m.most(); {
		case !ok:
		case b.Max < 0:
			zero := "0"
			if m.unit == inSeconds {
				zero = "0s"
			}
			r.Problem(StartOf(value), "", "no run can meet the bound %s: %s is never below %s; "+
				"write %[3]s for exactly %[3]s", Found(b.Text), m.name, zero)
		case b.Min > most:
			r.Problem(StartOf(value), "", "no run can meet the bound %s: %s is never above 100%%; "+
				"write 100%% for exactly 100%%", Found(b.Text), m.name)
		case b.Min > b.Max:
			r.Problem(StartOf(value), "", "the range %s is empty: its start is above its end", Found(b.Text))
		default:
			b.Name = key
			bounds = append(bounds, b)
		}
	})
	return bounds
}

// readMetric finds the metric for the given key. If names is not nil, it also checks the client's name in the key.
func readMetric(r *Reader, key string, place Place, names *nemesis.Names) (*metric, bool) {
	m, process := metricOf(key)
	switch {
	case m == nil:
		unknownMetric(r, key, place)
	case process != "" && !m.perProcess:
		r.Problem(place, m.name, "%s is measured only for the whole run", m.name)
	case process != "" && names != nil && !slices.Contains(names.Clients, process):
		r.Problem(place, "", "no client of this run is called %s", Found(string(process)))
	default:
		return m, true
	}
	return nil, false
}

// unknownMetric reports an unknown metric. It suggests similar metrics for the whole run or for a single client.
func unknownMetric(r *Reader, key string, place Place) {
	var whole, ofClients []string
	for _, m := range metrics {
		whole = append(whole, m.name)
		if m.perProcess {
			ofClients = append(ofClients, m.name)
		}
	}
	name, _, ofClient := strings.Cut(key, "{")
	if !ofClient {
		r.unknownKey(place, "metric", key, whole)
		return
	}
	if near := nearest.Word(name, ofClients); near != "" {
		ofClients = []string{near}
	}
	for i, m := range ofClients {
		ofClients[i] = m + "{process=\"client-1\"}"
	}
	r.Problem(place, "", "unknown metric %s: the metrics of one client are %s", Found(key),
		Listed(ofClients, "and"))
}

// readBound reads a bound like "0", ">= 9s", "< 30%" or "2ms..10ms".
func readBound(r *Reader, n ast.Node, unit string) (Bound, bool) {
	text, ok := r.Scalar(n, "a bound such as 0, \">= 9s\" or 2ms..10ms")
	if !ok {
		return Bound{}, false
	}
	b := Bound{Min: math.Inf(-1), Max: math.Inf(1), Text: text}
	if lo, hi, isRange := strings.Cut(text, ".."); isRange {
		var okLo, okHi bool
		b.Min, okLo = readQuantity(r, r.withinRange(n, text, 0), lo, unit)
		b.Max, okHi = readQuantity(r, r.withinRange(n, text, len(lo)+len("..")), hi, unit)
		return b, okLo && okHi
	}
	sign := text[:len(text)-len(strings.TrimLeft(text, "<>="))]
	v, ok := readQuantity(r, r.withinRange(n, text, len(sign)), text[len(sign):], unit)
	if !ok {
		return b, false
	}
	switch sign {
	case "":
		b.Min, b.Max = v, v
	case ">=":
		b.Min = v
	case "<=":
		b.Max = v
	case ">":
		b.Min = above(v)
	case "<":
		b.Max = below(v)
	default:
		r.Problem(StartOf(n), "", "expected >=, <=, > or < before the value, found %s", Found(sign))
		return b, false
	}
	return b, true
}

// readQuantity reads a value in its metric's unit. It converts durations to seconds and percentages to ratios.
func readQuantity(r *Reader, place Place, text string, unit string) (float64, bool) {
	trimmed := strings.TrimSpace(text)
	place = place.Right(len(text) - len(strings.TrimLeft(text, " ")))
	if unit == inSeconds {
		d, ok := r.durationFrom(place, trimmed)
		return float64(d) / float64(time.Second), ok
	}
	digits, percent := strings.CutSuffix(trimmed, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	if unit == asCount {
		if err != nil || strings.Trim(trimmed, "0123456789.") != "" {
			r.Problem(place, "", "expected a number, found %s", Found(trimmed))
			return 0, false
		}
		return v, true
	}
	if err != nil || strings.Trim(digits, "0123456789.") != "" || v > 1 {
		r.Problem(place, "", "expected a ratio from 0 to 1, or a percentage, found %s", Found(trimmed))
		return 0, false
	}
	return v, true
}
