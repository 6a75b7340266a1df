package corpus

// This file builds the report on a run of the corpus. A search that was not run never counts as a pass. Identical runs
// produce identical JSON, because the JSON does not contain any times measured on the host.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Corpus is the result of running the corpus: which mutants were caught, and whether the sound locks kept their
// promises.
type Corpus struct {
	First       uint64 // the first seed for each mutant and each lock
	Seeds       int    // maximum number of runs in one search
	Starts      int    // number of searches of each mutant
	Unaimed     bool   // whether the searches were repeated without aimed faults
	Mutants     []MutantResult
	Slowest     []Rare       // the mutants that took the most runs to catch, if there were several searches
	Sound       []LockResult // empty if the sound locks were not run
	Interrupted bool         // a signal stopped it before everything was run
	Files       string       // folder with the scenario of each mutant
	Repeat      string       // command that repeats everything
}

// MutantResult is a mutant with the results of its searches.
type MutantResult struct {
	Mutant
	Searches []*search.FirstViolation // one for each start seed; nil if it was not run
	Unaimed  []*search.FirstViolation // the same searches without aimed faults; empty if not requested
	Lost     string                   // why some search has no result; empty if it was only interrupted
	Took     time.Duration            // duration of all searches on the host's clock; not in the JSON
	File     string                   // path of the mutant's scenario file
}

// searched reports whether all of the mutant's searches completed.
func (m MutantResult) searched() bool {
	return len(m.Searches) > 0 && estimated(m.Searches).Searches == len(m.Searches) &&
		estimated(m.Unaimed).Searches == len(m.Unaimed)
}

// runs returns the number of runs per catch: the total number of runs in the mutant's searches, divided by the number
// of searches that caught it. It ignores searches in which all faults are drawn at random. If no search caught the
// mutant, it returns the total.
func (m MutantResult) runs() int {
	e := estimated(m.Searches)
	return int(math.Round(float64(e.Runs) / float64(max(e.Caught, 1))))
}

func (m MutantResult) seconds() float64 { return m.Took.Seconds() }

// firstCatch returns the first search that caught the mutant, or nil if none did.
func (m MutantResult) firstCatch() *search.FirstViolation {
	for _, s := range m.Searches {
		if s != nil && s.Found {
			return s
		}
	}
	return nil
}

func (m MutantResult) caught() bool {
	return m.firstCatch() != nil
}

// brokenLaw returns the law that the mutant broke and the cause of the violation.
func (m MutantResult) brokenLaw() string {
	s := m.firstCatch()
	return fmt.Sprintf("%s: %s", s.Law, s.Cause)
}

// LockResult is the result of running a sound lock under random faults.
type LockResult struct {
	*search.Result
	Lock   *scenarios.Scenario
	Repeat string // command that explores the lock, without its option for the seeds
}

// open returns the reasons why it is undecided whether the lock keeps its promises, or nil if it is decided.
func (l *LockResult) open() []string {
	_, open := l.Standing(l.Lock)
	return open
}

// broken returns the promises that the lock broke, with their causes.
func (l *LockResult) broken() (all []campaign.Finding) {
	for _, f := range l.Findings {
		if l.Lock.Promise.Covers(f.Law, f.Cause) {
			all = append(all, f)
		}
	}
	return all
}

// repeat returns a command that reproduces the broken promise.
func (l *LockResult) repeat(f campaign.Finding) string {
	return fmt.Sprintf("%s --seed %d --seeds 1", l.Repeat, f.First)
}

// Standing returns the overall result. It is Failed if a mutant was not caught or a promise was broken. Otherwise, it
// is Undecided if something was not run or not decided.
func (c *Corpus) Standing() document.Result {
	escaped, missing, open := false, len(c.Mutants)+len(c.Sound) == 0, false
	for i := range c.Mutants {
		m := &c.Mutants[i]
		escaped = escaped || m.searched() && !m.caught()
		missing = missing || !m.searched()
	}
	for i := range c.Sound {
		open = open || len(c.Sound[i].open()) > 0
	}
	switch {
	case escaped, c.promiseBroken():
		return document.Failed
	case missing, open:
		return document.Undecided
	}
	return document.Passed
}

