package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// Verification is what came of trying every placement of up to K faults in a scenario.
type Verification struct {
	*verify.Verification
	Run    *single.Run // of the counterexample; nil if there is none
	Files  string      // folder with the verdict and what was found
	Repeat string      // command to paste that verifies again
}

func (v *Verification) standing() string {
	switch standing, _ := v.Standing(); standing {
	case document.Failed:
		return "violated"
	case document.Passed:
		return "holds"
	}
	return document.Undecided.String()
}

// open says why it cannot be told whether the promises are kept.
func (v *Verification) open() []string {
	_, open := v.Standing()
	return open
}

// interrupted reports whether a signal came before everything was tried.
func (v *Verification) interrupted() bool { return v.Ending == campaign.Interrupted }

// size is up to how many faults were placed.
func (v *Verification) size() string { return "up to " + text.Count(v.Options.Faults, "fault") }

// found are how many faults break a promise, besides the scenario's own, and with which delays, in words.
func (v *Verification) found() (faults int, delay string) {
	return len(v.Found.Plan.Faults) - len(v.Own()), v.Assignments[v.Found.Assignment].Name
}

// Text writes a verification: what came out, what was tried and for how much it stands, what is not claimed, and the
// counterexample in full if there is one. The error is w's.
func (v *Verification) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	v.title(p)
	if v.Scenario.Summary != "" {
		p.Text(text.Plain, 2, v.Scenario.Summary)
	}
	p.Blank()
	p.Text(text.Plain, 0, v.conclusion())
	p.Blank()
	lawTable(p, promised(v.Laws(), v.Scenario), nil)
	p.Blank()
	v.lengths(p)
	p.Blank()
	v.kinds(p)
	p.Blank()
	if v.Found == nil {
		v.claim(p)
	}
	document.Stopped(p, v.interrupted())
	document.WriteNotes(p, "reason  ", v.open())
	document.Closing(p, v.Files, v.Repeat)
	if v.Found != nil {
		p.Blank()
		document.Whole{Document: v.Run.Document()}.Text(p)
	}
	return p.Err()
}

func (v *Verification) title(p *text.Writer) {
	what, standing := v.size(), v.standing()
	tone := map[string]text.Style{"violated": text.Red, "holds": text.Green, document.Undecided.String(): text.Yellow}[standing]
	p.Title(v.Scenario.Name, what, standing, tone)
}

// conclusion is the result in a sentence or two, and what is broken that is not promised.
func (v *Verification) conclusion() string {
	words := v.result()
	for _, l := range v.Laws() {
		if l.Excused > 0 {
			words += fmt.Sprintf(" Not promised: %s is broken in %s %s.", l.Law,
				text.CountGrouped(l.Excused, "schedule"), checker.Excuse)
		}
	}
	return words
}

// result is what came of the promises.
func (v *Verification) result() string {
	if f := v.Found; f != nil {
		faults, delay := v.found()
		by := "by " + text.Count(faults, "fault")
		switch {
		case faults == 0 && len(v.Own()) > 0:
			by = "without any fault but the scenario's own"
		case faults == 0:
			by = "without any fault"
		}
		if f.AtRandom {
			by += ", placed at random"
		}
		words := fmt.Sprintf("%s is broken %s (%s), where %s.", f.Law, by, f.Cause, delay)
		if faults > 0 {
			words += " " + v.shorter(faults-1)
		}
		return words
	}
	if v.standing() != "holds" {
		return "Nothing broke a promise, but that is no proof. " + v.shorter(v.Options.Faults)
	}
	var kept, unseen []string
	for _, l := range v.Laws() {
		if l.Holds > 0 {
			kept = append(kept, string(l.Law))
		} else {
			unseen = append(unseen, string(l.Law))
		}
	}
	words := v.none(v.Options.Faults, text.Join(kept, " or "))
	if len(unseen) > 0 {
		words += fmt.Sprintf(" Nothing exercised %s: that is no pass.", text.Join(unseen, " and "))
	}
	return words
}

// none says that no placement of up to so many faults breaks something, as far as placements were tried.
func (v *Verification) none(faults int, what string) string {
	enumerated, sampled := len(v.Scope.Every), len(v.Random)
	drawn := 0
	for i := range v.Random {
		drawn += v.Random[i].Schedules
	}
	kinds := " of " + text.Count(sampled, "kind")
	switch {
	case faults == 0:
		return "Without a fault nothing breaks " + what + "."
	case enumerated == 0:
		return fmt.Sprintf("None of %s%s breaks %s.", text.CountGrouped(drawn, "random placement"), kinds, what)
	}
	words := fmt.Sprintf("No placement of up to %s of %s breaks %s", text.Count(faults, "fault"),
		text.Count(enumerated, "kind"), what)
	if sampled > 0 {
		words += ", nor does any of " + text.Grouped(drawn) + " random ones" + kinds
	}
	return words + "."
}

// shorter says up to how many faults, of so many, all was tried.
func (v *Verification) shorter(most int) string {
	whole := -1
	for _, l := range v.Lengths {
		if l.Whole && l.Faults <= most {
			whole = l.Faults
		}
	}
	switch {
	case whole < 0:
		return "Not even without faults all was tried."
	case whole == 0:
		return "Without a fault no promise is broken."
	}
	return fmt.Sprintf("No placement of up to %s of %s breaks a promise.", text.Count(whole, "fault"),
		text.Count(len(v.Scope.Every), "kind"))
}

