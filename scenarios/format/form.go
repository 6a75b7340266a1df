package format

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/scenarios/setting"
)

// Value reads a value of a form.
func (r *Reader) Value(n ast.Node, f *setting.Form) (v setting.Value, ok bool) {
	if text, isText := ScalarText(n); isText && slices.Contains(f.Words, text) {
		return setting.Value{Word: text}, true
	}
	switch f.Kind {
	case setting.Word, setting.Group:
		v.Word, ok = Choose(r, f.Words...)(n)
	case setting.Count:
		var count int
		count, ok = r.Whole(int(f.Least), int(f.Most))(n)
		v.N = int64(count)
	case setting.Duration:
		return r.durationIn(n, f)
	case setting.Delay:
		d, isDelay := r.Delay(n)
		if isDelay && f.Recurs && d.Hi < setting.ShortestPeriod {
			r.Problem(StartOf(n), setting.ShortestPeriod.String(),
				"this recurs throughout a run and must be at least %v, or a range that "+
					"ends there or later", setting.ShortestPeriod)
			return setting.Value{}, false
		}
		return setting.DelayOf(d), isDelay
	case setting.Allowance:
		return r.allowance(n)
	case setting.Share:
		s, isShare := r.tail(n)
		v = setting.DelayOf(s.Delay)
		v.N = s.PPM
		return v, isShare
	case setting.Name:
		v.Word, ok = r.Name(n)
	}
	return v, ok
}

// durationIn reads a duration within the limits of a form.
func (r *Reader) durationIn(n ast.Node, f *setting.Form) (setting.Value, bool) {
	what := "a duration such as 500ms"
	if len(f.Words) > 0 {
		what = Listed(append([]string{"a duration"}, f.Words...), "or")
	}
	text, ok := r.Scalar(n, what)
	if !ok {
		return setting.Value{}, false
	}
	d, problem, near := parseDuration(text)
	if problem != "" {
		if word := nearest.Word(text, f.Words); word != "" {
			problem, near = "expected "+what, word
		}
		r.Problem(StartOf(n), near, "%s, found %s", problem, Found(text))
		return setting.Value{}, false
	}
	v := setting.Value{N: int64(d)}
	if f.Recurs && d < setting.ShortestPeriod {
		r.Problem(StartOf(n), setting.ShortestPeriod.String(),
			"this recurs throughout a run and must be at least %v, found %s", setting.ShortestPeriod, Found(text))
		return setting.Value{}, false
	}
	switch outside := v.N < f.Least || f.Most > 0 && v.N > f.Most || f.Step > 0 && v.N%f.Step != 0; {
	case !outside:
		return v, true
	case f.Least == 1 && f.Most == 0:
		r.Problem(StartOf(n), "", "this duration must be longer than 0s")
	default:
		r.Problem(StartOf(n), "", "expected %s, found %s", f.Values(), Found(text))
	}
	return setting.Value{}, false
}

// Listed joins names with commas, and the last with the given word.
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
