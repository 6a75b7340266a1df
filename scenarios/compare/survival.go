package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// comparedLaws are the laws with a column for every trouble (see Trouble). The first law decides whether a lock
// survives.
var comparedLaws = [...]checker.Law{checker.ResourceSafety, checker.MutualExclusion, checker.LeaseExclusion,
	checker.DeadlockFreedom}

// survivalTable returns a table with one row for each lock, and a second row for each lock that was run with fencing.
func (r *Report) survivalTable() document.Table {
	t := document.Table{Heading: "lock"}
	for _, trouble := range r.Troubles {
		for _, law := range comparedLaws {
			t.Columns = append(t.Columns, document.Column{Title: string(law), Short: string(law)[:1],
				Group: document.Group{Title: trouble.Title, Tip: trouble.Text}})
		}
	}
	for i := range r.Locks {
		l := &r.Locks[i]
		t.Rows = append(t.Rows, document.Row{Name: l.Title, Tip: l.Text, Cells: r.marks(l, false)})
		if withFencing(l) {
			t.Rows = append(t.Rows, document.Row{Name: "with fencing", Under: true, Cells: r.marks(l, true)})
		}
	}
	return t
}

// marks returns a mark for each law under each trouble. If the lock was not run under a trouble, there is only one mark
// for that trouble. Only the marks of the law that decides survival are colored.
func (r *Report) marks(l *Lock, fencing bool) (all []document.Cell) {
	for _, trouble := range r.Troubles {
		i := slices.IndexFunc(l.Survival, func(s Survival) bool {
			return s.Trouble == trouble.Name && s.Fencing == fencing
		})
		if c := l.Survival[i]; c.Absent != "" {
			all = append(all, document.Cell{Words: "–", Tip: c.Absent, Span: len(comparedLaws)})
			continue
		}
		for k, law := range comparedLaws {
			counts := l.Survival[i].Laws.Of(law)
			mark := document.Cell{Words: counts.Sign(),
				Tip: fmt.Sprintf("%s\n%s: %s", r.cellName(l, &l.Survival[i]), law, inWords(counts))}
			if k == 0 {
				mark.Tone = l.Survival[i].tone()
			}
			all = append(all, mark)
		}
	}
	return all
}

// tone returns the color of the mark that decides survival: Good if the data was safe, Bad if it was damaged, and Open
// otherwise.
func (s *Survival) tone() document.Tone {
	switch {
	case s.survives():
		return document.Good
	case s.Laws.Of(checker.ResourceSafety).Violated > 0:
		return document.Bad
	}
	return document.Open
}

// inWords says in how many runs a law held, was broken, was undecided, and so on.
func inWords(c campaign.Counts) string {
	var all []string
	for _, of := range []struct {
		n    int
		word string
	}{{c.Holds, "held"}, {c.Violated, "broken"}, {c.Undecided, "undecided"}, {c.Unchecked, "unchecked"},
		{c.NotRun, "not run"}} {
		if of.n > 0 {
			all = append(all, fmt.Sprintf("%s in %s", of.word, text.Count(of.n, "run")))
		}
	}
	return strings.Join(all, ", ")
}

// withFencing reports whether any cell was run with fencing.
func withFencing(l *Lock) bool {
	return slices.ContainsFunc(l.Survival, func(c Survival) bool { return c.Fencing && c.Absent == "" })
}

// cellName returns the name of a cell, for example "etcd, power+, with fencing".
func (r *Report) cellName(l *Lock, c *Survival) string {
	i := slices.IndexFunc(r.Troubles, func(t Trouble) bool { return t.Name == c.Trouble })
	name := l.Title + ", " + r.Troubles[i].Title
	if c.Fencing {
		name += ", with fencing"
	}
	return name
}

// absent returns the reasons why cells were not run, each with the locks to which it applies.
func (r *Report) absent() (all document.Facts) {
	var reasons []string
	locks := map[string][]string{}
	for i := range r.Locks {
		l := &r.Locks[i]
		for _, c := range l.Survival {
			if c.Absent == "" || c.Fencing && !withFencing(l) {
				continue
			}
			if locks[c.Absent] == nil {
				reasons = append(reasons, c.Absent)
			}
			if of := locks[c.Absent]; !slices.Contains(of, l.Title) {
				locks[c.Absent] = append(of, l.Title)
			}
		}
	}
	for _, why := range reasons {
		all = append(all, document.Fact{Name: "–", Value: why + ": " + strings.Join(locks[why], "; ")})
	}
	return all
}

// uneven returns the outcomes that differ between seeds or are undecided, with their counts.
func (r *Report) uneven() (all document.Facts) {
	for i := range r.Locks {
		for k := range r.Locks[i].Survival {
			c := &r.Locks[i].Survival[k]
			for _, law := range comparedLaws {
				counts := c.Laws.Of(law)
				if mark := counts.Sign(); c.Absent == "" && mark != "✓" && mark != "✗" {
					words := fmt.Sprintf("%s: %s %s", r.cellName(&r.Locks[i], c), law, inWords(counts))
					all = append(all, document.Fact{Name: mark, Value: words})
				}
			}
		}
	}
	return all
}
