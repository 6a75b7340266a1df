package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// maxPoints is the maximum number of points in a sweep's grid.
const maxPoints = 10_000

// Axis is a setting of the scenario, with the values that the sweep tries. Several settings may share an axis; they
// then have the same value at each point.
type Axis struct {
	// Name is the key as the user wrote it, or several keys joined by commas. If the user wrote a short key such as
	// "at" or "by", Name is the key's full path.
	Name   string
	Keys   []*Key
	Levels []Level // at least one; all different
}

// unit returns the unit of the axis's values.
func (a *Axis) unit() Unit { return a.Levels[0].Unit }

// ordered reports whether the levels are numbers in ascending order. Only then are there values between two levels.
func (a *Axis) ordered() bool {
	return a.unit() != Words && slices.IsSortedFunc(a.Levels, func(x, y Level) int { return cmp.Compare(x.N, y.N) })
}

// Title returns a title for the axis: its name or, if the axis is a value of a fault, a description.
func (a *Axis) Title(b *Subject) string {
	k := a.Keys[0]
	if k.fault == 0 || len(a.Keys) > 1 {
		return a.Name
	}
	f := b.faults[k.fault-1]
	what := f.Kind.String()
	switch {
	case f.Kind.Has(nemesis.FieldPeer) && f.Kind.Has(nemesis.FieldBy):
		what += " of " + string(f.Target) + " -> " + string(f.Peer)
	case f.Target != "":
		what += " of " + string(f.Target)
	}
	return k.field.title + " the " + what
}

// Axis parses "KEY=FROM..TO/STEP" or "KEY=A,B,C". If several keys are joined by commas, they all take the same values.
func (b *Subject) Axis(text string) (Axis, error) {
	names, values, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(names) == "" || strings.TrimSpace(values) == "" {
		return Axis{}, errors.New("expected KEY=FROM..TO/STEP such as restart=0s..12s/500ms, or KEY=A,B,C")
	}
	a := Axis{Name: strings.TrimSpace(names)}
	for _, name := range strings.Split(names, ",") {
		k, err := b.key(strings.TrimSpace(name))
		switch {
		case err != nil:
			return a, err
		case len(a.Keys) > 0 && (k.Unit != a.Keys[0].Unit || k.percent != a.Keys[0].percent):
			return a, fmt.Errorf("%s and %s cannot take the same values, because they are of different kinds: "+
				"vary each on its own axis", a.Keys[0].Path,
				k.Path)
		case slices.ContainsFunc(a.Keys, func(other *Key) bool { return other.Path == k.Path }):
			return a, fmt.Errorf("%s is named twice", k.Path)
		}
		a.Keys = append(a.Keys, k)
	}
	if slices.Contains([]string{"at", "by", "for"}, a.Name) {
		a.Name = a.Keys[0].Path
	}
	var err error
	if a.Levels, err = a.Keys[0].levels(values); err != nil {
		return a, err
	}
	for i, l := range a.Levels {
		if slices.ContainsFunc(a.Levels[:i], func(other Level) bool { return other == l }) {
			return a, fmt.Errorf("%s stands there twice", l.Text)
		}
	}
	return a, nil
}

// levels parses the values of an axis.
func (k *Key) levels(text string) ([]Level, error) {
	span, step, isRange := cutLast(text, "/")
	from, to, hasEnds := strings.Cut(span, "..")
	if isRange && hasEnds {
		return k.steps(from, to, step)
	}
	if _, _, hasEnds := strings.Cut(text, ".."); hasEnds && k.Unit != Words && !strings.Contains(text, ",") {
		return nil, fmt.Errorf("the range %q needs a step, as in %s/%s", text, text, k.step().Text)
	}
	parts := strings.Split(text, ",")
	var levels []Level
	for _, part := range parts {
		n, err := k.parseNumber(part)
		switch {
		case err == nil:
			levels = append(levels, k.number(n))
		case k.fault > 0 || k.Unit != Words && !wordy(part):
			return nil, err
		default:
			return wordsOf(parts)
		}
	}
	return levels, nil
}

// wordy reports whether a string that is not a number may still be a valid value of a numeric setting: none, forever, a
// range of delays, or an allowance in two parts. Otherwise it is a mistyped number.
func wordy(text string) bool {
	text = strings.TrimSpace(text)
	return strings.Contains(text, "..") || strings.Contains(text, " ") ||
		text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz-") == "" && text[0] != '-'
}

// step returns an example step for the axis, for use in an error message.
func (k *Key) step() Level {
	switch k.Unit {
	case Durations:
		return k.number(int64(time.Second))
	case Rates:
		return k.number(1000)
	}
	return k.number(1)
}

// wordsOf returns levels whose values are words. It does not check the words, because only the parser of scenario files
// can do that.
func wordsOf(parts []string) ([]Level, error) {
	var levels []Level
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, errors.New("a value is missing between two commas, or at the start or end of the list")
		}
		levels = append(levels, Level{Text: part})
	}
	return levels, nil
}

// steps returns the levels of a range. It includes the end of the range only if a step reaches it exactly.
func (k *Key) steps(from, to, step string) ([]Level, error) {
	first, err := k.parseNumber(from)
	if err != nil {
		return nil, err
	}
	last, err := k.parseNumber(to)
	if err != nil {
		return nil, err
	}
	by, err := k.parseNumber(step)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the step: %w", err)
	case by <= 0:
		return nil, fmt.Errorf("a step must be above zero, not %s", k.number(by).Text)
	case first > last:
		return nil, meaning(fmt.Sprintf("the range %s..%s is empty: its start is above its end", from, to),
			to+".."+from+"/"+step)
	case (last-first)/by >= maxPoints:
		return nil, fmt.Errorf("%s..%s/%s has %d points, but a sweep has at most %d: "+
			"use a larger step, since edges between points are bisected",
			from, to, step, (last-first)/by+1, maxPoints)
	}
	var levels []Level
	for n := first; n <= last; n += by {
		levels = append(levels, k.number(n))
	}
	return levels, nil
}

// cutLast splits s at the last occurrence of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
