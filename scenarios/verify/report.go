package verify

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Report is a verification report.
type Report struct {
	*Verification
	Run    *single.Run // the run of the counterexample; nil if there is none
	Files  string      // folder with the verdict and the counterexample
	Repeat string      // command that repeats the verification
}

// outcome returns the result as one word: violated, holds or undecided.
func (v *Verification) outcome() string {
	switch standing, _ := v.Standing(); standing {
	case document.Failed:
		return checker.Violated.String()
	case document.Passed:
		return checker.Holds.String()
	}
	return checker.Undecided.String()
}

// open returns the reasons why the verification is undecided.
func (v *Verification) open() []string {
	_, open := v.Standing()
	return open
}

// interrupted reports whether a signal stopped the verification early.
func (v *Verification) interrupted() bool { return v.Ending == campaign.Interrupted }

// counterexample describes the placement that breaks a promise: how many faults it has, not counting the scenario's
// own, and the name of its delay assignment.
func (v *Verification) counterexample() (faults int, delay string) {
	return len(v.Found.Plan.Faults) - len(v.own()), v.Assignments[v.Found.Assignment].Name
}

// Document returns the report: the result, what was tried, what the result covers and what it does not, and the
// counterexample if there is one.
func (r *Report) Document() *document.Document {
	v := r.Verification
	result, open := v.Standing()
	reasons := document.Notes("reason", open)
	d := &document.Document{
		Title: document.Title{Name: v.Scenario.Name, Size: v.scale(),
			Verdict: v.outcome(), Tone: result.Tone(), Summary: v.Scenario.Summary},
		Body: []document.Block{document.Section{Body: []document.Block{document.Paragraph{Words: v.conclusion()},
			v.laws().PromiseTable(v.Scenario.Promise), document.OnPage{Block: reasons}}}},
		Interrupted: v.interrupted(), Files: r.Files, Repeat: r.Repeat, Data: r.data(), Suite: r.suite(),
	}
	if v.Found != nil {
		d.Body = append(d.Body, r.Run.Excerpt("The placement that breaks the promise")...)
	}
	d.Body = append(d.Body, document.Section{Heading: "What was tried", Body: []document.Block{v.lengthTable(),
		v.kindTable()}})
	if v.Found == nil {
		d.Body = append(d.Body, document.Section{Heading: "What that covers", Body: []document.Block{v.claims()}})
	}
	d.Body = append(d.Body, document.InText{Block: reasons})
	return d
}

// scale says how large the search is. It names the run whose single faults are tried, or the maximum number of faults
// in a placement.
func (v *Verification) scale() string {
	if v.Options.Requests {
		return fmt.Sprintf("single faults in the run with seed %d", v.Options.Seed)
	}
	return "up to " + text.Count(v.Options.Faults, "fault")
}

// conclusion returns the result in a few sentences. It also names the laws that were broken but are not promised.
func (v *Verification) conclusion() string {
	words := v.result()
	for _, l := range v.laws() {
		if l.Excused > 0 {
			words += fmt.Sprintf(" %s, which is not promised, is broken in %s %s.", l.Law,
				text.CountGrouped(l.Excused, "schedule"), checker.Excuse)
		}
	}
	return words
}

// result says whether the promises were kept.
func (v *Verification) result() string {
	if f := v.Found; f != nil {
		faults, delay := v.counterexample()
		by := "by " + text.Count(faults, "fault")
		switch {
		case faults == 0 && len(v.own()) > 0:
			by = "without any fault except the scenario's own faults"
		case faults == 0:
			by = "without any fault"
		}
		if f.AtRandom {
			by += ", placed at random"
		}
		words := fmt.Sprintf("%s is broken %s (%s). In that run, %s.", f.Law, by, f.Cause, delay)
		if faults > 0 {
			words += " " + v.shorter(faults-1)
		}
		return words
	}
	if v.outcome() != checker.Holds.String() {
		return "Nothing broke a promise, but this does not prove that they always hold. " + v.shorter(v.Options.Faults)
	}
	var kept, unseen []string
	for _, l := range v.laws() {
		if l.Holds > 0 {
			kept = append(kept, string(l.Law))
		} else {
			unseen = append(unseen, string(l.Law))
		}
	}
	words := v.none(v.Options.Faults, text.Join(kept, " or "))
	if len(unseen) > 0 {
		words += fmt.Sprintf(" No schedule was able to test %s, so nothing is proved about it.", text.Join(unseen,
			" and "))
	}
	return words
}

