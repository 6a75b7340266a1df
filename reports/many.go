package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Many is a number of runs of one scenario, and those among them that are worth showing.
type Many struct {
	*search.Runs
	Subject *scenarios.Scenario
	Shown   []*single.Run // of the seeds of Worth: the text shows the first in full
	Sample  *single.Run   // one that came out as expected, if there is no other to show; may be nil
	Repeat  string        // command to paste that makes the same runs again
}

// Text writes the report of many runs: how they came out, the unexpected ones by law and cause, then the first
// run worth showing in full. The error is w's.
func (many *Many) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	many.opening().Write(p)
	p.Blank()
	totals(p, many)
	if len(many.Campaign.Groups) > 0 {
		p.Blank()
		p.Put(new(text.Line).Add(text.Bold, "What came out otherwise"))
		for i := range many.Campaign.Groups {
			groupLine(p, &many.Campaign.Groups[i])
		}
	}
	p.Blank()
	if len(many.Laws) > 0 {
		lawTable(p, many.lawsCompared(), compared)
		p.Blank()
	}
	if len(many.Plan) > 0 {
		plannedFaults(p, many)
		p.Blank()
	}
	document.Stopped(p, !many.Finished())
	failures(p, many.Failed.Open(many.Done), &many.Failed)
	if many.Repeat != "" {
		document.Again(p, many.Repeat)
	}
	if len(many.Shown) > 0 {
		p.Blank()
		document.Whole{Document: many.Shown[0].Document()}.Text(p)
	}
	return p.Err()
}

// size says which seeds were run.
func (m *Many) size() string {
	what := fmt.Sprintf("%s from %d", text.Count(m.Done, "seed"), m.From)
	if m.Shard != search.Whole {
		what += ", shard " + m.Shard.String()
	}
	return what
}

// total is how many runs came out in one way.
type total struct {
	words string
	n     int
	tone  text.Style
}

func (m *Many) totals() []total {
	c, good := &m.Campaign, text.Green
	if m.standing().Broken {
		good = text.Plain
	}
	return []total{{"as expected", c.AsExpected, good}, {"not as expected", c.Otherwise, text.Red},
		{"undecided", m.undecided(), text.Yellow}, {"distinct runs, by digest", c.Digests(), text.Plain}}
}

// undecided is how many runs are, those included that could not be judged, or that an interruption left out.
func (m *Many) undecided() int { return m.Campaign.Undecided + m.Failed.Runs + m.Size() - m.Done }

// failures says why something is undecided, and how the lock's own code failed, if it did: its first line stands there
// already.
func failures(p *text.Writer, open []string, f *search.Failed) {
	document.WriteNotes(p, "reason  ", open)
	for _, line := range f.Why[min(1, len(f.Why)):] {
		p.Text(text.Plain, 8, line)
	}
}

func totals(p *text.Writer, m *Many) {
	for _, t := range m.totals() {
		tone := t.tone
		if t.n == 0 {
			tone = text.Plain
		}
		n := strconv.Itoa(t.n)
		p.Put(new(text.Line).To(9-len(n)).Add(tone, n).Add(text.Plain, "  "+t.words))
	}
}

// came is how a law or metric came out.
func came(g *format.Group) string {
	if g.Got == "" {
		return "outside"
	}
	return g.Got
}

func groupLine(p *text.Writer, g *format.Group) {
	n := strconv.Itoa(g.Runs)
	p.Hang(9-len(n), n+"  ", text.Red,
		fmt.Sprintf("%s: expected %s, got %s; first with seed %d", g.Name, g.Want, came(g), g.First))
}

// plannedFaults says in how many runs each fault struck, and struck while the lock was held or asked for.
func plannedFaults(p *text.Writer, m *Many) {
	p.Put(new(text.Line).Right(p.Margin(), "struck while the lock"))
	p.Put(new(text.Line).Add(text.Bold, "fault").Right(p.Margin()-23, "struck").Right(p.Margin(),
		"was held or asked for"))
	for _, f := range m.Plan {
		tone := text.Plain
		if f.Met == 0 {
			tone = text.Yellow
		}
		words := text.Wrap(f.Line, p.Margin()-34)
		for i, t := range words {
			ln := new(text.Line).To(3).Add(tone, t)
			if i == len(words)-1 {
				ln.Right(p.Margin()-23, text.Grouped(f.Struck))
				ln.Right(p.Margin(), text.Grouped(f.Met))
			}
			p.Put(ln)
		}
	}
}

// Suite has a case for each law, and for each metric that the scenario names, and one for each reason why nothing can
// be said.
func (m *Many) Suite() document.Suite {
	s := document.Suite{Name: "run " + m.Scenario, Verdict: m.standing().Words(), Headline: m.headline(),
		Note: m.idle(), Repeat: m.Repeat}
	lines := m.lines()
	for i := range lines {
		got, how := m.cameOut(&lines[i])
		c := lines[i].Case(m.Scenario, got, how)
		if run := m.shows(&c); run != nil {
			c.Story = run.Story(c.Name)
		}
		s.Cases = append(s.Cases, c)
	}
	s.Cases = append(s.Cases, document.InterruptedCases(m.Scenario, !m.Finished())...)
	s.Cases = append(s.Cases, document.OpenCases(m.Scenario, m.Failed.Open(m.Done))...)
	return s
}
