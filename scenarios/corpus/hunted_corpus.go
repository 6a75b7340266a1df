// Package corpus tells which broken variants of sound locks were caught, how soon, and how the sound locks fared.
//
// Goals: what was not run or not told is never a pass. Equal runs give equal JSON: it states no times of the host.
// Non-goals: hunting (scenarios/search), the locks (scenarios/corpus).
package corpus

import (
	"cmp"
	"fmt"
	"io"
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

// Corpus says which mutants of sound locks were caught, and how the sound locks fared.
type Corpus struct {
	First       uint64 // the first seed of each mutant and of each lock
	Seeds       int    // at most so many runs of each mutant
	Mutants     []HuntedMutant
	Sound       []SoundLock // empty if they were not run
	Interrupted bool        // a signal came before everything was run
	Files       string      // folder with the scenario of each
	Repeat      string      // command to paste that does it again
}

// HuntedMutant is one mutant and what became of it.
type HuntedMutant struct {
	Mutant
	Hunt *search.Hunted // nil if the work was stopped before
	Took time.Duration  // by the host's clock; not in JSON
	File string         // its scenario
}

// hunted reports whether the hunt went to its end, runs how many runs that took.
func (m HuntedMutant) hunted() bool { return m.Hunt != nil && !m.Hunt.Cut }

func (m HuntedMutant) runs() int {
	if m.Hunt == nil {
		return 0
	}
	return m.Hunt.Seeds
}

func (m HuntedMutant) seconds() float64 { return m.Took.Seconds() }

func (m HuntedMutant) caught() bool { return m.Hunt != nil && m.Hunt.Caught }

// how is what it broke, and by what.
func (m HuntedMutant) how() string { return fmt.Sprintf("%s: %s", m.Hunt.Law, m.Hunt.Cause) }

// SoundLock is a sound lock under random faults.
type SoundLock struct {
	*search.Exploration
	Lock   *scenarios.Scenario
	Repeat string // command to paste, but for the seeds, that explores it
}

// open says why it cannot be told whether the lock keeps its promises; nothing if it can.
func (l *SoundLock) open() []string {
	_, open := l.Standing(l.Lock)
	return open
}

// broken are the promises that it broke.
func (l *SoundLock) broken() (all []campaign.Finding) {
	for _, f := range l.Findings {
		if l.Lock.Promise.Covers(f.Law, f.Cause) {
			all = append(all, f)
		}
	}
	return all
}

// repeat is the command to paste that shows a broken promise.
func (l *SoundLock) repeat(f campaign.Finding) string {
	return fmt.Sprintf("%s --seed %d --seeds 1", l.Repeat, f.First)
}

// Standing says how the corpus came out: Otherwise if a mutant escaped or a promise was broken, NotDecidable if not
// everything was run or told.
func (c *Corpus) Standing() document.Result {
	escaped, unhunted, open := false, len(c.Mutants) == 0, false
	for i := range c.Mutants {
		m := &c.Mutants[i]
		escaped = escaped || m.hunted() && !m.caught()
		unhunted = unhunted || !m.hunted()
	}
	for i := range c.Sound {
		open = open || len(c.Sound[i].open()) > 0
	}
	switch {
	case escaped, c.promiseBroken():
		return document.Failed
	case unhunted, open:
		return document.Undecided
	}
	return document.Passed
}

// promiseBroken reports whether some sound lock broke one.
func (c *Corpus) promiseBroken() bool {
	return slices.ContainsFunc(c.Sound, func(l SoundLock) bool { return len(l.broken()) > 0 })
}

// soundRuns is how many runs all sound locks had.
func (c *Corpus) soundRuns() int {
	n := 0
	for i := range c.Sound {
		n += c.Sound[i].Done
	}
	return n
}

// caught are the mutants that were, those that took the fewest runs first.
func (c *Corpus) caught() []HuntedMutant {
	list := slices.DeleteFunc(slices.Clone(c.Mutants), func(m HuntedMutant) bool { return !m.caught() })
	slices.SortStableFunc(list, func(a, b HuntedMutant) int { return a.runs() - b.runs() })
	return list
}

// median is the nearest-rank median of what of gives for each mutant.
func median[T cmp.Ordered](list []HuntedMutant, of func(HuntedMutant) T) T {
	all := make([]T, len(list))
	for i := range list {
		all[i] = of(list[i])
	}
	return checker.NearestRank(all, 50)
}

// Text writes a table of the mutants, by their locks, and one of the sound locks. The error is w's.
func (c *Corpus) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	standing := map[document.Result]string{document.Passed: document.AsExpected,
		document.Failed: document.NotExpected}[c.Standing()]
	document.Title(p, "corpus", c.size(), cmp.Or(standing, document.Undecided.String()))
	of := ""
	for i := range c.Mutants {
		if m := &c.Mutants[i]; m.Of != of {
			of = m.Of
			p.Blank()
			p.Put(new(text.Line).Add(text.Bold, of).To(29).Add(text.Plain, "seeds").To(36).Add(text.Plain, "seconds"))
		}
		mutantLines(p, &c.Mutants[i])
	}
	p.Blank()
	caughtLines(p, c)
	if len(c.Sound) > 0 {
		p.Blank()
		soundLines(p, c)
	}
	p.Blank()
	document.Stopped(p, c.Interrupted)
	document.Closing(p, c.Files, c.Repeat)
	return p.Err()
}

