package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Report is the report on a search for changes that repair a lock.
type Report struct {
	*Advice
	Scenario *scenarios.Scenario
	Written  []string // scenario files of the first changes; "" if the file of a change was not written
	Diff     string   // how the first of these files differs from the scenario's file
	// if no file was written for the first change, the reason, and what to change by hand; otherwise nil
	ByHand *CommentsError
	Files  string // folder that holds the files
	Repeat string // command that repeats the search
}

// breach describes how often a promise is broken, and why: "ownership in 3 of 20 runs: removed by non-owner". If a
// breach has no cause, no run broke the promise, but the runs no longer show that it is kept (see newBreach).
func breach(b Breach) string {
	if b.Cause == (checker.Cause{}) {
		return fmt.Sprintf("%s is no longer shown to hold", b.Law)
	}
	return fmt.Sprintf("%s in %s of %s: %s", b.Law, text.Grouped(b.Runs), text.CountGrouped(b.Of, "run"), b.Cause)
}

// open lists the reasons why the result is undecided. It returns nil if a promise was broken.
func (a *Report) open() []string {
	if len(a.Broken) > 0 {
		return nil
	}
	return a.doubts()
}

// Standing returns Passed if nothing is broken or a change keeps every promise, Failed if no change does, and Undecided
// otherwise.
func (a *Report) Standing() document.Result {
	switch {
	case a.Interrupted || len(a.open()) > 0 || a.OutOfBudget && len(a.Broken) == 0:
		return document.Undecided
	case a.saved():
		return document.Passed
	case a.OutOfBudget:
		return document.Undecided
	}
	return document.Failed
}

// outcome returns the overall result in one or two words.
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

// otherRuns returns the number of runs per change under faults of all kinds.
func (a *Report) otherRuns() int { return a.Base.Others.Runs + len(a.Base.Everyday) }

// plans returns the faults that break the lock, one fault per line. These are the scenario file's faults or, if random
// plans were tried, the plans that were found.
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

// causes returns the causes of a law's violations under the given faults.
func (a *Report) causes(law checker.Law) []string {
	all := []string{}
	for _, f := range a.Base.Given.Findings {
		if f.Law == law {
			all = append(all, f.Cause.String())
		}
	}
	return all
}

// mostAdvised is the maximum number of changes in text output. JSON output contains all of them.
const mostAdvised = 8

// Document returns the report. It says first what to do, in a sentence and as a diff, then what breaks the lock, and
// then what else was tried.
func (a *Report) Document() *document.Document {
	result := a.Standing()
	todo := []document.Block{document.Paragraph{Words: a.conclusion()}}
	if a.Diff != "" {
		todo = append(todo, document.Diff(a.Diff))
	}
	if a.ByHand != nil {
		todo = append(todo, document.Paragraph{Words: fmt.Sprintf("The file cannot be changed automatically: %s. "+
			"Make these changes by hand:", a.ByHand)}, document.Notes("change", a.ByHand.Changes))
	}
	d := &document.Document{
		Title: document.Title{Name: a.Scenario.Name, Verdict: a.outcome(), Tone: result.Tone(),
			Summary: a.Scenario.Summary},
		Body:        []document.Block{document.Section{Heading: "What to do", Body: todo}},
		Interrupted: a.Interrupted, Files: a.Files, Repeat: a.Repeat, Data: a.data(), Suite: a.suite(),
	}
	if len(a.Broken) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "What breaks", Body: []document.Block{a.breaches()}})
		tried := []document.Block{a.trials()}
		if len(a.Mending) > 0 {
			tried = append(a.changes(), tried...)
		}
		d.Body = append(d.Body, document.Section{Heading: "What was tried", Body: tried})
	}
	if open := a.open(); len(open) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "What is open", Body: []document.Block{
			document.Notes("open", open)}})
	}
	return d
}

