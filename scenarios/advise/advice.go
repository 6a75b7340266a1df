// Package advise tells which changes save a lock, what they cost, and what the tried ones rest on.
//
// Goals: what to do comes first, as a sentence and as a diff; what a change breaks stands beside what it mends.
// Non-goals: trying changes (scenarios/advise).
package advise

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Report is which changes save a lock, found by trying.
type Report struct {
	*Advice
	Scenario *scenarios.Scenario
	Written  []string // the scenario files of the first changes
	Diff     string   // what is different in the first
	Files    string   // folder with all that is kept
	Repeat   string   // command to paste that advises again
}

// breach is how often and by what a promise is broken: "ownership in 3 of 20 runs: removed by non-owner". Without a
// cause it is one that is not seen to be kept any more.
func breach(b Breach) string {
	if b.Cause == (checker.Cause{}) {
		return string(b.Law) + " is no longer seen to hold"
	}
	return fmt.Sprintf("%s in %s of %s: %s", b.Law, text.Grouped(b.Runs), text.CountGrouped(b.Of, "run"), b.Cause)
}

// open says why nothing can be said.
func (a *Report) open() []string {
	if len(a.Broken) > 0 {
		return nil
	}
	return a.doubts()
}

// Standing is how the advice stands: nothing is broken or a change keeps every promise, none does, or it is not known.
func (a *Report) Standing() document.Result {
	switch {
	case a.Interrupted || len(a.open()) > 0:
		return document.Undecided
	case a.saved():
		return document.Passed
	}
	return document.Failed
}

// outcome says the same in a word or two.
func (a *Report) outcome() string {
	switch standing := a.Standing(); {
	case standing == document.Undecided:
		return document.Undecided.String()
	case len(a.Broken) == 0:
		return "nothing broken"
	case standing == document.Passed:
		return "can be saved"
	}
	return "not saved"
}

// others is how many runs under faults of all kinds each change was tried in.
func (a *Report) others() int { return a.Base.Others.Runs + len(a.Base.Everyday) }

// plans are the faults that break the lock: its own, one each, or else a plan each that was found.
func (a *Report) plans() []string {
	if a.Own {
		return document.Texts(a.Scenario.Faults)
	}
	all := []string{}
	for _, p := range a.Plans {
		if line := strings.Join(document.Texts(p.Faults), "; "); len(all) == 0 || all[len(all)-1] != line {
			all = append(all, line)
		}
	}
	return all
}

// causes are how a law was broken under the given faults.
func (a *Report) causes(law checker.Law) []string {
	all := []string{}
	for _, f := range a.Base.Given.Findings {
		if f.Law == law {
			all = append(all, f.Cause.String())
		}
	}
	return all
}

// mostAdvised is how many changes a text shows; the JSON has all.
const mostAdvised = 8

// Text writes what breaks the lock, what to do, a table of what else mends something, and the change as a diff.
// The error is w's.
func (a *Report) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	tone := map[document.Result]text.Style{document.Passed: text.Green, document.Failed: text.Red,
		document.Undecided: text.Yellow}[a.Standing()]
	standing := a.outcome()
	p.Title(a.Scenario.Name, "", standing, tone)
	if a.Scenario.Summary != "" {
		p.Text(text.Plain, 2, a.Scenario.Summary)
	}
	p.Blank()
	p.Text(text.Plain, 0, a.conclusion())
	if len(a.Broken) > 0 {
		a.breaches(p)
		if len(a.Mending) > 0 {
			p.Blank()
			a.table(p)
		}
		p.Blank()
		a.trials(p)
	}
	document.Stopped(p, a.Interrupted)
	document.WriteNotes(p, "open    ", a.open())
	if a.Diff != "" {
		p.Blank()
		p.Put(new(text.Line).Add(text.Bold, "the first as a diff"))
		for words := range strings.Lines(a.Diff) {
			p.Put(new(text.Line).Add(diffStyle(words), strings.TrimRight(words, "\r\n")))
		}
		p.Blank()
	}
	document.Closing(p, a.Files, a.Repeat)
	return p.Err()
}

func diffStyle(words string) text.Style {
	switch {
	case strings.HasPrefix(words, "+"):
		return text.Green
	case strings.HasPrefix(words, "-"):
		return text.Red
	}
	return text.Plain
}

