package reports

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Exploration is what random plans have done to a scenario.
type Exploration struct {
	Scenario string
	Summary  string
	Shard    string // "2/5"; empty if the seeds were not divided
	From     uint64 // the first seed
	Seeds    int    // how many were to be run, by all shards
	Runs     int    // how many were
	Within   string // the time in which faults strike
	OK       bool   // no promise was broken, and every promise that had to be tried was
	Broken   bool   // some promise was
	Open     []string
	Notes    []string // what makes the result weaker than it looks
	Laws     []ExploredLaw
	Faults   []ExploredFault
	Findings []ExploredFinding // broken promises first, then the rest, each by the seed that shows it first
	// Interrupted is set if a signal ended the runs or the cutting down of findings.
	Interrupted bool
	Files       string // folder with all that was found
	Repeat      string // command to paste that does it again, or goes on
}

// ExploredLaw counts how a law came out.
type ExploredLaw struct {
	Law                                   string
	Promised                              bool
	Holds, Violated, Undecided, Unchecked int
	// Bound is the upper 95 % confidence bound of the rate of violations per run that exercises the law. It is stated where
	// the law was exercised and never violated.
	Bound float64
}

// ExploredFault counts what became of the faults of a kind.
type ExploredFault struct {
	Kind               string
	Drawn, Struck, Met int // Met: struck while a lock was asked for or held
}

// ExploredFinding is one way in which a law was broken, cut down to what it takes.
type ExploredFinding struct {
	Law, Cause string
	Promised   bool
	Runs       int      // that showed it
	First      uint64   // the first seed that did
	Drawn      int      // faults of the plan that was drawn for it
	Tries      int      // runs that it took to cut it down
	Cut        bool     // an interruption ended the cutting down
	Minimal    bool     // no fault can be taken away and nothing made simpler
	Often      int      // how many of the seeds 1 to 16 show it under the faults of Run
	Run        *Run     // the smallest run that still shows it
	Files      []string // in the folder of Run: plan, scenario and a Go test, each of which fails again
}

func (e *Exploration) standing() string {
	switch {
	case e.Broken:
		return "promise broken"
	case e.OK:
		return "promises kept"
	}
	return undecided
}

// ExploreText writes what was found: how the laws came out, and what broke them, grouped by plan, on about a screen. With
// opt.All it goes on with how much of each kind of fault has struck anything, and each finding in full, the first with its
// timeline. The error is w's.
func ExploreText(w io.Writer, e *Exploration, opt TextOptions) error {
	p := opt.page(w)
	exploreTitle(p, e)
	if e.Summary != "" {
		p.Text(term.Plain, 2, e.Summary)
	}
	p.Blank()
	lawTable(p, e.Laws, "a run breaks it")
	groups, ending := e.byPlan(), p.Draft()
	for i := range groups {
		ending.Mention(groups[i].Headline())
	}
	exploreEnding(ending, e)
	room := screenLines - p.Lines() - ending.Lines()
	if opt.All {
		room = math.MaxInt
	}
	exploredGroups(p, groups, room)
	p.Include(ending)
	p.Forget()
	if !opt.All {
		return p.Err()
	}
	p.Blank()
	exploredFaults(p, e)
	for i, n := range e.byGravity() {
		p.Blank()
		p.Rule()
		exploredStory(p, &e.Findings[n], i == 0)
	}
	return p.Err()
}

// exploreEnding says how much was tried, what makes the result weaker, and where all of it is.
func exploreEnding(p *term.Writer, e *Exploration) {
	p.Blank()
	if all := e.allFaults(); all.Drawn > 0 {
		p.Hang(0, "faults  ", term.Plain, fmt.Sprintf("%s drawn, of which %s (%s) met a lock in use", phrase.Grouped(all.Drawn), phrase.Grouped(all.Met), all.share()))
	}
	stopped(p, e.Interrupted)
	notes(p, "open    ", e.Open)
	notes(p, "note    ", e.Notes)
	if len(e.Findings) > 0 {
		p.Hang(0, "each    ", term.Plain, "in full, with its timeline: by the command below it, or all with --all")
	}
	closing(p, e.Files, e.Repeat)
}

func exploreTitle(p *term.Writer, e *Exploration) {
	what, standing := e.size(), e.standing()
	tone := map[string]term.Style{"promise broken": term.Red, "promises kept": term.Green}[standing]
	if standing == undecided {
		tone = term.Yellow
	}
	p.Title(e.Scenario, what, standing, tone)
}