// promiseBroken reports whether any sound lock broke a promise.
func (c *Corpus) promiseBroken() bool {
	return slices.ContainsFunc(c.Sound, func(l LockResult) bool { return len(l.broken()) > 0 })
}

// soundRuns returns the total number of runs for all sound locks.
func (c *Corpus) soundRuns() int {
	n := 0
	for i := range c.Sound {
		n += c.Sound[i].Done()
	}
	return n
}

// freeRuns returns the number of the sound locks' runs that were judged and whose plans were drawn independently of
// other runs. Only these runs bound how often a promise is broken (see campaign.UpperBound).
func (c *Corpus) freeRuns() int {
	n := 0
	for i := range c.Sound {
		l := &c.Sound[i]
		n += l.Done() - l.Failed.Runs
		if len(l.Laws) > 0 { // all laws have the same number of runs
			g := &l.Laws[0].Guided
			n -= g.Exercised() + g.Undecided + g.Unchecked
		}
	}
	return n
}

// caught returns the mutants that were caught, sorted by how many runs it took to catch them.
func (c *Corpus) caught() []MutantResult {
	list := slices.DeleteFunc(slices.Clone(c.Mutants), func(m MutantResult) bool { return !m.caught() })
	slices.SortStableFunc(list, func(a, b MutantResult) int { return a.runs() - b.runs() })
	return list
}

// median returns the nearest-rank median of the values that get returns for the mutants.
func median[T cmp.Ordered](list []MutantResult, get func(MutantResult) T) T {
	all := make([]T, len(list))
	for i := range list {
		all[i] = get(list[i])
	}
	return checker.NearestRank(all, 50)
}

// Document returns the report: a table of the mutants, grouped by lock, and a table of the sound locks.
func (c *Corpus) Document() *document.Document {
	result := c.Standing()
	d := &document.Document{
		Title: document.Title{Name: "corpus", Size: c.size(), Verdict: document.Words(result),
			Tone: result.Tone()},
		Interrupted: c.Interrupted, Files: c.Files, Repeat: c.Repeat, Data: c.data(), Suite: c.suite(),
	}
	if len(c.Mutants) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "Broken variants",
			Body: []document.Block{c.mutantTable(), c.caughtFacts()}})
	}
	if len(c.Slowest) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "Why the slowest mutants are seldom caught",
			Body: []document.Block{c.rarest()}})
	}
	if len(c.Sound) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "Sound locks", Body: c.sound()})
	}
	return d
}

// size says how many searches and runs there were.
func (c *Corpus) size() string {
	size := fmt.Sprintf("%s, at most %s each", text.Count(len(c.Mutants), "mutant"),
		text.CountGrouped(c.Seeds, "seed"))
	switch {
	case c.Seeds == 0:
		size = fmt.Sprintf("%s, %s together", text.Count(len(c.Sound), "sound lock"),
			text.CountGrouped(c.soundRuns(), "run"))
	case c.Starts > 1:
		size = fmt.Sprintf("%s, each with %s and at most %s", text.Count(len(c.Mutants), "mutant"),
			text.Count(c.Starts, "start"), text.CountGrouped(c.Seeds, "seed"))
	}
	if c.First > 0 {
		size += fmt.Sprintf(" from %d", c.First)
	}
	return size
}

func (c *Corpus) mutantTable() document.Table {
	t := document.Table{Columns: c.columns()}
	for i := range c.Mutants {
		m := &c.Mutants[i]
		result, how := document.NotJudged, "not run"
		switch {
		case m.caught():
			result, how = document.Passed, m.brokenLaw()
		case m.searched():
			result, how = document.Failed, "escaped"
		case m.Lost != "":
			how += ": " + m.Lost
		}
		defect := m.Defect
		if m.Source != "" {
			defect += " (" + m.Source + ")"
		}
		t.Rows = append(t.Rows, document.Row{Group: m.Of, Sign: result.Sign(), Tone: result.Tone(), Name: m.Name,
			Cells: document.Cells(append(c.numbers(m), fmt.Sprintf("%.2f", m.seconds()), how)...),
			Notes: []document.Paragraph{{Words: defect}}})
	}
	return t
}

