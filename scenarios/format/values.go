package format

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Choose returns a function that reads one of several words.
func Choose[T ~string](r *Reader, list ...T) func(ast.Node) (T, bool) {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	what := "one of " + strings.Join(words, ", ")
	if len(list) == 2 {
		what = words[0] + " or " + words[1]
	}
	return func(n ast.Node) (T, bool) {
		text, ok := r.Scalar(n, what)
		if !ok || slices.Contains(words, text) {
			return T(text), ok
		}
		r.Problem(StartOf(n), meant(text, words), "expected %s, found %s", what, Found(text))
		return "", false
	}
}

// meant returns the word in a list that the user probably meant by text. This is the most similar word. If text is a
// YAML 1.1 word for true or false, it is "on" or "off", provided that the list contains that word.
func meant(text string, list []string) string {
	synonym := map[string]string{"true": "on", "yes": "on", "false": "off", "no": "off"}[strings.ToLower(text)]
	for _, w := range list {
		if w == synonym {
			return w
		}
	}
	return nearest.Word(text, list)
}

// OnOff reads a switch, which must be on or off.
func (r *Reader) OnOff(n ast.Node) (bool, bool) {
	word, ok := Choose(r, "on", "off")(n)
	return word == "on", ok
}

// Whole returns a function that reads a whole number between least and most.
func (r *Reader) Whole(least, most int) func(ast.Node) (int, bool) {
	return func(n ast.Node) (int, bool) {
		text, ok := r.Scalar(n, "a whole number")
		if !ok {
			return 0, false
		}
		v, err := strconv.Atoi(text)
		switch {
		case err != nil || strconv.Itoa(v) != text:
			r.Problem(StartOf(n), "", "expected a whole number from %d to %d, found %s", least, most, Found(text))
			return 0, false
		case v < least || v > most:
			r.Problem(StartOf(n), "", "expected a number from %d to %d, found %d", least, most, v)
			return 0, false
		}
		return v, true
	}
}

// Slug reads a name made of lower-case letters, digits and hyphens.
func (r *Reader) Slug(n ast.Node) (string, bool) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	return r.name(n, letters, "lower-case letters, digits and hyphens")
}

// Name reads a lock's name.
func (r *Reader) Name(n ast.Node) (string, bool) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/{}"
	return r.name(n, letters, "letters, digits and - _ . : / { }")
}

// name reads a name that consists of the given letters. what describes these letters in messages.
func (r *Reader) name(n ast.Node, letters, what string) (string, bool) {
	const longest = 64
	text, ok := r.Scalar(n, "a name of "+what)
	switch {
	case !ok:
		return "", false
	case text == "" || strings.Trim(text, letters) != "":
		r.Problem(StartOf(n), "", "expected a name made of %s, found %s", what, Found(text))
		return "", false
	case len(text) > longest:
		r.Problem(StartOf(n), "", "expected a name of at most %d characters, found one of %d characters", longest,
			len(text))
		return "", false
	}
	return text, true
}

// Prose reads text for human readers, which may be a block of several lines.
func (r *Reader) Prose(n ast.Node) (string, bool) {
	if block, ok := n.(*ast.LiteralNode); ok && block.Value != nil {
		return strings.TrimSpace(block.Value.Value), true
	}
	return r.Scalar(n, "text")
}

// duration reads a duration, which may be zero.
func (r *Reader) duration(n ast.Node) (time.Duration, bool) {
	text, ok := r.Scalar(n, "a duration such as 500ms")
	if !ok {
		return 0, false
	}
	return r.durationFrom(StartOf(n), text)
}

// Millis reads a duration in whole milliseconds. The minimum is 1 ms, as for Redis's PX option.
func (r *Reader) Millis(n ast.Node) (time.Duration, bool) {
	d, ok := r.duration(n)
	if ok && (d == 0 || d%time.Millisecond != 0) {
		r.Problem(StartOf(n), "", "this duration must be whole milliseconds, at least 1ms")
		return 0, false
	}
	return d, ok
}

// durationFrom parses a duration from text, which begins at place.
func (r *Reader) durationFrom(place Place, text string) (time.Duration, bool) {
	d, problem, near := parseDuration(text)
	if problem != "" {
		r.Problem(place, near, "%s, found %s", problem, Found(text))
		return 0, false
	}
	return d, true
}

// parseDuration parses a duration. If the text is invalid, problem says why, and near is the most similar valid text,
// if any.
func parseDuration(text string) (d time.Duration, problem, near string) {
	d, err := nemesis.ParseDuration(text)
	var bad *nemesis.ParseError
	if errors.As(err, &bad) {
		return 0, bad.Msg, bad.Nearest
	}
	return d, "", ""
}

