package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// TextMany writes the report of many runs: how they came out, the unexpected ones by law and cause, then the first
// run worth showing in full. The error is w's.
func TextMany(w io.Writer, many *Many, opt TextOptions) error {
	p := opt.page(w)
	title(p, many.Scenario, many.size(), many.standing())
	if many.Summary != "" {
		p.Text(term.Plain, 2, many.Summary)
	}
	p.Blank()
	totals(p, many)
	if len(many.Groups) > 0 {
		p.Blank()
		p.Put(new(term.Line).Add(term.Bold, "What came out otherwise"))
		for i := range many.Groups {
			groupLine(p, &many.Groups[i])
		}
	}
	p.Blank()
	if len(many.Laws) > 0 {
		lawTable(p, many.Laws, "")
		p.Blank()
	}
	if len(many.Faults) > 0 {
		plannedFaults(p, many)
		p.Blank()
	}
	stopped(p, many.Interrupted)
	if many.Repeat != "" {
		command(p, many.Repeat)
	}
	if len(many.Runs) > 0 {
		p.Blank()
		p.Rule()
		textRun(p, many.Runs[0])
	}
	return p.Err()
}

func (m *Many) standing() string {
	switch {
	case m.Unexpected > 0:
		return notExpected
	case m.Undecided > 0, m.Expected == 0:
		return undecided
	}
	return asExpected
}

// size says which seeds were run.
func (m *Many) size() string {
	what := fmt.Sprintf("%s from %d", phrase.Count(m.Seeds, "seed"), m.From)
	if m.Shard != "" {
		what += ", shard " + m.Shard
	}
	return what
}

// total is how many runs came out in one way.
type total struct {
	words string
	n     int
	tone  term.Style
}

func (m *Many) totals() []total {
	return []total{{"as expected", m.Expected, term.Green}, {"not as expected", m.Unexpected, term.Red}, {"undecided", m.Undecided, term.Yellow},
		{"distinct runs, by digest", m.Digests, term.Plain}}
}

func totals(p *term.Writer, m *Many) {
	for _, t := range m.totals() {
		tone := t.tone
		if t.n == 0 {
			tone = term.Plain
		}
		n := strconv.Itoa(t.n)
		p.Put(new(term.Line).To(9-len(n)).Add(tone, n).Add(term.Plain, "  "+t.words))
	}
}

// came is how a law or metric came out.
func (g *Group) came() string {
	if g.Got == "" {
		return "outside"
	}
	return g.Got
}

func groupLine(p *term.Writer, g *Group) {
	n := strconv.Itoa(g.Runs)
	p.Hang(9-len(n), n+"  ", term.Red, fmt.Sprintf("%s: expected %s, got %s; first with seed %d", g.Name, g.Expected, g.came(), g.First))
}

// plannedFaults says in how many runs each fault struck, and met a lock that somebody asked for or held.
func plannedFaults(p *term.Writer, m *Many) {
	p.Put(new(term.Line).Add(term.Bold, "fault").To(p.Margin()-25).Add(term.Plain, "struck").To(p.Margin()-17).Add(term.Plain, "met a lock in use"))
	for _, f := range m.Faults {
		tone := term.Plain
		if f.Met == 0 {
			tone = term.Yellow
		}
		words := term.Wrap(f.Line, p.Margin()-30)
		for i, t := range words {
			ln := new(term.Line).To(3).Add(tone, t)
			if i == len(words)-1 {
				ln.Right(p.Margin()-18, phrase.Grouped(f.Struck))
				ln.Right(p.Margin(), phrase.Grouped(f.Met))
			}
			p.Put(ln)
		}
	}
}
