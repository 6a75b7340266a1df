package format

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// Value reads the value at n, which must have the form f.
func (r *Reader) Value(n ast.Node, f *Form) (v Value, ok bool) {
	if text, isText := ScalarText(n); isText && slices.Contains(f.Words, text) {
		return Value{Word: text}, true
	}
	switch f.Kind {
	case Word, Mapping:
		v.Word, ok = Choose(r, f.Words...)(n)
	case Count:
		var count int
		if text, isText := ScalarText(n); isText && text == "0" && f.Zero != "" {
			r.Problem(StartOf(n), "", "%s; expected a number from %d to %d", f.Zero, f.Least, f.Most)
			return Value{}, false
		}
		count, ok = r.Whole(int(f.Least), int(f.Most))(n)
		v.N = int64(count)
	case Duration:
		return r.durationIn(n, f)
	case Delay:
		d, isDelay := r.Delay(n)
		if isDelay && f.Recurs && d.Hi < shortestPeriod {
			r.Problem(StartOf(n), shortestPeriod.String(),
				"this wait recurs throughout a run: "+
					"it must be at least %[1]v, or a range that ends at %[1]v or later", shortestPeriod)
			return Value{}, false
		}
		return delayOf(d), isDelay
	case Allowance:
		return r.allowance(n)
	case Share:
		s, isShare := r.tail(n)
		v = delayOf(s.Delay)
		v.N = s.PPM
		return v, isShare
	case Name:
		v.Word, ok = r.Name(n)
	}
	return v, ok
}

// durationIn reads a duration and checks whether it is within a form's limits.
func (r *Reader) durationIn(n ast.Node, f *Form) (Value, bool) {
	what := "a duration such as 500ms"
	if len(f.Words) > 0 {
		what = Listed(append([]string{"a duration"}, f.Words...), "or")
	}
	text, ok := r.Scalar(n, what)
	if !ok {
		return Value{}, false
	}
	d, problem, near := parseDuration(text)
	if problem != "" {
		if word := nearest.Word(text, f.Words); word != "" {
			problem, near = "expected "+what, word
		}
		r.Problem(StartOf(n), near, "%s, found %s", problem, Found(text))
		return Value{}, false
	}
	v := Value{N: int64(d)}
	if f.Recurs && d < shortestPeriod {
		r.Problem(StartOf(n), shortestPeriod.String(),
			"this wait recurs throughout a run: it must be at least %v, found %s", shortestPeriod, Found(text))
		return Value{}, false
	}
	if d == 0 && f.Zero != "" {
		r.Problem(StartOf(n), "", "%s; expected %s", f.Zero, f.Values())
		return Value{}, false
	}
	switch outside := v.N < f.Least || f.Most > 0 && v.N > f.Most || f.Step > 0 && v.N%f.Step != 0; {
	case !outside:
		return v, true
	case f.Least == 1 && f.Most == 0:
		r.Problem(StartOf(n), "", "this duration must be longer than 0s")
	default:
		r.Problem(StartOf(n), "", "expected %s, found %s", f.Values(), Found(text))
	}
	return Value{}, false
}

// Listed joins names with commas, putting the given word, such as "and", between the last two.
func Listed[T ~string](names []T, last string) string {
	var list []string
	for _, n := range names {
		list = append(list, string(n))
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
	}
	return strings.Join(list, "")
}
