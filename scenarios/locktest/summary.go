package locktest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/features"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// failure is an entry in the list of the lock's failures.
type failure struct {
	seed  uint64
	fault string // with Config.EachFault: the fault of the first run
	what  string // a one-line description
	runs  int
	rank  rank
	text  func() string // called when the failure is reported, since shrinking takes a while
}

// failures returns the lock's distinct kinds of failures, sorted by rank.
func (p *parent) failures() (all []failure) {
	for _, r := range p.runs {
		if r.Failure == "" || r.Ignored {
			continue
		}
		what, _, _ := strings.Cut(r.Failure, "\n")
		i := slices.IndexFunc(all, func(f failure) bool { return areAlike(f.what, what) })
		if i < 0 {
			i = len(all)
			all = append(all, failure{seed: r.Seed, fault: p.fault(&r), what: what,
				text: func() string { return r.Failure + "\n" + p.withCommand(r) }})
		}
		all[i].runs++
	}
	for _, g := range p.groups() {
		all = append(all, failure{g.first.Seed, p.fault(&g.first), fmt.Sprintf("%s: %s", g.Law, g.Cause), g.runs,
			g.rank(),
			func() string { return p.story(g) }})
	}
	return all
}

// rank determines the order of failures in the list.
type rank int

const (
	ofCode  rank = iota // the run could not be judged because of the lock's code
	ofOwner             // the lock changed another client's key, from which violations of other laws follow
	ofLaws
	ofLeases // no lock with a lease could have prevented the violation
)

func (g *group) rank() rank {
	switch {
	case g.Limit != "":
		return ofLeases
	case g.Law == checker.Ownership:
		return ofOwner
	}
	return ofLaws
}

// areAlike reports whether two lines differ at most in their numbers.
func areAlike(a, b string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	return plain(a) == plain(b)
}

// laws counts each law's outcomes.
func (p *parent) laws() campaign.Laws {
	all := campaign.NewLaws(checker.Laws)
	for _, r := range p.runs {
		for i, o := range r.Outcomes {
			if all[i].Count(o); r.Guided {
				all[i].Guided.Count(o)
			}
		}
		for _, l := range r.Excused {
			i := slices.Index(checker.Laws, l)
			if all[i].Excused++; r.Guided {
				all[i].Guided.Excused++
			}
		}
	}
	return all
}

// listedLaws returns the laws that the summary lists. It includes fairness only if fairness was judged, since most
// locks do not promise any order.
func (p *parent) listedLaws() campaign.Laws {
	return slices.DeleteFunc(p.laws(), func(l campaign.Law) bool {
		return l.Law == checker.Fairness && l.Exercised() == 0
	})
}

// open returns a sentence for each law that no run decided. The sentence says why the first run left it undecided.
func (p *parent) open() (sentences []string) {
	for _, l := range p.listedLaws() {
		i := slices.IndexFunc(p.runs, func(r ran) bool { return r.Open[l.Law] != "" })
		if i < 0 || l.Exercised() > 0 {
			continue
		}
		sentences = append(sentences, fmt.Sprintf("%s is undecided in %s. With seed %d: %s", l.Law,
			text.Count(l.Undecided, "run"), p.runs[i].Seed, p.runs[i].Open[l.Law]))
	}
	return sentences
}

// unrenewed returns a sentence that says in how many runs two clients were in their critical sections at once because
// the work took longer than a lease that no request had renewed. Such a run is counted only if mutual exclusion is not
// promised. unrenewed returns "" if there are none.
func (p *parent) unrenewed() string {
	n := 0
	for _, r := range p.runs {
		if r.Unrenewed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("in %d of %s, two clients were in their critical sections at once, "+
		"because the work took longer than a lease that no request renewed. "+
		"This breaks no promise, since Config.Laws does not contain mutual-exclusion: "+
		"let the lock renew its lease, or keep Config.Hold below the TTL", n, text.Count(len(p.runs), "run"))
}

// ignored returns the number of runs that could not be judged because of a function in Config.IgnoredGoroutines.
func (p *parent) ignored() (n int) {
	for _, r := range p.runs {
		if r.Ignored {
			n++
		}
	}
	return n
}

// summary lists each law's outcomes, in the format of fencepost explore, and the failures.
func (p *parent) summary() string {
	failures := p.failures()
	size := text.Count(len(p.runs), "run")
	if n := p.ignored(); n > 0 {
		size += fmt.Sprintf(", %d not judged (Config.IgnoredGoroutines)", n)
	}
	standing := document.Standing{Result: document.Passed, Promise: true}
	switch {
	case len(failures) > 0:
		standing.Result = document.Failed
	case len(p.runs) == 0:
		standing.Result = document.Undecided
	}
	d := document.Document{Title: document.Title{Name: scenarioName(p.t.Name()), Size: size, Verdict: standing.Words(),
		Tone: standing.Tone()}, Body: []document.Block{p.listedLaws().RateTable(p.config.promise()), index(failures),
		p.claim()}}
	for _, l := range p.laws() {
		if l.Excused > 0 {
			words := fmt.Sprintf("%s is broken in %d of %s %sConfig.Availability is set", l.Law, l.Excused,
				text.Count(len(p.runs), "run"), checker.ExcuseUnless)
			d.Body = slices.Insert(d.Body, 1, document.Block(document.Paragraph{Words: words}))
		}
	}
	for _, words := range p.open() {
		d.Body = slices.Insert(d.Body, 1, document.Block(document.Paragraph{Words: words}))
	}
	if words := p.unrenewed(); words != "" {
		d.Body = slices.Insert(d.Body, 1, document.Block(document.Paragraph{Words: words}))
	}
	refused := p.unsimulated()
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		words := fmt.Sprintf("%s is not simulated: it was refused, and its connection was closed, in %s", name,
			text.Count(refused[name], "run"))
		d.Body = slices.Insert(d.Body, 1, document.Block(document.Paragraph{Words: words}))
	}
	if words := p.confidence(); words != "" {
		d.Body = slices.Insert(d.Body, 1, document.Block(document.Paragraph{Words: words}),
			document.Block(document.Paragraph{Words: p.tried()}))
	}
	d.Body = append(d.Body, p.closest())
	if n := len(p.differ); n > 0 {
		d.Body = append(d.Body, document.Paragraph{Tone: document.Open,
			Words: search.Differing{Blocks: n, First: slices.Min(p.differ)}.String()})
	}
	var b strings.Builder
	_ = d.Text(&b, document.TextOptions{Width: width}) // writing to a Builder never fails
	return strings.TrimRight(b.String(), "\n")
}

