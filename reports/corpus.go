package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Corpus says which mutants of sound locks were caught, and how the sound locks fared.
type Corpus struct {
	First   uint64 // the first seed of each mutant and of each lock
	Seeds   int    // at most so many runs of each mutant
	Mutants []HuntedMutant
	Sound   []SoundLock // empty if they were not run
	// Bound is the upper 95 % confidence bound of the rate of broken promises per run of a sound lock, over all of them. It is
	// stated if none was broken.
	Bound       float64
	Interrupted bool   // a signal came before everything was run
	Files       string // folder with the scenario of each
	Repeat      string // command to paste that does it again
}

// HuntedMutant is one mutant and what became of it.
type HuntedMutant struct {
	Name, Of   string
	Defect     string
	Source     string // of the defect; empty: a wrong setting
	Edits      []string
	Hunted     bool // false if the work was stopped before
	Caught     bool
	Runs       int // until it was caught, or all
	Law, Cause string
	Took       time.Duration // by the host's clock; not in JSON
	Scenario   string        // its file
}

// SoundLock is a sound lock under random faults.
type SoundLock struct {
	Name    string
	Promise []string
	Runs    int
	Open    []string // why it cannot be told whether it keeps its promises; empty if it can
	Broken  []BrokenPromise
}

// BrokenPromise is a law that a sound lock promises and broke.
type BrokenPromise struct {
	Law, Cause string
	Runs       int
	First      uint64 // the lowest seed
	Repeat     string // command to paste that shows it
}

// Standing says how the corpus came out: Failed if a mutant escaped or a promise was broken, Undecided if not everything was
// run or told.
func (c *Corpus) Standing() Result {
	escaped := func(m HuntedMutant) bool { return m.Hunted && !m.Caught }
	unhunted := func(m HuntedMutant) bool { return !m.Hunted }
	switch {
	case slices.ContainsFunc(c.Mutants, escaped), slices.ContainsFunc(c.Sound, func(l SoundLock) bool { return len(l.Broken) > 0 }):
		return Failed
	case len(c.Mutants) == 0, slices.ContainsFunc(c.Mutants, unhunted),
		slices.ContainsFunc(c.Sound, func(l SoundLock) bool { return len(l.Open) > 0 }):
		return Undecided
	}
	return Passed
}

// SoundRuns is how many runs all sound locks had.
func (c *Corpus) SoundRuns() int {
	n := 0
	for i := range c.Sound {
		n += c.Sound[i].Runs
	}
	return n
}

// caught are the mutants that were, those that took the fewest runs first.
func (c *Corpus) caught() []HuntedMutant {
	list := slices.DeleteFunc(slices.Clone(c.Mutants), func(m HuntedMutant) bool { return !m.Caught })
	slices.SortStableFunc(list, func(a, b HuntedMutant) int { return a.Runs - b.Runs })
	return list
}

// median is of an odd number of values the middle one, of an even number the upper of the two; zero of none.
func median[T any](sorted []T) (m T) {
	if len(sorted) > 0 {
		m = sorted[len(sorted)/2]
	}
	return m
}