// lengths is a table of how much was tried.
func (v *Verification) lengths(p *text.Writer) {
	p.Put(new(text.Line).Add(text.Bold, "tried").To(18).Add(text.Plain, "starts").To(27).Add(text.Plain,
		"schedules").To(39).Add(text.Plain, "placements covered"))
	for _, l := range v.Lengths {
		ln := new(text.Line).Add(text.Plain, "  "+text.Count(l.Faults, "fault"))
		if l.Faults > 0 {
			ln.Right(24, text.Grouped(l.Starts))
		}
		ln.Right(36, text.Grouped(l.Schedules)).To(39)
		if ln.Add(text.Plain, text.Large(l.Stands)); !l.Whole {
			ln.Add(text.Yellow, notEvery)
		}
		p.Put(ln)
	}
}

const notEvery = ", not every one"

// triedKind is what was tried of a kind of faults, in words; empty where nothing was.
type triedKind struct{ Name, Starts, Schedules, Random string }

// byKind lists what was tried of each kind, enumerated as the last fault of a placement or drawn at random.
func (v *Verification) byKind() (list []triedKind) {
	for i, k := range v.ByKind() {
		list = append(list, triedKind{Name: v.Scope.Every[i].String(), Starts: text.Grouped(k.Starts),
			Schedules: text.Grouped(k.Schedules)})
	}
	for i := range v.Random {
		name, drawn := v.Random[i].Kind.String(), text.Grouped(v.Random[i].Schedules)
		at := slices.IndexFunc(list, func(k triedKind) bool { return k.Name == name })
		if at < 0 {
			list = append(list, triedKind{Name: name, Random: drawn})
		} else {
			list[at].Random = drawn
		}
	}
	return list
}

// kinds is a table of the faults.
func (v *Verification) kinds(p *text.Writer) {
	p.Put(new(text.Line).Add(text.Bold, "last fault").To(18).Add(text.Plain, "starts").To(27).Add(text.Plain,
		"schedules").To(39).Add(text.Plain, "at random"))
	for _, k := range v.byKind() {
		ln := new(text.Line).Add(text.Plain, "  "+k.Name)
		p.Put(ln.Right(24, k.Starts).Right(36, k.Schedules).Right(48, k.Random))
	}
}

// claim says what the result is about, and what it is not about.
func (v *Verification) claim(p *text.Writer) {
	for _, c := range v.claims() {
		p.Hang(0, c.Name+strings.Repeat(" ", 8-text.Cells(c.Name)), text.Plain, c.Value)
	}
}

// claims are what the result is about and what it is not about, each with a label of at most seven cells, or with none
// if it belongs to the one before.
func (v *Verification) claims() []document.Fact {
	starts := "All, from the beginning to the end of the work: every nanosecond, every message, and for a client " +
		"every named point that it passes. All starts between two acts of its target give the same run, so that one " +
		"of them is tried: nothing reads or changes the target in between."
	ends := "Not all, but those at which something changes: just before whatever happens elsewhere while the fault " +
		"goes on, earlier by the time of a message to there; just after each expiry and each end of a validity, too; " +
		"and beyond all these."
	if v.Options.Faults > 1 && !v.Options.AllEnds {
		ends += " Of the ends of an earlier fault that lead to the same story one is taken further."
	}
	all := []document.Fact{{Name: "starts", Value: starts}, {Name: "ends", Value: ends}}
	each := func(label string, things []string) {
		for _, t := range things {
			all = append(all, document.Fact{Name: label, Value: t})
			label = ""
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
		random = append(random, fmt.Sprintf("As none of these broke a promise, fewer than %s of each kind do "+
			"(at 95 %%).", text.Percentage(bound)))
	}
	for _, r := range v.Scope.None {
		untried = append(untried, r.Kind.String()+": "+r.Why)
	}
	each("delays", delays)
	each("seed", []string{fmt.Sprintf("%d, for back-offs and owner values", v.Options.Seed)})
	each("always", document.Texts(v.Own()))
	each("without", document.Texts(v.Scenario.Mix.Without))
	each("random", random)
	each("untried", untried)
	return all
}

// Suite has a case for each promised law, and one for each reason why nothing can be said.
func (v *Verification) Suite() document.Suite {
	name := v.Scenario.Name
	s := document.Suite{Name: "verify " + name, Repeat: v.Repeat}
	for _, l := range v.Laws() {
		c := document.Case{Group: name, Name: string(l.Law), Result: document.Passed,
			Message: fmt.Sprintf("kept in %d schedules", l.Holds)}
		switch {
		case l.Breaks() > 0 && v.Found != nil:
			c.Result, c.Message, c.Story = document.Failed, v.Found.Cause.String(), v.Run.Story(c.Name)
		case l.Undecided > 0:
			c.Result, c.Message = document.Undecided, fmt.Sprintf("undecided in %d schedules", l.Undecided)
		case v.standing() != "holds":
			c.Result = document.NotJudged
			c.Message = fmt.Sprintf("not reached: kept in %d schedules, then the search ended", l.Holds)
		case l.Holds == 0:
			c.Result, c.Message = document.NotJudged, "no schedule exercised it"
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.OpenCases(name, v.open())...)
	s.Cases = append(s.Cases, document.InterruptedCases(name, v.interrupted())...)
	return s
}