// none returns the sentence for a search without findings. It says that none of the placements that were tried, with up
// to the given number of faults, breaks subject, such as "a promise".
func (v *Verification) none(faults int, subject string) string {
	enumerated, sampled := len(v.Scope.Every), len(v.Random)
	drawn := 0
	for i := range v.Random {
		drawn += v.Random[i].Schedules
	}
	random := fmt.Sprintf("%s of faults of %s", text.CountGrouped(drawn, "random placement"),
		text.Count(sampled, "kind"))
	switch {
	case faults == 0:
		return "Without faults, nothing breaks " + subject + "."
	case enumerated == 0:
		return fmt.Sprintf("None of %s breaks %s.", random, subject)
	}
	if v.Options.Requests {
		return fmt.Sprintf("In the run with seed %d, none of %s breaks %s.", v.Options.Seed,
			text.CountGrouped(v.Lengths[1].Schedules, "single fault"), subject)
	}
	words := fmt.Sprintf("No way of placing up to %s of %s breaks %s.", text.Count(faults, "fault"),
		text.Count(enumerated, "kind"), subject)
	if sampled > 0 {
		words += fmt.Sprintf(" Nor does any of %s.", random)
	}
	return words
}

// shorter returns a sentence that says that no promise was broken with up to n faults. n is the largest number, at most
// limit, up to which all placements were tried and decided. If not even all runs without faults were decided, the
// sentence says this instead.
func (v *Verification) shorter(limit int) string {
	whole := -1
	for i := range v.Lengths {
		l := &v.Lengths[i]
		undecided := slices.ContainsFunc(l.Laws, func(t campaign.Law) bool { return t.Undecided > 0 })
		if l.Faults > limit || !l.Whole || undecided {
			break
		}
		whole = l.Faults
	}
	switch {
	case whole < 0:
		return "Even without faults, some runs were undecided."
	case whole == 0:
		return "Without faults, no promise is broken."
	case v.Options.Requests:
		return v.none(whole, "a promise")
	}
	return fmt.Sprintf("No way of placing up to %s of %s breaks a promise.", text.Count(whole, "fault"),
		text.Count(len(v.Scope.Every), "kind"))
}

// lengthTable returns a table with the number of placements tried for each number of faults.
func (v *Verification) lengthTable() document.Table {
	t := document.Table{Heading: "placements of", Columns: []document.Column{{Title: "starts"}, {Title: "schedules"},
		{Title: "placements covered", Words: true}}}
	for _, l := range v.Lengths {
		starts, covered := "", document.Cell{Words: text.Large(l.Stands)}
		if l.Faults > 0 {
			starts = text.Grouped(l.Starts)
		}
		if !l.Whole {
			covered = document.Cell{Words: covered.Words + ", not every one", Tone: document.Open}
		}
		t.Rows = append(t.Rows, document.Row{Name: text.Count(l.Faults, "fault"),
			Cells: append(document.Cells(starts, text.Grouped(l.Schedules)), covered)})
	}
	return t
}

// kindTable returns a table of the placements tried, by fault kind: the enumerated placements whose last fault is of
// that kind, and the random placements.
func (v *Verification) kindTable() document.Table {
	t := document.Table{Heading: "last fault", Columns: []document.Column{{Title: "starts"}, {Title: "schedules"},
		{Title: "at random"}}}
	for i, k := range v.byKind() {
		t.Rows = append(t.Rows, document.Row{Name: v.Scope.Every[i].String(),
			Cells: document.Cells(text.Grouped(k.Starts), text.Grouped(k.Schedules), "")})
	}
	for i := range v.Random {
		name := v.Random[i].Kind.String()
		at := slices.IndexFunc(t.Rows, func(r document.Row) bool { return r.Name == name })
		if at < 0 {
			at = len(t.Rows)
			t.Rows = append(t.Rows, document.Row{Name: name, Cells: document.Cells("", "", "")})
		}
		t.Rows[at].Cells[2].Words = text.Grouped(v.Random[i].Schedules)
	}
	return t
}

