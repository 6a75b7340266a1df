package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// screenLines is how many lines the report of an exploration may take, all told.
const screenLines = 50

// planGroup is what one smallest plan breaks: findings with the same plan, the gravest first.
type planGroup struct {
	Findings []*ExploredFinding
	at       []int // where they stand in the exploration
}

// byPlan groups findings by their smallest plan. Broken promises come first, then what harms the user's work most, then
// what was found most often; the groups follow the gravest of their findings.
func (e *Exploration) byPlan() []planGroup {
	var groups []planGroup
	of := map[string]int{}
	for _, i := range e.byGravity() {
		f := &e.Findings[i]
		plan := strings.Join(f.Run.Plan, "\n")
		g, known := of[plan]
		if !known {
			g = len(groups)
			of[plan] = g
			groups = append(groups, planGroup{})
		}
		groups[g].Findings, groups[g].at = append(groups[g].Findings, f), append(groups[g].at, i)
	}
	return groups
}

// byGravity orders the positions of the findings.
func (e *Exploration) byGravity() []int {
	order := make([]int, len(e.Findings))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &e.Findings[i], &e.Findings[j]
		if a.Promised != b.Promised {
			if a.Promised {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Law.Gravity(), b.Law.Gravity()), cmp.Compare(b.Runs, a.Runs))
	})
	return order
}

// finding is the verdict in the smallest run on what was found.
func (f *ExploredFinding) finding() *checker.Finding {
	for _, got := range f.Run.Findings() {
		if got.Law == f.Law && got.Outcome == checker.Violated {
			return &got
		}
	}
	return nil
}

// headline says in a sentence what the plan brings about.
func (g *planGroup) headline() string {
	first := g.Findings[0]
	if f := first.finding(); f != nil {
		return headline.Broken(first.Run.Recorded(), f)
	}
	return first.what()
}

func (f *ExploredFinding) promise() string {
	if f.Promised {
		return single.Promised.String()
	}
	return document.NotPromised
}

// exploredGroups tells what was found, group by group, in at most room lines: what no longer fits is told in a line
// each, and what does not fit even so is counted.
func exploredGroups(p *text.Writer, groups []planGroup, room int) {
	told := make([]*text.Writer, len(groups))
	for i := range groups {
		told[i] = p.Draft()
		exploredGroup(told[i], &groups[i])
	}
	for i := range groups {
		short := 0 // lines for those that follow
		if left := len(groups) - i - 1; left > 0 {
			short = left + 1
		}
		if i > 0 && told[i].Lines()+short > room {
			shortGroups(p, groups[i:], room)
			return
		}
		p.Include(told[i])
		room -= told[i].Lines()
	}
}

// exploredGroup tells one group: what happens, which laws that breaks and how often, the plan, and how to see it.
func exploredGroup(p *text.Writer, g *planGroup) {
	p.Blank()
	mark, tone := g.sign()
	for i, t := range text.Wrap(g.headline(), p.Width()-3) {
		ln := new(text.Line)
		if i == 0 {
			ln.Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " ")
		}
		p.Put(ln.To(3).Add(text.Bold, t))
	}
	for _, f := range g.Findings {
		aside := ""
		if !f.Promised {
			aside = ", " + f.promise()
		}
		p.Hang(3, "breaks  ", text.Plain, fmt.Sprintf("%s: %s, %s from seed %d%s", f.Law, f.Cause,
			text.CountGrouped(f.Runs, "run"), f.First, aside))
	}
	for i, fault := range g.Findings[0].Run.Plan {
		label := "plan    "
		if i > 0 {
			label = "        "
		}
		p.Hang(3, label, text.Plain, fault)
	}
	if repeat := g.Findings[0].Run.Repeat; repeat != "" {
		p.Command(3, document.AgainLabel, repeat)
	}
}

func (g *planGroup) sign() (string, text.Style) {
	if g.Findings[0].Promised {
		return "✗", text.Red
	}
	return "·", text.Plain
}

// shortGroups names groups for which there is no room.
func shortGroups(p *text.Writer, groups []planGroup, room int) {
	p.Blank()
	most := max(room-2, 0)
	if len(groups) <= most+1 {
		most = len(groups)
	}
	for i := range groups[:min(most, len(groups))] {
		g := &groups[i]
		mark, tone := g.sign()
		runs := text.CountGrouped(g.Findings[0].Runs, "run")
		what := g.Findings[0].what()
		if n := len(g.Findings) - 1; n > 0 {
			what += fmt.Sprintf(", and %d more", n)
		}
		ln := new(text.Line).Add(text.Plain, " ").Add(tone, mark).Add(text.Plain,
			" "+text.Clip(what, p.Width()-6-text.Cells(runs)))
		p.Put(ln.To(p.Margin()-text.Cells(runs)).Add(text.Plain, runs))
	}
	if n := len(groups) - most; n > 0 {
		p.Put(new(text.Line).Add(text.Plain,
			fmt.Sprintf("   and %s more; --all tells everything", text.Count(n, "plan"))))
	}
}