// Delay reads a duration, or a range such as 50ms..250ms.
func (r *Reader) Delay(n ast.Node) (sim.Delay, bool) {
	text, ok := r.Scalar(n, "a duration or a range such as 50ms..250ms")
	if !ok {
		return sim.Delay{}, false
	}
	return r.delayIn(n, text, 0)
}

// delayIn parses a delay from n's text, beginning at the given offset.
func (r *Reader) delayIn(n ast.Node, text string, offset int) (sim.Delay, bool) {
	lo, hi, isRange := strings.Cut(text[offset:], "..")
	first, okFirst := r.durationFrom(r.withinRange(n, text, offset), strings.TrimSpace(lo))
	if !isRange {
		return sim.Delay{Lo: first, Hi: first}, okFirst
	}
	second, okSecond := r.durationFrom(r.withinRange(n, text, offset+len(lo)+len("..")), strings.TrimSpace(hi))
	if okFirst && okSecond && first > second {
		r.Problem(StartOf(n), "", "the range %s is empty: its start is above its end", Found(text))
		return sim.Delay{}, false
	}
	return sim.Delay{Lo: first, Hi: second}, okFirst && okSecond
}

// tail reads the share of slow messages and their delay, as in "1% 10ms..50ms", or the word none.
func (r *Reader) tail(n ast.Node) (sim.Tail, bool) {
	const what = `none, or a share of the messages and their delay such as "1% 10ms..50ms"`
	text, ok := r.Scalar(n, what)
	if !ok || text == "none" {
		return sim.Tail{}, ok
	}
	percent, _, hasPercent := strings.Cut(text, "% ")
	share, isShare := parsePercent(percent)
	if !hasPercent || !isShare {
		r.Problem(StartOf(n), "", "expected %s, found %s", what, Found(text))
		return sim.Tail{}, false
	}
	delay, ok := r.delayIn(n, text, len(percent)+len("% "))
	return sim.Tail{PPM: share, Delay: delay}, ok
}

// withinRange returns the place in the file of the byte at the given offset in n's text.
func (r *Reader) withinRange(n ast.Node, text string, offset int) Place {
	place, ok := r.InLine(n, text)
	if !ok {
		return StartOf(n)
	}
	return place.Right(len([]rune(text[:offset])))
}

// allowance reads the time that a client subtracts from a validity to allow for clock drift. It is written as "1% +
// 2ms", as only one of these two parts, or as off.
func (r *Reader) allowance(n ast.Node) (Value, bool) {
	const what = `off, or an allowance such as "1% + 2ms"`
	text, ok := r.Scalar(n, what)
	if !ok || text == "off" {
		return Value{}, ok
	}
	percent, rest, hasPercent := strings.Cut(text, "%")
	plus := text
	var a Value
	if hasPercent {
		ppm, ok := parsePercent(percent)
		if !ok {
			r.Problem(StartOf(n), "", "expected a percentage from 0%% to 100%% with at most four decimals, found %s",
				Found(percent+"%"))
			return a, false
		}
		a.N = ppm
		if strings.TrimSpace(rest) == "" {
			return a, true
		}
		sign := false
		if plus, sign = strings.CutPrefix(strings.TrimSpace(rest), "+"); !sign {
			r.Problem(StartOf(n), "", "expected %s, found %s", what, Found(text))
			return a, false
		}
	}
	d, problem, near := parseDuration(strings.TrimSpace(plus))
	if problem != "" {
		_, isShare := parsePercent(text)
		switch {
		case hasPercent && near != "":
			near = percent + "% + " + near
		case isShare: // a number without a unit
			near = text + "%"
		}
		r.Problem(StartOf(n), near, "expected %s, found %s", what, Found(text))
		return a, false
	}
	a.From = int64(d)
	return a, true
}

// parsePercent parses a percentage and returns it in millionths: "1" gives 10000.
func parsePercent(text string) (ppm int64, ok bool) {
	units, decimals, hasDecimals := strings.Cut(text, ".")
	if hasDecimals && decimals == "" || len(units) > 3 || len(decimals) > 4 ||
		strings.Trim(units+decimals, "0123456789") != "" {
		return 0, false
	}
	ppm, err := strconv.ParseInt(units+decimals+strings.Repeat("0", 4-len(decimals)), 10, 64)
	return ppm, err == nil && units != "" && ppm <= 1_000_000
}