// conclusion returns the report's advice in a few sentences.
func (a *Report) conclusion() string {
	sentences := []string{a.advice()}
	if untried := a.untried(); untried != "" {
		sentences = append(sentences, untried)
	}
	return strings.Join(sentences, " ")
}

// advice says what to do, or why there is nothing to advise.
func (a *Report) advice() string {
	stopped := a.Interrupted || a.OutOfBudget
	what := "The scenario's own faults"
	if !a.Own {
		what = fmt.Sprintf("%s of its mix", text.CountGrouped(a.Explored, "random plan"))
	}
	tried := fmt.Sprintf("%s and %s", text.Count(a.Singles, "change"), text.Count(a.Pairs, "pair"))
	switch {
	case len(a.Broken) == 0 && stopped:
		return fmt.Sprintf("%s have broken no promise so far.", what)
	case len(a.Broken) == 0 && len(a.doubts()) > 0:
		return fmt.Sprintf("%s have broken no promise, but not every run could be judged.", what)
	case len(a.Broken) == 0:
		return fmt.Sprintf("%s break no promise: there is nothing to fix.", what)
	case len(a.Mending) == 0 && a.Singles == 0 && stopped:
		return "No change was tried."
	case len(a.Mending) == 0 && stopped:
		return fmt.Sprintf("None of %s prevents the violation.", tried)
	case len(a.Mending) == 0 && a.Scenario.OfPrograms():
		return fmt.Sprintf("Neither other servers nor the settings that the programs read prevent the violation: "+
			"%s were tried.", tried)
	case len(a.Mending) == 0:
		return fmt.Sprintf("No change that the scenario format allows prevents the violation: %s were tried.", tried)
	}
	best := a.Mending[0]
	change := strings.Join(changesInWords(best), " and ")
	switch {
	case a.keeps(best):
		return fmt.Sprintf("Set %s: then %s %s", change, a.kept(best), compared(best.Cost, a.Base.Cost))
	case stopped:
		return fmt.Sprintf("No change that was tried is confirmed to keep every promise. The closest is: %s. %s",
			change, a.nearest(best))
	}
	return fmt.Sprintf("No change and no pair keeps every promise. The closest is: %s. %s", change, a.nearest(best))
}

// untried says what was not tried because the work was interrupted or the budget was used up. It returns "" if
// everything was tried.
func (a *Report) untried() string {
	var left []string
	if n := a.Seeds - a.Explored; !a.Own && n > 0 {
		left = append(left, fmt.Sprintf("%s of %s", text.Grouped(n), text.CountGrouped(a.Seeds, "random plan")))
	} else if len(a.Broken) == 0 {
		left = append(left, "runs of the unchanged lock")
	}
	if n := a.UntriedSingles; n > 0 {
		left = append(left, text.Count(n, "change"), "all pairs")
	}
	if n := a.UntriedPairs; n > 0 && a.UntriedSingles == 0 {
		left = append(left, text.Count(n, "pair"))
	}
	if n := len(a.unconfirmed()); n > 0 {
		left = append(left, "runs that confirm "+text.Count(n, "change"))
	}
	why := "The search was interrupted"
	switch {
	case a.OutOfBudget:
		why = fmt.Sprintf("The search has used its %s of processor time (--cpu)", nemesis.FormatDuration(a.Budget))
	case !a.Interrupted:
		return ""
	}
	return fmt.Sprintf("%s. Not tried: %s.", why, text.Join(left, " and "))
}

