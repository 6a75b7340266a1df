package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Verification is what came of trying every placement of up to K faults in a scenario.
type Verification struct {
	Scenario    string
	Summary     string
	Seed        uint64 // of back-offs and owner values
	Faults      int    // the most in one placement
	OK          bool   // everything was tried, no promise broken, and every promise that had to be was exercised
	Broken      bool   // a promise was
	Open        []string
	Laws        []ExploredLaw // the promised ones, over all schedules
	Lengths     []VerifiedLength
	Kinds       []VerifiedKind
	Delays      []string // the assignments of delays, in words
	AllEnds     bool     // the earlier of several faults took each of their ends, not one for each story
	LeftOut     []VerifiedGap
	Excluded    []string // sorts of faults that the scenario does not promise to survive
	Own         []string // the scenario's own faults, if they strike in every run
	Found       *VerifiedViolation
	Interrupted bool   // a signal came before everything was tried
	Files       string // folder with the verdict and what was found
	Repeat      string // command to paste that verifies again
}

// VerifiedLength counts the schedules with one number of faults.
type VerifiedLength struct {
	Faults    int
	Starts    int     // that were told apart for the last fault
	Schedules int     // run and judged
	Idle      int     // run, but the last fault found nothing to strike
	Stands    float64 // placements, to the nanosecond, that the schedules stand for
	Whole     bool    // all were tried
}

// VerifiedKind counts what was tried of one kind of fault, as the last of a placement.
type VerifiedKind struct {
	Kind              string
	Starts, Schedules int
}

// VerifiedGap is a kind of fault that was not tried.
type VerifiedGap struct{ Kind, Why string }

// VerifiedViolation is the placement with the fewest faults that breaks a promise.
type VerifiedViolation struct {
	Law, Cause string
	Faults     int    // besides the scenario's own
	Delay      string // the assignment of delays, in words
	Run        *Run
}

func (v *Verification) standing() string {
	switch {
	case v.Broken:
		return "violated"
	case v.OK:
		return "holds"
	}
	return undecided
}

// VerifyText writes a verification: what came out, what was tried and for how much it stands, what is not claimed, and the
// counterexample in full if there is one. The error is w's.
func VerifyText(w io.Writer, v *Verification, opt TextOptions) error {
	p := opt.page(w)
	v.title(p)
	if v.Summary != "" {
		p.Text(term.Plain, 2, v.Summary)
	}
	p.Blank()
	p.Text(term.Plain, 0, v.conclusion())
	p.Blank()
	lawTable(p, v.Laws, "")
	p.Blank()
	v.lengths(p)
	p.Blank()
	v.kinds(p)
	p.Blank()
	if v.Found == nil {
		v.claim(p)
	}
	stopped(p, v.Interrupted)
	notes(p, "open    ", v.Open)
	closing(p, v.Files, v.Repeat)
	if v.Found != nil {
		p.Blank()
		p.Rule()
		textRun(p, v.Found.Run)
	}
	return p.Err()
}

func (v *Verification) title(p *term.Writer) {
	what, standing := "up to "+phrase.Count(v.Faults, "fault"), v.standing()
	tone := map[string]term.Style{"violated": term.Red, "holds": term.Green, undecided: term.Yellow}[standing]
	p.Title(v.Scenario, what, standing, tone)
}

// conclusion is the result in a sentence or two.
func (v *Verification) conclusion() string {
	if f := v.Found; f != nil {
		by := "by " + phrase.Count(f.Faults, "fault")
		switch {
		case f.Faults == 0 && len(v.Own) > 0:
			by = "without any fault but the scenario's own"
		case f.Faults == 0:
			by = "without any fault"
		}
		text := fmt.Sprintf("%s is broken %s (%s), where %s.", f.Law, by, f.Cause, f.Delay)
		if f.Faults > 0 {
			text += " " + v.shorter()
		}
		return text
	}
	if !v.OK {
		return "Nothing broke a promise, but that is no proof. " + v.shorter()
	}
	var kept, unseen []string
	for _, l := range v.Laws {
		if l.Holds > 0 {
			kept = append(kept, l.Law)
		} else {
			unseen = append(unseen, l.Law)
		}
	}
	text := fmt.Sprintf("No placement of up to %s breaks %s.", phrase.Count(v.Faults, "fault"), phrase.Join(kept, " or "))
	if len(unseen) > 0 {
		text += fmt.Sprintf(" Nothing exercised %s: that is no pass.", phrase.Join(unseen, " and "))
	}
	return text
}

