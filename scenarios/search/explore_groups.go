package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// planGroup contains the findings that have the same smallest plan, in the order that byPlan describes.
type planGroup []*ReducedFinding

// planGroups is the part of the report that shows all findings. If there isn't much room, the last groups get one line
// each or are only counted.
type planGroups []planGroup

// byPlan groups the findings by their smallest plan. It orders the findings, and thereby the groups: findings that
// break a promise come first, then findings about more serious laws, then more frequent findings.
func (r *Report) byPlan() planGroups {
	all := make([]*ReducedFinding, len(r.Findings))
	for i := range r.Findings {
		all[i] = &r.Findings[i]
	}
	slices.SortStableFunc(all, func(a, b *ReducedFinding) int {
		if a.Promised != b.Promised {
			if a.Promised {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Law.Gravity(), b.Law.Gravity()), cmp.Compare(b.Runs, a.Runs))
	})
	var groups planGroups
	of := map[string]int{}
	for _, f := range all {
		plan := strings.Join(f.Run.Plan, "\n")
		g, known := of[plan]
		if !known {
			g = len(groups)
			of[plan] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], f)
	}
	return groups
}

// verdict looks at the run of the smallest plan, and returns its finding with f's law and cause, or nil if it has none.
func (f *ReducedFinding) verdict() *checker.Finding {
	found := f.Run.Verdict.Of(f.Law)
	return found.By(f.Cause)
}

// headline returns one sentence about what happens under the plan.
func (g planGroup) headline() string {
	if f := g[0].verdict(); f != nil {
		return headline.Broken(g[0].Run.Recorded(), f)
	}
	return g[0].violation()
}

// sign returns a symbol that shows whether a group breaks a promise, and the symbol's style.
func (g planGroup) sign() (string, text.Style) {
	if g[0].Promised {
		return document.Failed.Sign(), text.Red
	}
	return "·", text.Plain
}

// Text writes all groups.
func (b planGroups) Text(p *text.Writer) {
	for i, g := range b {
		if i > 0 {
			p.Blank()
		}
		g.text(p)
	}
}

// FitText writes groups in full until it runs out of lines. It always writes the first group in full. room is the
// number of available lines.
func (b planGroups) FitText(p *text.Writer, room int) {
	for i, g := range b {
		full := p.Draft()
		if i > 0 {
			full.Blank()
		}
		g.text(full)
		short := 0 // number of lines left for the groups that follow
		if left := len(b) - i - 1; left > 0 {
			short = left + 1
		}
		if i > 0 && full.Lines()+short > room {
			b[i:].short(p, room)
			return
		}
		p.Include(full)
		room -= full.Lines()
	}
}

// text writes one group: what happens, which laws it breaks and in how many runs, the plan, and how to repeat it.
func (g planGroup) text(p *text.Writer) {
	mark, tone := g.sign()
	for i, t := range text.Wrap(g.headline(), p.Width()-3) {
		ln := new(text.Line)
		if i == 0 {
			ln.Add(text.Plain, " ").Add(tone, mark).Add(text.Plain, " ")
		}
		p.Put(ln.To(3).Add(text.Bold, t))
	}
	for _, f := range g {
		aside := ""
		if !f.Promised {
			aside = ", " + f.promise()
		}
		p.Hang(3, "breaks  ", text.Plain, fmt.Sprintf("%s, %s from seed %d%s", f.violation(),
			text.CountGrouped(f.Runs, "run"), f.First, aside))
	}
	label := "plan"
	for _, fault := range g[0].Run.Plan {
		p.Hang(3, document.Label(label), text.Plain, fault)
		label = ""
	}
	if repeat := g[0].Run.Repeat; repeat != "" {
		p.Command(3, document.AgainLabel, repeat)
	}
}

// short writes one line for each group until it runs out of room, and then the number of remaining groups.
func (b planGroups) short(p *text.Writer, room int) {
	p.Blank()
	most := max(room-2, 0)
	if len(b) <= most+1 {
		most = len(b)
	}
	for _, g := range b[:most] {
		mark, tone := g.sign()
		runs, violation := text.CountGrouped(g[0].Runs, "run"), g[0].violation()
		if n := len(g) - 1; n > 0 {
			violation += fmt.Sprintf(", and %d more", n)
		}
		ln := new(text.Line).Add(text.Plain, " ").Add(tone, mark).Add(text.Plain,
			" "+text.Clip(violation, p.Width()-6-text.Cells(runs)))
		p.Put(ln.To(p.Margin()-text.Cells(runs)).Add(text.Plain, runs))
	}
	if n := len(b) - most; n > 0 {
		p.Put(new(text.Line).Add(text.Plain,
			fmt.Sprintf("   and %s more; --all shows everything", text.Count(n, "plan"))))
	}
}

// HTML writes a card for each group: what happens, the plan, and each finding with a link to its own page.
func (b planGroups) HTML(p *html.Writer) {
	for _, g := range b {
		class := "card story"
		if !g[0].Promised {
			class += " aside"
		}
		p.Inside("section", class, func() { g.html(p) })
	}
}

// html writes the content of a group's card.
func (g planGroup) html(p *html.Writer) {
	p.Put(html.Heading(g.headline()))
	document.PlanOf(g[0].Run.Plan).HTML(p)
	for _, f := range g {
		verdict := f.verdict()
		if verdict == nil {
			verdict = &checker.Finding{Law: f.Law, Cause: f.Cause}
		}
		p.Put(html.Finding(verdict))
		document.Paragraph{Words: f.size()}.HTML(p)
		document.Command(f.Run.Repeat).HTML(p)
		document.Links{{Words: "Timeline and witness", Slug: Slug(f.Finding)}}.HTML(p)
	}
}
