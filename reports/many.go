package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// TextMany writes the report of many runs: how they came out, the unexpected ones by law and cause, then the first
// run worth showing in full. The error is w's.
func TextMany(w io.Writer, many *Many, opt TextOptions) error {
	p := opt.page(w)
	title(p, many.Scenario, many.size(), many.standing())
	if many.Summary != "" {
		p.text(plain, 2, many.Summary)
	}
	p.blank()
	totals(p, many)
	if len(many.Groups) > 0 {
		p.blank()
		p.put(new(line).add(bold, "What came out otherwise"))
		for i := range many.Groups {
			groupLine(p, &many.Groups[i])
		}
	}
	p.blank()
	if len(many.Laws) > 0 {
		lawTable(p, many.Laws, "")
		p.blank()
	}
	if len(many.Faults) > 0 {
		plannedFaults(p, many)
		p.blank()
	}
	stopped(p, many.Interrupted)
	if many.Repeat != "" {
		command(p, many.Repeat)
	}
	if len(many.Runs) > 0 {
		p.blank()
		rule(p)
		textRun(p, many.Runs[0])
	}
	return p.err
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
	tone  style
}

func (m *Many) totals() []total {
	return []total{{"as expected", m.Expected, green}, {"not as expected", m.Unexpected, red}, {"undecided", m.Undecided, yellow},
		{"distinct runs, by digest", m.Digests, plain}}
}

func totals(p *page, m *Many) {
	for _, t := range m.totals() {
		tone := t.tone
		if t.n == 0 {
			tone = plain
		}
		n := strconv.Itoa(t.n)
		p.put(new(line).to(9-len(n)).add(tone, n).add(plain, "  "+t.words))
	}
}

// came is how a law or metric came out.
func (g *Group) came() string {
	if g.Got == "" {
		return "outside"
	}
	return g.Got
}

func groupLine(p *page, g *Group) {
	n := strconv.Itoa(g.Runs)
	p.hang(9-len(n), n+"  ", red, fmt.Sprintf("%s: expected %s, got %s; first with seed %d", g.Name, g.Expected, g.came(), g.First))
}

// plannedFaults says in how many runs each fault struck, and met a lock that somebody asked for or held.
func plannedFaults(p *page, m *Many) {
	p.put(new(line).add(bold, "fault").to(p.margin()-25).add(plain, "struck").to(p.margin()-17).add(plain, "met a lock in use"))
	for _, f := range m.Faults {
		tone := plain
		if f.Met == 0 {
			tone = yellow
		}
		words := wrap(f.Line, p.margin()-30)
		for i, t := range words {
			ln := new(line).to(3).add(tone, t)
			if i == len(words)-1 {
				right(ln, p.margin()-18, f.Struck)
				right(ln, p.margin(), f.Met)
			}
			p.put(ln)
		}
	}
}

func rule(p *page) {
	ln := new(line)
	for range p.width {
		ln.add(plain, "─")
	}
	p.put(ln)
}