// lawTable counts how each law came out; last is the title of the column with the rate of violations, empty to leave it out.
func lawTable(p *term.Writer, laws []ExploredLaw, last string) {
	p.Put(new(term.Line).Add(term.Bold, "law").To(24).Add(term.Plain, "held").To(31).Add(term.Plain, "broken").To(40).Add(term.Plain, "open").To(46).Add(term.Plain, "unseen").
		To(54).Add(term.Plain, last))
	for i := range laws {
		l := &laws[i]
		mark, tone := l.sign()
		ln := new(term.Line).Add(term.Plain, " ").Add(tone, mark).Add(term.Plain, " ").Add(term.Bold, l.Law)
		for _, n := range []struct{ end, n int }{{28, l.Holds}, {37, l.Violated}, {44, l.Undecided}, {52, l.Unchecked}} {
			ln.Right(n.end, phrase.Grouped(n.n))
		}
		if tone == term.Green {
			tone = term.Plain
		}
		if last != "" {
			ln.To(54).Add(tone, l.rate())
		}
		p.Put(ln)
	}
}

// sign is the mark of a law: a promise broken or kept, no promise, or nothing seen.
func (l *ExploredLaw) sign() (string, term.Style) {
	switch {
	case l.Violated > 0 && l.Promised:
		return "✗", term.Red
	case l.Violated > 0:
		return "·", term.Plain
	case l.Holds > 0:
		return "✓", term.Green
	}
	return "–", term.Plain
}

// rate is the share of the runs that exercised the law in which it was broken, or below what that share lies.
func (l *ExploredLaw) rate() string {
	share := phrase.Percentage(float64(l.Violated) / float64(l.Violated+l.Holds))
	switch {
	case l.Violated > 0 && !l.Promised:
		return share + ", not promised"
	case l.Violated > 0:
		return share
	case l.Holds > 0:
		return "< " + phrase.Percentage(l.Bound) + " (95 % sure)"
	}
	return ""
}

func exploredFaults(p *term.Writer, e *Exploration) {
	p.Put(new(term.Line).Add(term.Bold, "fault").To(22).Add(term.Plain, "drawn").To(30).Add(term.Plain, "struck").To(38).Add(term.Plain, "met a lock in use"))
	for _, f := range append(e.Faults, e.allFaults()) {
		if f.Drawn > 0 || f.Kind == "all" {
			exploredFault(p, f)
		}
	}
}

func exploredFault(p *term.Writer, f ExploredFault) {
	ln := new(term.Line).Add(term.Plain, "   "+f.Kind)
	ln.Right(27, phrase.Grouped(f.Drawn))
	ln.Right(36, phrase.Grouped(f.Struck))
	ln.Right(46, phrase.Grouped(f.Met))
	share := f.share()
	p.Put(ln.To(55-term.Cells(share)).Add(term.Plain, share))
}

// exploredStory tells one finding: the first in full, the others without the timeline.
func exploredStory(p *term.Writer, f *ExploredFinding, full bool) {
	standing, tone := f.promise(), term.Red
	if !f.Promised {
		tone = term.Plain
	}
	what := f.Law + ": " + f.Cause
	ln := new(term.Line).Add(term.Bold, term.Clip(what, p.Width()-term.Cells(standing)-2))
	p.Put(ln.To(p.Margin()-term.Cells(standing)).Add(tone, standing))
	p.Text(term.Plain, 2, f.size())
	p.Blank()
	lanes := f.Run.lanes()
	if full {
		lanes.Draw(p)
		p.Blank()
	}
	for _, finding := range f.Run.findings() {
		if string(finding.Law) == f.Law {
			violation(p, lanes, &finding)
		}
	}
	p.Blank()
	for i, fault := range f.Run.Plan {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		p.Hang(0, label, term.Plain, fault)
	}
	files := ""
	if f.Run.Files != "" {
		files = strings.Join(append([]string{f.Run.Files + ":"}, f.Files...), " ")
	}
	closing(p, files, f.Run.Repeat)
}

// size says how often it was found, and how small it has become.
func (f *ExploredFinding) size() string {
	how := "cut down as far as the budget of runs went"
	switch {
	case f.Cut:
		how = "the cutting down was interrupted"
	case f.Minimal:
		how = "nothing can be taken away or made simpler"
	}
	return fmt.Sprintf("In %s, first with seed %d. Cut down from %s to %s in %s: %s. %d of 16 seeds show it.", phrase.CountGrouped(f.Runs, "run"),
		f.First, phrase.Count(f.Drawn, "fault"), phrase.Count(len(f.Run.Plan), "fault"), phrase.CountGrouped(f.Tries, "run"), how, f.Often)
}