// size says how much was done.
func (c *Corpus) size() string {
	size := fmt.Sprintf("%s, at most %s each", text.Count(len(c.Mutants), "mutant"),
		text.CountGrouped(c.Seeds, "seed"))
	if c.First > 0 {
		size += fmt.Sprintf(" from %d", c.First)
	}
	return size
}

func mutantLines(p *text.Writer, m *HuntedMutant) {
	const from = 45
	mark, tone, what := "✗", text.Red, "escaped"
	switch {
	case m.caught():
		mark, tone, what = "✓", text.Green, m.how()
	case !m.hunted():
		mark, tone, what = "–", text.Plain, "not run"
	}
	for i, words := range text.Wrap(what, p.Width()-from) {
		ln := new(text.Line)
		if i == 0 {
			ln.Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " "+m.Name)
			ln.Right(34, text.Grouped(m.runs()))
			took := fmt.Sprintf("%.2f", m.seconds())
			ln.To(43-text.Cells(took)).Add(text.Plain, took)
		}
		p.Put(ln.To(from).Add(text.Plain, words))
	}
	words := m.Defect
	if m.Source != "" {
		words += " (" + m.Source + ")"
	}
	p.Text(text.Plain, 5, words)
}

// caughtLines sum the mutants up.
func caughtLines(p *text.Writer, c *Corpus) {
	list := c.caught()
	if len(list) == 0 {
		p.Hang(0, "caught  ", text.Plain, "none of "+text.Count(len(c.Mutants), "mutant"))
		return
	}
	last := list[len(list)-1]
	p.Hang(0, "caught  ", text.Plain,
		fmt.Sprintf("%d of %s; median %s, most %s (%s)", len(list), text.Count(len(c.Mutants), "mutant"),
			text.CountGrouped(median(list, HuntedMutant.runs), "seed"),
			text.CountGrouped(last.runs(), "seed"), last.Name))
	slices.SortStableFunc(list, func(a, b HuntedMutant) int { return int(a.Took - b.Took) })
	last = list[len(list)-1]
	p.Hang(0, "seconds ", text.Plain,
		fmt.Sprintf("median %.2f, most %.2f (%s)", median(list, HuntedMutant.seconds), last.seconds(), last.Name))
}

func soundLines(p *text.Writer, c *Corpus) {
	const from = 39
	p.Put(new(text.Line).Add(text.Bold, "sound lock").To(33).Add(text.Plain, "runs").To(from).Add(text.Plain,
		"promises"))
	for i := range c.Sound {
		l := &c.Sound[i]
		broken, open := l.broken(), l.open()
		mark, tone := "✓", text.Green
		switch {
		case len(broken) > 0:
			mark, tone = "✗", text.Red
		case len(open) > 0:
			mark, tone = "?", text.Yellow
		}
		for j, words := range text.Wrap(strings.Join(document.LawNames(l.Lock.Promise.Laws), ", "), p.Width()-from) {
			ln := new(text.Line)
			if j == 0 {
				ln.Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " "+l.Lock.Name)
				ln.Right(from-2, text.Grouped(l.Done))
			}
			p.Put(ln.To(from).Add(text.Plain, words))
		}
		for _, open := range open {
			p.Text(text.Yellow, 5, open)
		}
		for j, b := range broken {
			p.Text(text.Red, 5, fmt.Sprintf("%s: %s, in %s, first with seed %d", b.Law, b.Cause,
				text.CountGrouped(b.Runs, "run"), b.First))
			if j == len(broken)-1 || broken[j+1].First != b.First {
				document.Again(p, l.repeat(b))
			}
		}
	}
	if !c.promiseBroken() {
		p.Blank()
		p.Hang(0, "sound   ", text.Plain,
			fmt.Sprintf("no promise was broken in %s: a run breaks one with a chance below %s (95 %% sure)",
				text.CountGrouped(c.soundRuns(), "run"), text.Percentage(campaign.UpperBound(c.soundRuns()))))
	}
}

// Suite has a case for each mutant and each sound lock.
func (c *Corpus) Suite() document.Suite {
	s := document.Suite{Name: "corpus", Repeat: c.Repeat, Cases: document.InterruptedCases("corpus", c.Interrupted)}
	for i := range c.Mutants {
		m := &c.Mutants[i]
		one := document.Case{Group: m.Of, Name: m.Name, Message: m.Defect}
		switch {
		case m.caught():
			one.Result, one.Message = document.Passed,
				fmt.Sprintf("%s; caught after %d runs by %s", m.Defect, m.runs(), m.how())
		case m.hunted():
			one.Result, one.Message = document.Failed, fmt.Sprintf("%s; not caught in %d runs", m.Defect, m.runs())
		}
		s.Cases = append(s.Cases, one)
	}
	for i := range c.Sound {
		l := &c.Sound[i]
		one := document.Case{Group: "sound", Name: l.Lock.Name, Result: document.Passed,
			Message: fmt.Sprintf("every promise kept in %d runs", l.Done)}
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
