package format

import (
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
)

// WholeRange reads a whole number or a range such as 1..5. If the value is invalid, it reports a problem and returns
// the default range, from first to last.
func (r *Reader) WholeRange(n ast.Node, most, first, last int) (int, int) {
	const what = "a whole number or a range such as 1..5"
	text, ok := r.Scalar(n, what)
	if !ok {
		return first, last
	}
	lo, hi, isRange := strings.Cut(text, "..")
	if !isRange {
		hi = lo
	}
	a, errA := strconv.Atoi(lo)
	b, errB := strconv.Atoi(hi)
	switch {
	case errA != nil || errB != nil || a < 0 || b > most:
		r.Problem(StartOf(n), "", "expected %s, up to %d, found %s", what, most, Found(text))
	case a > b:
		r.Problem(StartOf(n), "", "the range %s is empty: its start is above its end", Found(text))
	default:
		return a, b
	}
	return first, last
}

// Span reads a range of whole milliseconds.
func (r *Reader) Span(n ast.Node) (draw.Span, bool) {
	d, ok := r.Delay(n)
	if ok && (d.Lo < time.Millisecond || d.Lo%time.Millisecond != 0 || d.Hi%time.Millisecond != 0) {
		r.Problem(StartOf(n), "", "both ends of this range must be whole milliseconds, at least 1ms")
		return draw.Span{}, false
	}
	return draw.Span{Min: d.Lo, Max: d.Hi}, ok
}

// Percent reads a percentage that is a whole number from 0 to 100.
func (r *Reader) Percent(n ast.Node) (int, bool) {
	text, ok := r.Scalar(n, "a percentage such as 10%")
	if !ok {
		return 0, false
	}
	digits, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.Atoi(digits)
	if !isPercent || err != nil || strconv.Itoa(v) != digits || v < 0 || v > 100 {
		nearest := ""
		if err == nil && !isPercent && v >= 0 && v <= 100 {
			nearest = digits + "%"
		}
		r.Problem(StartOf(n), nearest, "expected a whole percentage from 0%% to 100%%, found %s", Found(text))
		return 0, false
	}
	return v, true
}

// Rate reads a maximum clock drift, in ppm.
func (r *Reader) Rate(n ast.Node) (int, bool) {
	text, ok := r.Scalar(n, "a rate such as 1000ppm")
	if !ok {
		return 0, false
	}
	digits, isPPM := strings.CutSuffix(text, "ppm")
	v, err := strconv.Atoi(digits)
	if !isPPM || err != nil || strconv.Itoa(v) != digits || v < 1 || v > nemesis.MaxPPM {
		nearest := ""
		if err == nil && !isPPM && v >= 1 && v <= nemesis.MaxPPM {
			nearest = digits + "ppm"
		}
		r.Problem(StartOf(n), nearest, "expected a rate from 1ppm to %dppm, found %s", nemesis.MaxPPM, Found(text))
		return 0, false
	}
	return v, true
}