// kept says in how many runs a change keeps every promise. It also lists the promises that are still broken, because
// the change does not help or because no lock can keep them, and the faults that no longer have a target.
func (a *Report) kept(t *Tried) string {
	natural := func(b Breach) bool { return b.Nature != "" }
	asBefore := func(b Breach) bool { return b.Nature == "" }
	what, more := "every promise", ""
	if laws, counts := a.brokenBy(t, asBefore); len(laws) > 0 {
		what = "every promise that broke"
		more = fmt.Sprintf(" Of these %s, as before.", counts)
	}
	if laws, counts := a.brokenBy(t, natural); len(laws) > 0 {
		if what != "every promise" { // "as before" does not apply to promises that had not been broken
			laws = slices.DeleteFunc(laws, func(l string) bool { return !slices.Contains(a.Broken, checker.Law(l)) })
		}
		if len(laws) > 0 {
			what += " but " + text.Join(laws, " and ")
		}
		more += fmt.Sprintf(" Of these %s, which no lock can prevent.", counts)
	}
	for _, f := range t.Spared {
		more += fmt.Sprintf(" The fault %q no longer has a target.", f)
	}
	return fmt.Sprintf("%s is kept, %s.%s", what, a.trialsOf(t), more)
}

// nearest describes the best change if even that one does not keep every promise. It says which promises the change
// keeps, and in how many runs it breaks others.
func (a *Report) nearest(t *Tried) string {
	laws, counts := a.brokenBy(t, func(Breach) bool { return true })
	kept := slices.DeleteFunc(document.LawNames(t.Mended), func(l string) bool { return slices.Contains(laws, l) })
	words := "It was tried "
	if len(kept) > 0 {
		words = "It keeps " + text.Join(kept, " and ") + ", "
	}
	var but []string
	if len(laws) > 0 {
		but = append(but, "of these "+counts)
	}
	for _, b := range t.New {
		if but = append(but, breach(b)); b.Cause != (checker.Cause{}) {
			but[len(but)-1] = "it breaks " + breach(b)
		}
	}
	for _, l := range t.Left {
		if !slices.Contains(laws, string(l)) {
			but = append(but, fmt.Sprintf("%s was not shown to hold", l))
		}
	}
	if t.GivesUp {
		but = append(but, givesUp)
	}
	if !a.confirmed(t) && (a.Interrupted || a.OutOfBudget) {
		but = append(but, "it is not confirmed")
	}
	return words + a.trialsOf(t) + "; but " + strings.Join(but, "; ") + "."
}

const givesUp = "clients give up where they used to acquire the lock"

// trialsOf says in how many runs a change was tried: "in 20 runs under these faults and 2,100 under new faults of the
// same kinds".
func (a *Report) trialsOf(t *Tried) string {
	runs := text.CountGrouped(t.Given.Runs, "run")
	if a.withoutFaults() {
		return fmt.Sprintf("in %s without faults and %s with other seeds", runs, text.Grouped(t.Fresh.Runs))
	}
	parts := []string{"in " + runs + " under these faults"}
	if t.Elsewhere.Runs > 0 {
		parts = append(parts, fmt.Sprintf("%s in which they strike servers that the change adds",
			text.Grouped(t.Elsewhere.Runs)))
	}
	return text.Join(append(parts, fmt.Sprintf("%s under new faults of the same kinds", text.Grouped(t.Fresh.Runs))),
		" and ")
}

// withoutFaults reports whether the lock breaks without any fault.
func (a *Report) withoutFaults() bool { return a.Own && len(a.Scenario.Faults) == 0 }