const (
	meanTip = "the mean number of runs until the mutant is caught, with its 90% confidence interval"
	unaimed = "no fault aimed"
)

func (c *Corpus) columns() []document.Column {
	all := []document.Column{{Title: "seeds"}}
	if c.Starts > 1 {
		all = []document.Column{{Title: "seeds", Tip: meanTip}, {Title: "90%"}}
	}
	if c.Unaimed {
		group := document.Group{Title: unaimed, Tip: "the same searches with mix.aimed: 0%"}
		all = append(all, document.Column{Title: "seeds", Group: group}, document.Column{Title: "90%", Group: group},
			document.Column{Title: "ratio", Tip: "ratio of the means: below 1 if aimed faults catch the mutant sooner"})
	}
	return append(all, document.Column{Title: "seconds"}, document.Column{Title: "found", Words: true})
}

// numbers returns the cells in a mutant's row that show how many runs it takes to catch the mutant.
func (c *Corpus) numbers(m *MutantResult) []string {
	all := []string{text.Grouped(m.runs())}
	e, u := estimated(m.Searches), estimated(m.Unaimed)
	if c.Starts > 1 {
		all = []string{e.mean(), e.interval()}
	}
	if c.Unaimed {
		all = append(all, u.mean(), u.interval(), ratio(e.average(), u.average()))
	}
	return all
}

// ratio returns the ratio of two means as text.
func ratio(a, b float64) string {
	if r := a / b; !math.IsNaN(r) && !math.IsInf(r, 0) && r > 0 {
		return fmt.Sprintf("%.2f", r)
	}
	return "–"
}

// totals returns the total number of runs in all searches. If there were also searches with all faults drawn at random,
// totals compares their total with it.
func (c *Corpus) totals() document.Facts {
	var e, u estimate
	worst, name := 0.0, ""
	for i := range c.Mutants {
		m := &c.Mutants[i]
		a, b := estimated(m.Searches), estimated(m.Unaimed)
		e.Runs += a.Runs
		u.Runs += b.Runs
		if r := a.average() / b.average(); r > worst && !math.IsInf(r, 0) {
			worst, name = r, m.Name
		}
	}
	f := document.Facts{{Name: "runs", Value: fmt.Sprintf("%s from %s", text.Grouped(e.Runs),
		text.Count(c.Starts, "start seed"))}}
	if c.Unaimed && u.Runs > 0 && name != "" {
		f[0].Value += fmt.Sprintf("; with %s %s (ratio %s, highest %.2f of %s)", unaimed, text.Grouped(u.Runs),
			ratio(float64(e.Runs), float64(u.Runs)), worst, name)
	}
	return f
}

// rarest returns a table that explains, for each of the slowest mutants, why it is seldom caught.
func (c *Corpus) rarest() document.Table {
	t := document.Table{Heading: "slowest", Columns: []document.Column{{Title: "found", Words: true}}}
	for i := range c.Slowest {
		r := &c.Slowest[i]
		t.Rows = append(t.Rows, document.Row{Name: r.Mutant,
			Cells: document.Cells(fmt.Sprintf("%s: %s", r.Law, r.Cause)),
			Notes: []document.Paragraph{{Words: r.explanation()}}})
	}
	return t
}

