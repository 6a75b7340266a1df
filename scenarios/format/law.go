package format

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// causes are the causes that a law's violation may be expected to have, with the details that tell variants apart.
var causes = []struct {
	kind    checker.CauseKind
	details []string
}{
	{checker.CountedWithoutQuorum, nil},
	{checker.DeposedMaster, nil},
	{checker.ValidityMiscounted, []string{checker.GoneKey}},
	{checker.ExpiredEarly, []string{checker.ServerClock}},
	{checker.LeaseNotRechecked, nil},
	{checker.RemovedByNonOwner, []string{checker.ByFlush, checker.Overwritten}},
	{checker.ProlongedByNonOwner, nil},
	{checker.RemovedByOwner, []string{checker.LateTry}},
	{checker.LostInCrash, []string{checker.Unsynced, checker.NoPersistence, checker.DiskLost}},
	{checker.LostInFailover, nil},
	{checker.HolderOutlivedLease, []string{checker.ByPause, checker.ByLatePacket, checker.BySlowWork}},
	{checker.StaleEffect, nil},
	{checker.LostUpdate, nil},
	{checker.TokenRepeated, nil},
	{checker.TokenWentBack, nil},
	{checker.StuckBehindCrashed, nil},
	{checker.StuckBehindUncapped, nil},
	{checker.NoQuorumLeft, nil},
	{checker.StuckBehindAbandoned, nil},
	{checker.StuckBehindItself, nil},
	{checker.StuckInCycle, nil},
	{checker.SessionExpired, nil},
	{checker.WaitedForOther, nil},
	{checker.StuckWithoutHolder, nil},
	{checker.TooSlow, nil},
	{checker.Untold, nil},
}

// ReadLaw reads what must come of one law: holds, any, violated, or violated by CAUSE, with its detail in parentheses.
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

// readCause reads "lost in crash" or "lost in crash (unsynced)", which begins at place.
func readCause(r *Reader, place Place, text string) (checker.Cause, bool) {
	kind, detail, hasDetail := strings.Cut(text, " (")
	var kinds []string
	for _, c := range causes {
		kinds = append(kinds, string(c.kind))
		if string(c.kind) != kind {
			continue
		}
		if !hasDetail {
			return checker.Cause{Kind: c.kind}, true
		}
		return readDetail(r, place, c.kind, detail, c.details)
	}
	r.unknownKey(place, "cause", kind, kinds)
	return checker.Cause{}, false
}

// readDetail reads what stands behind the parenthesis that follows a cause.
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