// conclusion is the advice in a few sentences.
func (a *Report) conclusion() string {
	what := "The scenario's own faults"
	if !a.Own {
		what = fmt.Sprintf("%s of its mix", text.CountGrouped(a.Explored, "random plan"))
	}
	if len(a.Broken) == 0 {
		return what + " break no promise: there is nothing to mend."
	}
	if len(a.Mending) == 0 {
		return fmt.Sprintf("Nothing that the format offers mends what breaks here: %s and %s were tried.",
			text.Count(a.Singles, "change"), text.Count(a.Pairs, "pair"))
	}
	best := a.Mending[0]
	change := strings.Join(changesInWords(best), " and ")
	if !a.keeps(best) {
		none := "No change and no pair keeps every promise"
		if a.Interrupted {
			none = "Of what was tried by then, nothing is confirmed to keep every promise"
		}
		return fmt.Sprintf("%s. Nearest comes: %s. %s", none, change, a.nearest(best))
	}
	return fmt.Sprintf("Set %s: then %s %s", change, a.kept(best), against(best.Cost, a.Base.Cost))
}

// kept says in how many runs a change keeps every promise, which ones no lock keeps, and which faults it was spared.
func (a *Report) kept(t *Tried) string {
	words := "every promise is kept, " + trialsOf(t) + "."
	if laws, counts := a.brokenBy(t); len(laws) > 0 {
		words = fmt.Sprintf("every promise but %s is kept, %s. Of these %s, which lies in the nature of locks.",
			text.Join(laws, " and "), trialsOf(t), counts)
	}
	for _, f := range t.Spared {
		words += fmt.Sprintf(" Nothing is left for %q to strike.", f)
	}
	return words
}

// nearest says which promises a change keeps that does not keep all, and in how many runs it breaks the others.
func (a *Report) nearest(t *Tried) string {
	laws, counts := a.brokenBy(t)
	kept := slices.DeleteFunc(document.LawNames(t.Mended), func(l string) bool { return slices.Contains(laws, l) })
	words := "It was tried "
	if len(kept) > 0 {
		words = "It keeps " + text.Join(kept, " and ") + ", "
	}
	var but []string
	if len(laws) > 0 {
		but = append(but, "of these "+counts)
	}
	for _, b := range t.Anew {
		if but = append(but, breach(b)); b.Cause != (checker.Cause{}) {
			but[len(but)-1] = "it breaks " + breach(b)
		}
	}
	for _, l := range t.Left {
		if !slices.Contains(laws, string(l)) {
			but = append(but, string(l)+" is not seen to hold")
		}
	}
	if t.GivesUp {
		but = append(but, givesUp)
	}
	if len(but) == 0 { // an interruption came first
		but = append(but, "it is not confirmed")
	}
	return words + trialsOf(t) + "; but " + strings.Join(but, "; ") + "."
}

const givesUp = "clients give up where they got the lock before"

// trialsOf says what a change was tried under: "in 20 runs under these faults and 2,100 under fresh ones of the same
// kinds".
func trialsOf(t *Tried) string {
	parts := []string{"in " + text.CountGrouped(t.Given.Runs, "run") + " under these faults"}
	if t.Elsewhere.Runs > 0 {
		parts = append(parts, text.Grouped(t.Elsewhere.Runs)+" where they strike servers that it brings")
	}
	return text.Join(append(parts, text.Grouped(t.Fresh.Runs)+" under fresh ones of the same kinds"), " and ")
}

// brokenBy are the promises that break under these faults and fresh ones, if not only since the change, and in how many
// runs: "2,120 runs, 312 break mutual-exclusion".
func (a *Report) brokenBy(t *Tried) (laws []string, counts string) {
	var each []string
	for _, l := range a.Promised {
		n := 0
		for _, b := range t.Otherwise {
			if b.Law == l {
				n += b.Runs
			}
		}
		switch {
		case n == 0:
			continue
		case n == 1:
			each = append(each, "1 breaks "+string(l))
		default:
			each = append(each, text.Grouped(n)+" break "+string(l))
		}
		laws = append(laws, string(l))
	}
	return laws, text.CountGrouped(t.wasMet(), "run") + ", " + text.Join(each, " and ")
}

// changesOf are the changes as a file states them: "lock.protocol: etcd".
func changesOf(t *Tried) (list []string) {
	for i := range t.Changes {
		list = append(list, t.Changes[i].String())
	}
	return list
}