// caughtFacts summarizes the searches for the mutants.
func (c *Corpus) caughtFacts() document.Facts {
	list, of := c.caught(), text.Count(len(c.Mutants), "mutant")
	if len(list) == 0 {
		return document.Facts{{Name: "caught", Value: "none of " + of}}
	}
	longest := slices.MaxFunc(list, func(a, b MutantResult) int { return int(a.Took - b.Took) })
	last := list[len(list)-1]
	f := document.Facts{
		{Name: "caught", Value: fmt.Sprintf("%d of %s; median %s, maximum %s (%s)", len(list), of,
			text.CountGrouped(median(list, MutantResult.runs), "seed"), text.CountGrouped(last.runs(), "seed"),
			last.Name)},
		{Name: "seconds", Value: fmt.Sprintf("median %.2f, maximum %.2f (%s)", median(list, MutantResult.seconds),
			longest.seconds(), longest.Name)},
	}
	if c.Starts > 1 {
		f = append(f, c.totals()...)
	}
	return f
}

// sound returns the table of sound locks, followed by commands that reproduce the broken promises or, if no promise was
// broken, by an upper bound on the probability that a run breaks one.
func (c *Corpus) sound() []document.Block {
	t := document.Table{Heading: "sound lock", Columns: []document.Column{{Title: "runs"},
		{Title: "promises", Words: true}}}
	var after []document.Block
	for i := range c.Sound {
		l := &c.Sound[i]
		broken, open := l.broken(), l.open()
		result := document.Passed
		switch {
		case len(broken) > 0:
			result = document.Failed
		case len(open) > 0:
			result = document.Undecided
		}
		row := document.Row{Sign: result.Sign(), Tone: result.Tone(), Name: l.Lock.Name,
			Cells: document.Cells(text.Grouped(l.Done()), strings.Join(document.LawNames(l.Lock.Promise.Laws), ", "))}
		for _, words := range open {
			row.Notes = append(row.Notes, document.Paragraph{Words: words, Tone: document.Open})
		}
		for j, b := range broken {
			row.Notes = append(row.Notes, document.Paragraph{Words: fmt.Sprintf("%s: %s, in %s, first with seed %d",
				b.Law, b.Cause, text.CountGrouped(b.Runs, "run"), b.First), Tone: document.Bad})
			if j == len(broken)-1 || broken[j+1].First != b.First {
				after = append(after, document.Command(l.repeat(b)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if !c.promiseBroken() {
		after = append(after, document.Facts{{Name: "sound", Value: fmt.Sprintf("no promise was broken in %s: "+
			"with 95%% confidence, fewer than %s of runs break a promise", text.CountGrouped(c.soundRuns(), "run"),
			text.Percentage(campaign.UpperBound(c.freeRuns())))}})
	}
	return append([]document.Block{t}, after...)
}

// suite returns a test case for each mutant and each sound lock.
func (c *Corpus) suite() document.Suite {
	s := document.Suite{Name: "corpus", Repeat: c.Repeat, Cases: document.InterruptedCases("corpus", c.Interrupted)}
	for i := range c.Mutants {
		m := &c.Mutants[i]
		one := document.Case{Group: m.Of, Name: m.Name, Message: m.Defect}
		switch {
		case m.caught():
			one.Result, one.Message = document.Passed,
				fmt.Sprintf("%s; caught after %d runs by %s", m.Defect, m.runs(), m.brokenLaw())
		case m.searched():
			one.Result, one.Message = document.Failed, fmt.Sprintf("%s; not caught in %d runs", m.Defect, m.runs())
		}
		s.Cases = append(s.Cases, one)
	}
	for i := range c.Sound {
		l := &c.Sound[i]
		one := document.Case{Group: "sound", Name: l.Lock.Name, Result: document.Passed,
			Message: fmt.Sprintf("every promise was kept in %d runs", l.Done())}
		if open := l.open(); len(open) > 0 {
			one.Result, one.Message = document.Undecided, strings.Join(open, "; ")
		}
		for _, b := range l.broken() {
			one.Result, one.Message = document.Failed, "broke a promise"
			one.Story += fmt.Sprintf("%s: %s, in %d runs, first with seed %d\nagain: %s\n", b.Law, b.Cause, b.Runs,
				b.First, l.repeat(b))
		}
		s.Cases = append(s.Cases, one)
	}
	return s
}