// CorpusText writes a table of the mutants, by their locks, and one of the sound locks. The error is w's.
func CorpusText(w io.Writer, c *Corpus, opt TextOptions) error {
	p := opt.page(w)
	standing := map[Result]string{Passed: asExpected, Failed: "not as expected"}[c.Standing()]
	title(p, "corpus", c.size(), cmp.Or(standing, undecided))
	of := ""
	for i := range c.Mutants {
		if m := &c.Mutants[i]; m.Of != of {
			of = m.Of
			p.Blank()
			p.Put(new(term.Line).Add(term.Bold, of).To(29).Add(term.Plain, "seeds").To(36).Add(term.Plain, "seconds"))
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
	stopped(p, c.Interrupted)
	closing(p, c.Files, c.Repeat)
	return p.Err()
}

// size says how much was done.
func (c *Corpus) size() string {
	size := fmt.Sprintf("%s, at most %s each", phrase.Count(len(c.Mutants), "mutant"), phrase.CountGrouped(c.Seeds, "seed"))
	if c.First > 0 {
		size += fmt.Sprintf(" from %d", c.First)
	}
	return size
}

func mutantLines(p *term.Writer, m *HuntedMutant) {
	const from = 45
	mark, tone, what := "✓", term.Green, m.Law+": "+m.Cause
	switch {
	case !m.Hunted:
		mark, tone, what = "–", term.Plain, "not run"
	case !m.Caught:
		mark, tone, what = "✗", term.Red, "escaped"
	}
	for i, text := range term.Wrap(what, p.Width()-from) {
		ln := new(term.Line)
		if i == 0 {
			ln.Add(term.Plain, " ").Add(tone, mark).Add(term.Plain, " "+m.Name)
			ln.Right(34, phrase.Grouped(m.Runs))
			took := fmt.Sprintf("%.2f", m.Took.Seconds())
			ln.To(43-term.Cells(took)).Add(term.Plain, took)
		}
		p.Put(ln.To(from).Add(term.Plain, text))
	}
	text := m.Defect
	if m.Source != "" {
		text += " (" + m.Source + ")"
	}
	p.Text(term.Plain, 5, text)
}

// caughtLines sum the mutants up.
func caughtLines(p *term.Writer, c *Corpus) {
	list := c.caught()
	if len(list) == 0 {
		p.Hang(0, "caught  ", term.Plain, "none of "+phrase.Count(len(c.Mutants), "mutant"))
		return
	}
	last := list[len(list)-1]
	p.Hang(0, "caught  ", term.Plain, fmt.Sprintf("%d of %s; median %s, most %s (%s)", len(list), phrase.Count(len(c.Mutants), "mutant"),
		phrase.CountGrouped(median(list).Runs, "seed"), phrase.CountGrouped(last.Runs, "seed"), last.Name))
	slices.SortStableFunc(list, func(a, b HuntedMutant) int { return int(a.Took - b.Took) })
	last = list[len(list)-1]
	p.Hang(0, "seconds ", term.Plain, fmt.Sprintf("median %.2f, most %.2f (%s)", median(list).Took.Seconds(), last.Took.Seconds(), last.Name))
}

func soundLines(p *term.Writer, c *Corpus) {
	const from = 39
	p.Put(new(term.Line).Add(term.Bold, "sound lock").To(33).Add(term.Plain, "runs").To(from).Add(term.Plain, "promises"))
	broken := false
	for i := range c.Sound {
		l := &c.Sound[i]
		mark, tone := "✓", term.Green
		switch {
		case len(l.Broken) > 0:
			mark, tone, broken = "✗", term.Red, true
		case len(l.Open) > 0:
			mark, tone = "?", term.Yellow
		}
		for j, text := range term.Wrap(strings.Join(l.Promise, ", "), p.Width()-from) {
			ln := new(term.Line)
			if j == 0 {
				ln.Add(term.Plain, " ").Add(tone, mark).Add(term.Plain, " "+l.Name)
				ln.Right(from-2, phrase.Grouped(l.Runs))
			}
			p.Put(ln.To(from).Add(term.Plain, text))
		}
		for _, open := range l.Open {
			p.Text(term.Yellow, 5, open)
		}
		for j, b := range l.Broken {
			p.Text(term.Red, 5, fmt.Sprintf("%s: %s, in %s, first with seed %d", b.Law, b.Cause, phrase.CountGrouped(b.Runs, "run"), b.First))
			if j == len(l.Broken)-1 || l.Broken[j+1].Repeat != b.Repeat {
				command(p, b.Repeat)
			}
		}
	}
	if !broken {
		p.Blank()
		p.Hang(0, "sound   ", term.Plain, fmt.Sprintf("no promise was broken in %s: a run breaks one with a chance below %s (95 %% sure)",
			phrase.CountGrouped(c.SoundRuns(), "run"), phrase.Percentage(c.Bound)))
	}
}