// changesInWords are the changes as a sentence has them: "lock.protocol to etcd".
func changesInWords(t *Tried) (list []string) {
	for _, text := range changesOf(t) {
		list = append(list, strings.Replace(text, ": ", " to ", 1))
	}
	return list
}

// against says what it costs, against what it cost before.
func against(c, base Cost) string {
	lease := ""
	if c.Lease != base.Lease && base.Lease > 0 {
		lease = fmt.Sprintf(" A holder that crashes keeps the others out for %s (before: %s).", c.Lease, base.Lease)
	}
	same := c
	same.Lease = base.Lease
	if same == base {
		return "It takes no more time, requests or servers." + lease
	}
	words := fmt.Sprintf("A client alone gets the lock in %s ms (before: %s), with %s requests for each (%s)",
		text.Milliseconds(c.Acquire),
		text.Milliseconds(base.Acquire), text.Decimal(c.Requests), text.Decimal(base.Requests))
	if c.Servers != base.Servers {
		words += fmt.Sprintf(", on %s (%d)", text.Count(c.Servers, "server"), base.Servers)
	}
	return words + "." + lease
}

// breaches says what is broken, and how often.
func (a *Report) breaches(p *text.Writer) {
	for _, l := range a.Broken {
		p.Hang(1, "✗ ", text.Plain, fmt.Sprintf("%s in %d of %d runs: %s", l, a.Base.Given.violated(l),
			a.Base.Given.Runs, strings.Join(a.causes(l), "; ")))
	}
}

// Widths of the table, in cells.
const (
	lawWidth     = 11
	shortWidth   = 7
	costWidth    = 26
	changeNarrow = 28 // what changes need beside laws of the full width
)

// columns is how wide the column of changes is, and that of each law.
func (a *Report) columns(p *text.Writer) (changes, law int) {
	wide, n := min(p.Width(), 100), len(a.Broken)
	if law = lawWidth; wide < changeNarrow+law*n+costWidth {
		law = shortWidth
	}
	return max(wide-law*n-costWidth, 12), law
}

// table has a line or two for each change, the lock as it is first.
func (a *Report) table(p *text.Writer) {
	width, each := a.columns(p)
	first, second := new(text.Line).Add(text.Bold, "change").To(width), new(text.Line).To(width)
	for i, l := range a.Broken {
		head, rest, _ := strings.Cut(string(l), "-")
		if each == shortWidth {
			head, rest = l.Short(), ""
		}
		first.To(width+i*each).Add(text.Plain, head)
		second.To(width+i*each).Add(text.Plain, rest)
	}
	at := width + each*len(a.Broken)
	p.Put(first.To(at).Add(text.Plain, "acquire").To(at+9).Add(text.Plain, "requests").To(at+19).Add(text.Plain,
		"servers"))
	p.Put(second.To(at).Add(text.Plain, "in ms").To(at+9).Add(text.Plain, "each"))
	a.row(p, []string{"as it is"}, nil, a.Base.Cost)
	for i, c := range a.Mending {
		if i == mostAdvised {
			break
		}
		a.row(p, changesOf(c), c.Mended, c.Cost)
		for _, b := range c.Anew {
			p.Hang(5, "! ", text.Yellow, breach(b))
		}
		if c.GivesUp {
			p.Hang(5, "! ", text.Yellow, givesUp)
		}
		for _, b := range c.Otherwise {
			if c.Given.violated(b.Law) == 0 {
				p.Hang(5, "· ", text.Plain, breach(b))
			}
		}
		if a.seemsToKeep(c) && !a.keeps(c) {
			p.Hang(5, "· ", text.Plain, "not confirmed: tried in "+text.CountGrouped(c.wasMet(), "run")+" only")
		}
		for _, f := range c.Spared {
			p.Hang(5, "– ", text.Plain, "has nothing to strike: "+f)
		}
	}
	if n := len(a.Mending) - mostAdvised; n > 0 {
		p.Text(text.Plain, 3, fmt.Sprintf("and %d more that mend something; --json has all", n))
	}
}