// shorter says up to how many faults all was tried.
func (v *Verification) shorter() string {
	whole := -1
	for _, l := range v.Lengths {
		if l.Whole {
			whole = l.Faults
		}
	}
	switch {
	case whole < 0:
		return "Not even without faults all was tried."
	case whole == 0:
		return "Without a fault no promise is broken."
	}
	return fmt.Sprintf("No placement of up to %s breaks a promise.", phrase.Count(whole, "fault"))
}

// lengths is a table of how much was tried.
func (v *Verification) lengths(p *term.Writer) {
	p.Put(new(term.Line).Add(term.Bold, "tried").To(18).Add(term.Plain, "starts").To(27).Add(term.Plain, "schedules").To(39).Add(term.Plain, "which stand for"))
	for _, l := range v.Lengths {
		ln := new(term.Line).Add(term.Plain, "  "+phrase.Count(l.Faults, "fault"))
		if l.Faults > 0 {
			ln.Right(24, phrase.Grouped(l.Starts))
		}
		ln.Right(36, phrase.Grouped(l.Schedules)).To(39)
		if ln.Add(term.Plain, placements(l.Stands)); !l.Whole {
			ln.Add(term.Yellow, "; not all")
		}
		p.Put(ln)
	}
}

// placements writes how many there are: 2.1e13 placements.
func placements(n float64) string {
	if n < 1e6 {
		return phrase.CountGrouped(int(n), "placement")
	}
	return strconv.FormatFloat(n, 'g', 2, 64) + " placements"
}

// kinds is a table of the faults, by the last of a placement.
func (v *Verification) kinds(p *term.Writer) {
	p.Put(new(term.Line).Add(term.Bold, "last fault").To(18).Add(term.Plain, "starts").To(27).Add(term.Plain, "schedules"))
	for _, k := range v.Kinds {
		ln := new(term.Line).Add(term.Plain, "  "+k.Kind)
		ln.Right(24, phrase.Grouped(k.Starts))
		p.Put(ln.Right(36, phrase.Grouped(k.Schedules)))
	}
}

// claim says what the result is about, and what it is not about.
func (v *Verification) claim(p *term.Writer) {
	for _, c := range v.claims() {
		p.Hang(0, c.Name+strings.Repeat(" ", 8-term.Cells(c.Name)), term.Plain, c.Value)
	}
}

// claims are what the result is about and what it is not about, each with a label of at most seven cells, or with none if
// it belongs to the one before.
func (v *Verification) claims() []fact {
	starts := "All, from the beginning to the end of the work: every nanosecond, every message, and for a client every named " +
		"point that it passes. All starts between two acts of its target give the same run, so that one of them is tried: nothing reads or " +
		"changes the target in between."
	ends := "Not all, but those at which something changes: just before whatever happens elsewhere while the fault goes on, earlier by the " +
		"time of a message to there; just after each expiry and each end of a validity, too; and beyond all these."
	if v.Faults > 1 && !v.AllEnds {
		ends += " Of the ends of an earlier fault that lead to the same story one is taken further."
	}
	all := []fact{{"starts", starts}, {"ends", ends}}
	each := func(label string, things []string) {
		for _, t := range things {
			all = append(all, fact{label, t})
			label = ""
		}
	}
	var delays, untried []string
	for i, d := range v.Delays {
		delays = append(delays, strconv.Itoa(i+1)+" "+d)
	}
	for _, g := range v.LeftOut {
		untried = append(untried, g.Kind+": "+g.Why)
	}
	each("delays", delays)
	each("seed", []string{fmt.Sprintf("%d, for back-offs and owner values", v.Seed)})
	each("always", v.Own)
	each("without", v.Excluded)
	each("untried", untried)
	return all
}