// closest describes how close the runs came to violating each law that was not violated, and adds the command that
// shows the closest run.
func (p *parent) closest() document.Facts {
	var all search.Closest
	for _, r := range p.runs {
		all.Add(r.Closest)
	}
	calls := all.Whole(p.laws())
	facts := calls.Facts()
	if len(calls) > 0 && !p.one && !p.config.EachFault {
		facts = append(facts, document.Fact{Name: "see it", Command: true,
			Value: fmt.Sprintf("go test -v -run '%s/^%s$' .", remote.Pattern(p.t.Name()), p.name(calls[0].Seed))})
	}
	return facts
}

// confidence returns a sentence such as "no violation in 200 schedules: with 95% confidence, fewer than 1 in 67
// schedules of this mix breaks a promise". It is about the promised laws that were exercised and never violated. Runs
// whose plans were chosen on the basis of other runs do not count toward the bound. If there is no such law, or if too
// few runs count, confidence returns "". It also returns "" if single faults were tried one after another
// (Config.EachFault).
func (p *parent) confidence() string {
	promise := p.config.promise()
	var silent []string
	all := true
	for _, l := range p.laws() {
		switch {
		case !slices.Contains(promise.Laws, l.Law):
		case l.Breaks() > 0:
			all = false
		case l.Exercised() > 0:
			silent = append(silent, string(l.Law))
		}
	}
	n, free := p.decided()
	if len(silent) == 0 || campaign.OneIn(free) == 1 || p.listed != nil {
		return ""
	}
	schedules, oneIn := text.CountGrouped(n, "schedule"), text.Grouped(campaign.OneIn(free))
	kind := "of this mix"
	if p.fixed {
		kind = "with these faults"
	}
	none := "no violation in " + schedules
	rate := fmt.Sprintf("with 95%% confidence, fewer than 1 in %s schedules %s breaks a promise", oneIn, kind)
	if !all {
		none = fmt.Sprintf("no violation of %s in %s", text.Join(silent, " or "), schedules)
		rate = fmt.Sprintf("with 95%% confidence, fewer than 1 in %s schedules %s shows one", oneIn, kind)
	}
	if free < n {
		return fmt.Sprintf("%s: based on the %s with purely random faults, %s", none, text.Grouped(free), rate)
	}
	return none + ": " + rate
}

// unsimulated counts, for each request that is not simulated, the runs in which it was refused.
func (p *parent) unsimulated() map[string]int {
	all := map[string]int{}
	for _, r := range p.runs {
		for _, name := range r.Unsimulated {
			all[name]++
		}
	}
	return all
}

// situations counts the runs in which each lock situation occurred. Package features defines the situations.
func (p *parent) situations() map[string]int {
	all := map[string]int{}
	for _, r := range p.runs {
		for _, f := range r.Situations {
			all[f.String()]++
		}
	}
	return all
}

// tried returns a sentence that says how many of a lock's possible situations occurred in the runs.
func (p *parent) tried() string {
	all, once := p.situations(), 0
	for _, n := range all {
		if n == 1 {
			once++
		}
	}
	return fmt.Sprintf("%d of the %d situations that a lock can get into occurred, %d of them in only one run",
		len(all), features.Things, once)
}

// decided returns the number of completed runs in which no law was undecided, and how many of them had plans that did
// not depend on other runs (free).
func (p *parent) decided() (n, free int) {
	for _, r := range p.runs {
		if r.Failure != "" || slices.Contains(r.Outcomes, checker.Undecided) {
			continue
		}
		if n++; !r.Guided {
			free++
		}
	}
	return n, free
}

func index(failures []failure) document.Table {
	t := document.Table{Columns: []document.Column{{Words: true}}}
	for i, f := range failures {
		group := "findings"
		if f.rank == ofLeases {
			group = "violations that no lock with a lease can prevent"
		}
		first := fmt.Sprintf(" from seed %d", f.seed)
		if f.fault != "" {
			first = fmt.Sprintf(" from fault %d: %s", f.seed, f.fault)
		}
		t.Rows = append(t.Rows, document.Row{Group: group, Name: strconv.Itoa(i + 1),
			Cells: document.Cells(fmt.Sprintf("%s, %s%s", strings.TrimSuffix(f.what, "."), text.Count(f.runs, "run"),
				first))})
	}
	return t
}

// width is the width of a report in test output, in columns. It takes go test's indentation into account.
const width = 100

// written calls write and returns the text that it has written, at most width columns wide.
func written(write func(to *text.Writer)) string {
	var b strings.Builder
	write(document.TextOptions{Width: width}.Writer(&b))
	return b.String()
}