// claims says what the result covers.
func (v *Verification) claims() document.Facts {
	if v.Options.Requests {
		return append(v.single(), v.bounds()...)
	}
	starts := "All, from the beginning to the end of the work: every nanosecond, every message, " +
		"and every named point that a client passes. " +
		"All starts between two actions of the target lead to the same run, " +
		"because nothing reads or changes the target in between, so only one of them is tried."
	ends := "Only those that can make a difference: " +
		"just before each event at another process during the fault, " +
		"minus the time that a message takes to get there; just after each expiry and each end of a validity period; " +
		"and after all of these."
	if v.Options.Faults > 1 && !v.Options.AllEnds {
		ends += " If several ends of an earlier fault lead to the same events, " +
			"the search continues from only one of them."
	}
	return append(document.Facts{{Name: "starts", Value: starts}, {Name: "ends", Value: ends}}, v.bounds()...)
}

// bounds says under which conditions the result holds, and what was not tried.
func (v *Verification) bounds() (all document.Facts) {
	each := func(name string, things []string) {
		for _, t := range things {
			all = append(all, document.Fact{Name: name, Value: t})
		}
	}
	var delays, random, untried []string
	for i, a := range v.Assignments {
		delays = append(delays, strconv.Itoa(i+1)+" "+a.Name)
	}
	bound := 0.0
	for i := range v.Random {
		s := &v.Random[i]
		random = append(random, s.Kind.String()+": "+s.Why)
		bound = max(bound, campaign.UpperBound(s.Schedules))
	}
	if len(random) > 0 {
		random = append(random, fmt.Sprintf("None of these broke a promise, "+
			"so fewer than %s of the possible placements of each kind do (with 95%% confidence).",
			text.Percentage(bound)))
	}
	for _, r := range v.Scope.None {
		untried = append(untried, r.Kind.String()+": "+r.Why)
	}
	each("delays", delays)
	each("seed", []string{fmt.Sprintf("%d, for back-offs and owner values", v.Options.Seed)})
	each("always", document.Texts(v.own()))
	each("never struck", v.neverStruck())
	each("without", document.Texts(v.Scenario.Mix.Without))
	each("random", random)
	each("untried", untried)
	return all
}

// neverStruck lists the scenario's own faults that never struck because the message they target was never sent. For
// each, it names the requests that were sent instead.
func (v *Verification) neverStruck() (list []string) {
	for i := range v.Missed {
		list = append(list, v.Missed[i].Line+" without another fault: "+single.Asked(&v.Missed[i]))
	}
	return list
}

// suite returns a test case for each promised law, and one for each reason why the verification is undecided.
func (r *Report) suite() document.Suite {
	v := r.Verification
	name := v.Scenario.Name
	s := document.Suite{Name: "verify " + name, Repeat: r.Repeat}
	for _, l := range v.laws() {
		c := document.Case{Group: name, Name: string(l.Law), Result: document.Passed,
			Message: fmt.Sprintf("kept in %d schedules", l.Holds)}
		switch {
		case l.Breaks() > 0 && v.Found != nil: // the placement that was found may break several laws
			broken := r.Run.Verdict.Of(l.Law)
			c.Result, c.Message, c.Story = document.Failed, broken.Cause.String(), r.Run.Story(c.Name)
		case l.Undecided > 0:
			c.Result, c.Message = document.Undecided, fmt.Sprintf("undecided in %d schedules", l.Undecided)
		case v.outcome() != checker.Holds.String():
			c.Result = document.NotJudged
			c.Message = fmt.Sprintf("not reached: the law held in %d schedules before the search ended", l.Holds)
		case l.Holds == 0:
			c.Result, c.Message = document.NotJudged, "no schedule exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.OpenCases(name, v.open())...)
	s.Cases = append(s.Cases, document.InterruptedCases(name, v.interrupted())...)
	return s
}
