package format

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// ReadLaw reads the expected outcome for a law: holds, any, violated, or violated by CAUSE. The cause may be followed
// by a detail in parentheses.
func ReadLaw(r *Reader, n ast.Node) (Law, bool) {
	const what = "holds, violated, violated by CAUSE, or any"
	text, ok := r.Scalar(n, what)
	if !ok {
		return Law{}, false
	}
	const by = "violated by "
	cause, hasCause := strings.CutPrefix(text, by)
	switch {
	case text == "holds":
		return Law{Outcome: checker.Holds}, true
	case text == "any":
		return Law{Any: true}, true
	case text == "violated":
		return Law{Outcome: checker.Violated}, true
	case !hasCause:
		r.Problem(StartOf(n), nearest.Word(text, []string{"holds", "violated", "any"}), "expected %s, found %s",
			what, Found(text))
		return Law{}, false
	}
	c, ok := readCause(r, r.withinRange(n, text, len(by)), cause)
	return Law{Outcome: checker.Violated, Cause: c}, ok
}

// readCause reads a cause such as "lost in crash" or "lost in crash (unsynced)". place is where the cause begins.
func readCause(r *Reader, place Place, text string) (checker.Cause, bool) {
	kind, detail, hasDetail := strings.Cut(text, " (")
	var kinds []string
	for _, c := range checker.Causes {
		kinds = append(kinds, string(c.Kind))
		if string(c.Kind) != kind {
			continue
		}
		if !hasDetail {
			return checker.Cause{Kind: c.Kind}, true
		}
		return readDetail(r, place, c.Kind, detail, c.Details)
	}
	r.unknownKey(place, "cause", kind, kinds)
	return checker.Cause{}, false
}

// readDetail reads the part of a cause after the opening parenthesis, such as "unsynced)".
func readDetail(r *Reader, place Place, kind checker.CauseKind, text string,
	known []string) (checker.Cause, bool) {
	word, closed := strings.CutSuffix(text, ")")
	for _, d := range known {
		if d == word && closed {
			return checker.Cause{Kind: kind, Detail: d}, true
		}
	}
	place = place.Right(len(string(kind)) + len(" ("))
	switch {
	case !closed:
		r.Problem(place, "", "the parenthesis that opens here is not closed")
	case len(known) == 0:
		r.Problem(place, "", "the cause %q has no variants", string(kind))
	default:
		r.Problem(place, nearest.Word(word, known), "expected %s, found %s", strings.Join(known, " or "),
			Found(word))
	}
	return checker.Cause{}, false
}