// row is one lock in the table: what is changed, wrapped, then what it keeps of what was broken and what it costs.
func (a *Report) row(p *text.Writer, changes []string, kept []checker.Law, cost Cost) {
	width, each := a.columns(p)
	var words []string
	for i, content := range changes {
		for text.Cells(content) > width-8 { // a shorter name says it as well
			_, shorter, nested := strings.Cut(content, ".")
			if key, _, _ := strings.Cut(content, ":"); !nested || !strings.Contains(key, ".") {
				break
			}
			content = shorter
		}
		if i > 0 {
			content = "and " + content
		}
		words = append(words, text.Wrap(content, width-4)...)
	}
	for i, content := range words {
		ln := new(text.Line).To(1)
		if i > 0 {
			ln.To(3)
		}
		ln.Add(text.Plain, content)
		if i == 0 {
			for k, l := range a.Broken {
				mark, tone := "✗", text.Red
				if slices.Contains(kept, l) {
					mark, tone = "✓", text.Green
				}
				ln.To(width+k*each).Add(tone, mark)
			}
			at := width + each*len(a.Broken)
			costs := []string{text.Milliseconds(cost.Acquire), text.Decimal(cost.Requests),
				strconv.Itoa(cost.Servers)}
			for k, end := range []int{7, 17, 26} {
				ln.To(at+end-text.Cells(costs[k])).Add(text.Plain, costs[k])
			}
		}
		p.Put(ln)
	}
}

// trials says what the marks rest on.
func (a *Report) trials(p *text.Writer) {
	for _, n := range a.natures() {
		p.Hang(0, "nature  ", text.Plain, n)
	}
	for i, plan := range a.plans() {
		label := "faults  "
		if i > 0 {
			label = "        "
		}
		p.Hang(0, label, text.Plain, plan)
	}
	p.Hang(0, "tried   ", text.Plain,
		fmt.Sprintf("%s and %s. A change is marked ✓ if the law held in %s under these faults%s, and in %s under "+
			"fresh ones of the same kinds, or in %s (%s of which break the lock as it is) if it is among the "+
			"first; ! if it breaks what was whole before, also in %s under faults of all kinds; · if what was not "+
			"whole before, or what no lock keeps, breaks still.",
			text.Count(a.Singles, "change"), text.Count(a.Pairs, "pair"), text.Count(a.Base.Given.Runs, "run"),
			a.elsewhere(), text.Grouped(a.Seeds), text.Grouped(a.Base.Fresh.Runs), text.Grouped(a.freshly()),
			text.Count(a.others(), "run")))
}

// natures say why no lock keeps some promises, those that no change keeps and those that the first does not, once each.
func (a *Report) natures() (list []string) {
	add := func(l checker.Law, why string) {
		if text := fmt.Sprintf("%s: %s.", l, why); why != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, l := range a.Broken {
		add(l, a.ByNature[l])
	}
	if len(a.Mending) > 0 && a.keeps(a.Mending[0]) {
		for _, b := range a.Mending[0].Otherwise {
			add(b.Law, b.Nature)
		}
	}
	return list
}

// elsewhere says in how many runs these faults struck other servers, where changes bring some.
func (a *Report) elsewhere() string {
	most := 0
	for _, t := range a.Mending {
		most = max(most, t.Elsewhere.Runs)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(", in up to %d where they strike servers that it brings", most)
}

// freshly is how often fresh faults break the lock as it is, which shows what a change is held against.
func (a *Report) freshly() (most int) {
	for _, l := range a.Broken {
		most = max(most, a.Base.Fresh.violated(l))
	}
	return most
}

// Suite has a case for each broken promise, or one for all.
func (a *Report) Suite() document.Suite {
	name := a.Scenario.Name
	s := document.Suite{Name: "advise " + name, Repeat: a.Repeat}
	for _, l := range a.Broken {
		c := document.Case{Group: name, Name: string(l), Result: document.Failed,
			Message: strings.Join(a.causes(l), "; ")}
		if a.Standing() == document.Passed {
			c.Result, c.Message = document.Passed, "saved by "+strings.Join(changesOf(a.Mending[0]), ", ")
		}
		if nature := a.ByNature[l]; nature != "" {
			c.Message = nature
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 && a.Standing() == document.Passed {
		s.Cases = append(s.Cases,
			document.Case{Group: name, Name: "promises", Result: document.Passed, Message: "nothing broken"})
	}
	s.Cases = append(s.Cases, document.OpenCases(name, a.open())...)
	s.Cases = append(s.Cases, document.InterruptedCases(name, a.Interrupted)...)
	return s
}
