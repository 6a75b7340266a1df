package campaign

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// countColumn is a table column that shows a count for each law. Such columns appear in the output of the explore,
// verify and run --seeds commands.
type countColumn struct {
	title string
	of    func(Counts) int
}

// countColumns lists the count columns of the law tables, from left to right.
var countColumns = []countColumn{
	{"held", func(c Counts) int { return c.Holds }},
	{"broken", func(c Counts) int { return c.Violated }},
	{"undecided", func(c Counts) int { return c.Undecided }},
	{"unchecked", func(c Counts) int { return c.Unchecked }},
}

// Assessment says how a law's counts compare with the promise or the expectation.
type Assessment struct {
	Result document.Result
	Sign   string        // replaces the symbol of the result; may be empty
	Words  document.Cell // may be empty
}

// Table returns a table with a row for each law. The last column has the given title and contains the text of each
// assessment. If the title is empty, there is no such column.
func (t Laws) Table(last string, assess func(Law) Assessment) document.Table {
	table := document.Table{Heading: "law"}
	for _, c := range countColumns {
		table.Columns = append(table.Columns, document.Column{Title: c.title})
	}
	if last != "" {
		table.Columns = append(table.Columns, document.Column{Title: last, Words: true})
	}
	for _, l := range t {
		is := assess(l)
		row := document.Row{Name: string(l.Law), Sign: is.Result.Sign(), Tone: is.Result.Tone()}
		if is.Sign != "" {
			row.Sign = is.Sign
		}
		for _, c := range countColumns {
			row.Cells = append(row.Cells, document.Cell{Words: text.Grouped(c.of(l.Counts))})
		}
		if last != "" {
			row.Cells = append(row.Cells, is.Words)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// PromiseTable returns a table that compares the laws with what was promised.
func (t Laws) PromiseTable(p checker.Promise) document.Table {
	return t.Table("", func(l Law) Assessment { return l.assess(p) })
}

// RateTable is like PromiseTable, but also has a column with the percentage of runs that violate each law, not counting
// runs that were guided by other runs.
func (t Laws) RateTable(p checker.Promise) document.Table {
	title := "share of runs"
	if slices.ContainsFunc(t, func(l Law) bool { return l.Guided != Counts{} }) {
		title = "share of free draws"
	}
	return t.Table(title, func(l Law) Assessment {
		is := l.assess(p)
		is.Words.Words = l.rate(is.Result)
		if is.Result == document.Failed {
			is.Words.Tone = document.Bad
		}
		return is
	})
}

// assess compares a law's results with a promise. If any violation breaks the promise, the result is Failed. Otherwise,
// a violation is of a law that is not promised, or has an excused cause: then there is no result, only a sign. If there
// is no violation and the law held in some run, the result is Passed.
func (l Law) assess(p checker.Promise) Assessment {
	switch {
	case l.Breaks() > 0 && slices.Contains(p.Laws, l.Law):
		return Assessment{Result: document.Failed}
	case l.Violated > 0:
		return Assessment{Sign: "·"}
	case l.Holds > 0:
		return Assessment{Result: document.Passed}
	}
	return Assessment{}
}

// rate returns the percentage of runs that violated the law. Only runs that exercised the law count, and only if their
// plans were not guided by other runs. If r is Failed, the percentage is that of the runs that broke the promise. If
// there are none, rate returns an upper bound on the percentage.
func (l Law) rate(r document.Result) string {
	free := l.Free()
	share := func(n int) string {
		if n == 0 {
			return "< " + text.Percentage(UpperBound(free.Exercised()))
		}
		return text.Percentage(float64(n) / float64(free.Exercised()))
	}
	switch {
	case r == document.Failed:
		return share(free.Breaks())
	case l.Violated > 0:
		return share(free.Violated) + ", " + document.NotPromised
	case l.Holds > 0:
		return share(0) + " (95% sure)"
	}
	return ""
}