// brokenBy returns the promises that t breaks, according to those breaches in t.Known that selects accepts. counts says
// in how many runs each promise was broken, for example "2,120 runs, 312 break mutual-exclusion".
func (a *Report) brokenBy(t *Tried, selects func(Breach) bool) (laws []string, counts string) {
	var each []string
	for _, l := range a.Promised {
		n := 0
		for _, b := range t.Known {
			if b.Law == l && selects(b) {
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

// changesOf returns the changes as lines of a scenario file: "lock.protocol: etcd".
func changesOf(t *Tried) (list []string) {
	for i := range t.Changes {
		list = append(list, t.Changes[i].String())
	}
	return list
}

// changesInWords returns the changes as parts of a sentence: "lock.protocol to etcd".
func changesInWords(t *Tried) (list []string) {
	for _, text := range changesOf(t) {
		list = append(list, strings.Replace(text, ": ", " to ", 1))
	}
	return list
}

// compared compares a cost with the cost before the change, in one or two sentences.
func compared(c, base Cost) string {
	lease := ""
	if c.Lease != base.Lease {
		lease = fmt.Sprintf(" A holder that crashes blocks the others %s (before: %s).", lasting(c.Lease),
			lasting(base.Lease))
	}
	same := c
	same.Lease = base.Lease
	if same == base {
		return "It costs no additional time, requests or servers." + lease
	}
	words := fmt.Sprintf("Without contention, a client acquires the lock in %s ms (before: "+
		"%s), with %s requests (before: %s)",
		text.Milliseconds(c.Acquire),
		text.Milliseconds(base.Acquire), text.Decimal(c.Requests), text.Decimal(base.Requests))
	if c.Servers != base.Servers {
		words += fmt.Sprintf(", on %s (%d)", text.Count(c.Servers, "server"), base.Servers)
	}
	return words + "." + lease
}

// lasting says how long a lease lasts.
func lasting(lease time.Duration) string {
	if lease == forever {
		return "forever"
	}
	return "for " + nemesis.FormatDuration(lease)
}

// breaches returns the table of broken laws. For each law, it shows how many runs broke it, and the causes.
func (a *Report) breaches() document.Table {
	t := document.Table{Heading: "broken", Columns: []document.Column{{Title: "runs"}, {Title: "by", Words: true}}}
	for _, l := range a.Broken {
		t.Rows = append(t.Rows, document.Row{Sign: document.Failed.Sign(), Tone: document.Bad, Name: string(l),
			Cells: document.Cells(fmt.Sprintf("%d of %d", a.Base.Given.violated(l), a.Base.Given.Runs),
				strings.Join(a.causes(l), "; "))})
	}
	return t
}

// changes returns the table of the first changes that fix a law. Its first row is the unchanged lock.
func (a *Report) changes() []document.Block {
	t := document.Table{Heading: "change"}
	for _, l := range a.Broken {
		t.Columns = append(t.Columns, document.Column{Title: string(l), Short: string(l)[:1],
			Group: document.Group{Title: "mends"}})
	}
	t.Columns = append(t.Columns, document.Column{Title: "acquire, ms"}, document.Column{Title: "requests"},
		document.Column{Title: "servers"})
	t.Rows = append(t.Rows, document.Row{Name: "as it is", Cells: a.cells(nil, a.Base.Cost)})
	for _, c := range a.Mending[:min(len(a.Mending), mostAdvised)] {
		t.Rows = append(t.Rows, document.Row{Name: strings.Join(changesOf(c), " and "),
			Cells: a.cells(c.Mended, c.Cost), Notes: a.remarks(c)})
	}
	blocks := []document.Block{t}
	if n := len(a.Mending) - mostAdvised; n > 0 {
		blocks = append(blocks, document.Paragraph{
			Words: fmt.Sprintf("and %s more that %s at least one violation; --json lists all", text.Grouped(n),
				map[bool]string{true: "fixes", false: "fix"}[n == 1])})
	}
	return append(blocks, document.InText{Block: t.Key()})
}

// cells returns the cells of a table row, except its name: one for each broken law, which shows whether the law holds
// with the change, and then those for the cost of the lock.
func (a *Report) cells(kept []checker.Law, c Cost) (all []document.Cell) {
	for _, l := range a.Broken {
		result := document.Failed
		if slices.Contains(kept, l) {
			result = document.Passed
		}
		all = append(all, document.Cell{Words: result.Sign(), Tone: result.Tone()})
	}
	return append(all, document.Cells(text.Milliseconds(c.Acquire), text.Decimal(c.Requests),
		strconv.Itoa(c.Servers))...)
}

// remarks returns the notes below a change in the table. They say what the change breaks, what it leaves broken,
// whether it makes a lock last forever, whether it is confirmed, and which faults have nothing to strike.
func (a *Report) remarks(c *Tried) (all []document.Paragraph) {
	add := func(tone document.Tone, mark, words string) {
		all = append(all, document.Paragraph{Words: mark + " " + words, Tone: tone})
	}
	for _, b := range c.New {
		add(document.Open, "!", breach(b))
	}
	if c.GivesUp {
		add(document.Open, "!", givesUp)
	}
	for _, b := range c.Known {
		if c.Given.violated(b.Law) == 0 {
			add(document.Plain, "·", breach(b))
		}
	}
	if c.Cost.Lease == forever && a.Base.Cost.Lease != forever {
		add(document.Open, "!", "a holder that crashes blocks the others forever")
	}
	if a.seemsToKeep(c) && !a.keeps(c) {
		add(document.Plain, "·", "not confirmed: tried in "+text.CountGrouped(c.wasMet(), "run")+" only")
	}
	for _, f := range c.Spared {
		add(document.Plain, "–", "has nothing to strike: "+f)
	}
	return all
}

// trials lists the faults that the changes were tried under, and explains the marks in the table of changes.
func (a *Report) trials() (all document.Facts) {
	add := func(name, value string) { all = append(all, document.Fact{Name: name, Value: value}) }
	for _, n := range a.natures() {
		add("nature", n)
	}
	for _, plan := range a.plans() {
		add("faults", plan)
	}
	add("tried", fmt.Sprintf("%s and %s. A change is marked ✓ if the law held %s. "+
		"It is marked ! if a law that held before is now broken, there or in %s under faults of all kinds, "+
		"or if a crashed holder now keeps the lock forever. "+
		"It is marked · if a law is broken that was broken before or that no lock can keep.",
		text.Count(a.Singles, "change"), text.Count(a.Pairs, "pair"), a.marked(), text.Count(a.otherRuns(), "run")))
	return all
}

// marked describes the runs in which a law must hold for a change to count as fixing it.
func (a *Report) marked() string {
	words := "in " + text.Count(a.Base.Given.Runs, "run") + " under these faults" + a.elsewhereWords() +
		", and under new faults of the same kinds"
	if a.withoutFaults() {
		words = "in " + text.Count(a.Base.Given.Runs, "run") + " without faults, and with other seeds"
	}
	words += " in " + text.Grouped(a.Seeds)
	if confirmed := a.Base.Fresh.Runs; confirmed > a.Seeds {
		words += fmt.Sprintf(", or in %s (%s of which break the unchanged lock) if it is one of the first changes",
			text.Grouped(confirmed), text.Grouped(a.freshly()))
	}
	return words
}

// natures says which broken promises no lock can keep, and why. It states each reason once. It looks at the promises
// that are broken without a change. If the best change keeps all the others, it also looks at those that this change
// breaks.
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
		for _, b := range a.Mending[0].Known {
			add(b.Law, b.Nature)
		}
	}
	return list
}

// elsewhereWords says in how many runs the faults struck other servers. It returns "" if no change replaces or adds
// servers.
func (a *Report) elsewhereWords() string {
	most := 0
	for _, t := range a.Mending {
		most = max(most, t.Elsewhere.Runs)
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(", in up to %d runs in which they strike servers that the change adds", most)
}

// freshly returns the number of runs under fresh faults in which the unchanged lock breaks. If several laws are broken,
// it is the number for the law that is broken most often. The report uses this number to show how severe the fresh
// faults are.
func (a *Report) freshly() (most int) {
	for _, l := range a.Broken {
		most = max(most, a.Base.Fresh.violated(l))
	}
	return most
}

// suite returns a test suite with one case for each broken promise. If no promise is broken, the suite has a single
// case.
func (a *Report) suite() document.Suite {
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
	open := a.open()
	if a.OutOfBudget && a.Standing() == document.Undecided {
		open = append(open, a.untried())
	}
	s.Cases = append(s.Cases, document.OpenCases(name, open)...)
	s.Cases = append(s.Cases, document.InterruptedCases(name, a.Interrupted)...)
	return s
}
