package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Many is a number of runs of one scenario, and those among them that are worth showing.
type Many struct {
	*search.Runs
	Subject *scenarios.Scenario
	Shown   []*Run // worth showing; the text shows the first in full
	Sample  *Run   // one that came out as expected, for a page that has no other to show; may be nil
	Repeat  string // command to paste that makes the same runs again
}

// Text writes the report of many runs: how they came out, the unexpected ones by law and cause, then the first
// run worth showing in full. The error is w's.
func (many *Many) Text(w io.Writer, opt TextOptions) error {
	p := opt.page(w)
	title(p, many.Scenario, many.size(), many.standing())
	if many.Subject.Summary != "" {
		p.text(plain, 2, many.Subject.Summary)
	}
	p.blank()
	totals(p, many)
	if len(many.Campaign.Groups) > 0 {
		p.blank()
		p.put(new(line).add(bold, "What came out otherwise"))
		for i := range many.Campaign.Groups {
			groupLine(p, &many.Campaign.Groups[i])
		}
	}
	p.blank()
	if len(many.Laws) > 0 {
		lawTable(p, promised(many.Laws, many.Subject), "")
		p.blank()
	}
	if len(many.Plan) > 0 {
		plannedFaults(p, many)
		p.blank()
	}
	stopped(p, !many.Finished())
	if many.Repeat != "" {
		command(p, many.Repeat)
	}
	if len(many.Shown) > 0 {
		p.blank()
		rule(p)
		textRun(p, many.Shown[0])
	}
	return p.err
}

func (m *Many) standing() string {
	switch m.Standing() {
	case expect.Otherwise:
		return notExpected
	case expect.AsExpected:
		return asExpected
	}
	return undecided
}

// size says which seeds were run.
func (m *Many) size() string {
	what := fmt.Sprintf("%s from %d", phrase.Count(m.Campaign.Seeds, "seed"), m.From)
	if m.Shard != search.Whole {
		what += ", shard " + m.Shard.String()
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
	c := &m.Campaign
	return []total{{"as expected", c.AsExpected, green}, {"not as expected", c.Otherwise, red}, {"undecided", m.undecided(), yellow},
		{"distinct runs, by digest", c.Digests(), plain}}
}

// undecided is how many runs are, those included that an interruption left out.
func (m *Many) undecided() int { return m.Campaign.Undecided + m.Size() - m.Done }

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
func came(g *expect.Group) string {
	if g.Got == "" {
		return "outside"
	}
	return g.Got
}

func groupLine(p *page, g *expect.Group) {
	n := strconv.Itoa(g.Runs)
	p.hang(9-len(n), n+"  ", red, fmt.Sprintf("%s: expected %s, got %s; first with seed %d", g.Name, g.Want, came(g), g.First))
}

// plannedFaults says in how many runs each fault struck, and met a lock that somebody asked for or held.
func plannedFaults(p *page, m *Many) {
	p.put(new(line).add(bold, "fault").to(p.margin()-25).add(plain, "struck").to(p.margin()-17).add(plain, "met a lock in use"))
	for _, f := range m.Plan {
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

// Suite has a case for what came out otherwise in some run, and one for all the rest.
func (m *Many) Suite() Suite {
	s := Suite{Name: "run " + m.Scenario, Repeat: m.Repeat}
	result := m.Standing()
	if result == expect.NotJudged {
		result = expect.NotDecidable
	}
	all := Case{Group: m.Scenario, Name: "all seeds", Result: result,
		Message: fmt.Sprintf("%d of %d runs as expected", m.Campaign.AsExpected, m.Campaign.Seeds)}
	s.Cases = append(s.Cases, all)
	s.Cases = append(s.Cases, interruptedCases(m.Scenario, !m.Finished())...)
	for _, g := range m.Campaign.Groups {
		c := Case{Group: m.Scenario, Name: g.Name, Result: expect.Otherwise,
			Message: fmt.Sprintf("expected %s, got %s in %d runs, first with seed %d", g.Want, g.Got, g.Runs, g.First)}
		for _, r := range m.Shown {
			if r.Seed == g.First {
				c.Story = r.story(g.Name)
			}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
