package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Advice is which changes save a lock, found by trying.
type Advice struct {
	Scenario string
	Summary  string
	Own      bool            // the scenario's own faults were tried; otherwise plans that were found
	Explored int             // random plans that were run to find them
	Plans    []string        // the faults that broke the lock, a plan each
	Runs     int             // under these faults
	Fresh    int             // under fresh random faults like them
	Others   int             // under faults of all kinds
	Broken   []AdvisedLaw    // promises that these faults break
	Base     AdvisedCost     // of the lock as it is
	Changes  []AdvisedChange // those that mend something, best first
	Singles  int             // changes tried alone
	Pairs    int
	Open     []string // why nothing can be said
	// Interrupted is set if a signal came before all was tried.
	Interrupted bool
	File, Diff  string // of the best change: its scenario file, empty if it was not written, and what is different there
	Files       string // folder with all that is kept
	Repeat      string
}

// AdvisedLaw is a promise that was broken.
type AdvisedLaw struct {
	Law    string
	Causes []string
	Runs   int    // that broke it under the given faults
	Fresh  int    // and under fresh ones
	Nature string // why no change keeps it; empty if one does, or if that is not known
}

// AdvisedCost is what a lock takes.
type AdvisedCost struct {
	Acquire  time.Duration // of a client alone: median
	Requests float64       // for each lock
	Servers  int
	Lease    time.Duration // for which a holder that has crashed keeps the others out; zero: for ever
}

// AdvisedChange is a change or two that mend something.
type AdvisedChange struct {
	Changes []string // "lock.protocol: etcd"
	Keeps   bool     // every promise that can be kept
	Mends   []string // laws
	Leaves  []string
	Breaks  []AdvisedBreach
	GivesUp bool            // clients give up where they got the lock before
	Else    []AdvisedBreach // what else breaks the mended laws under fresh faults, with and without the change
	Spared  []string        // faults that have nothing to strike any more
	Cost    AdvisedCost
	File    string // its scenario file; empty if it was not written
}

// AdvisedBreach is a promise that a change breaks anew; without a cause, one that is not seen to be kept any more.
type AdvisedBreach struct{ Law, Cause string }

// String gives "breaks ownership: removed by non-owner".
func (b AdvisedBreach) String() string {
	if b.Cause == "" {
		return b.Law + " is no longer seen to hold"
	}
	return "breaks " + b.Law + ": " + b.Cause
}

// Result is how the advice stands: nothing is broken or a change keeps every promise, none does, or it is not known.
func (a *Advice) Result() Result {
	switch {
	case a.Interrupted || len(a.Open) > 0:
		return Undecided
	case len(a.Broken) == 0 || len(a.Changes) > 0 && a.Changes[0].Keeps:
		return Passed
	}
	return Failed
}

// outcome says the same in a word or two.
func (a *Advice) outcome() string {
	switch result := a.Result(); {
	case result == Undecided:
		return undecided
	case len(a.Broken) == 0:
		return "nothing broken"
	case result == Passed:
		return "can be saved"
	}
	return "not saved"
}

// mostAdvised is how many changes a text shows; the JSON has all.
const mostAdvised = 8

// AdviseText writes what breaks the lock, what to do, a table of what else mends something, and the change as a diff.
// The error is w's.
func AdviseText(w io.Writer, a *Advice, opt TextOptions) error {
	p := opt.page(w)
	tone := map[Result]term.Style{Passed: term.Green, Failed: term.Red, Undecided: term.Yellow}[a.Result()]
	standing := a.outcome()
	p.Title(a.Scenario, "", standing, tone)
	if a.Summary != "" {
		p.Text(term.Plain, 2, a.Summary)
	}
	p.Blank()
	p.Text(term.Plain, 0, a.conclusion())
	if len(a.Broken) > 0 {
		a.breaches(p)
		if len(a.Changes) > 0 {
			p.Blank()
			a.table(p)
		}
		p.Blank()
		a.trials(p)
	}
	stopped(p, a.Interrupted)
	notes(p, "open    ", a.Open)
	if a.Diff != "" {
		p.Blank()
		p.Put(new(term.Line).Add(term.Bold, "the first as a diff"))
		for text := range strings.Lines(a.Diff) {
			p.Put(new(term.Line).Add(diffStyle(text), strings.TrimRight(text, "\r\n")))
		}
		p.Blank()
	}
	closing(p, a.Files, a.Repeat)
	return p.Err()
}

func diffStyle(text string) term.Style {
	switch {
	case strings.HasPrefix(text, "+"):
		return term.Green
	case strings.HasPrefix(text, "-"):
		return term.Red
	}
	return term.Plain
}

// conclusion is the advice in a few sentences.
func (a *Advice) conclusion() string {
	what := "The scenario's own faults"
	if !a.Own {
		what = fmt.Sprintf("%s of its mix", phrase.CountGrouped(a.Explored, "random plan"))
	}
	if len(a.Broken) == 0 {
		return what + " break no promise: there is nothing to mend."
	}
	if len(a.Changes) == 0 {
		return fmt.Sprintf("Nothing that the format offers mends what breaks here: %s and %s were tried.", phrase.Count(a.Singles, "change"), phrase.Count(a.Pairs, "pair"))
	}
	best := &a.Changes[0]
	text := "Set " + strings.Join(best.words(), " and ") + ": "
	var beyond []string
	for _, l := range a.Broken {
		if l.Nature != "" {
			beyond = append(beyond, l.Law)
		}
	}
	switch {
	case !best.Keeps:
		text = "No change and no pair keeps every promise. Nearest comes: " + strings.Join(best.words(), " and ") + ". It mends " +
			phrase.Join(best.Mends, " and ")
		if len(best.Leaves) > 0 {
			text += ", and leaves " + phrase.Join(best.Leaves, " and ") + " broken"
		}
		for _, b := range best.Breaks {
			text += ", but " + b.String()
		}
		if best.GivesUp {
			text += ", but clients give up where they got the lock before"
		}
		return text + "."
	case len(beyond) > 0:
		text += phrase.Join(best.Mends, " and ") + " is kept then, but not " + phrase.Join(beyond, " and ") + ", which nothing keeps here."
		if len(best.Mends) > 1 {
			text = strings.Replace(text, " is kept", " are kept", 1)
		}
	default:
		text += "then every promise is kept."
	}
	return text + " " + best.Cost.against(a.Base)
}

// words are the changes as a sentence has them: "lock.protocol to etcd".
func (c *AdvisedChange) words() (list []string) {
	for _, text := range c.Changes {
		list = append(list, strings.Replace(text, ": ", " to ", 1))
	}
	return list
}

// against says what it costs, against what it cost before.
func (c AdvisedCost) against(base AdvisedCost) string {
	lease := ""
	if c.Lease != base.Lease && base.Lease > 0 {
		lease = fmt.Sprintf(" A holder that crashes keeps the others out for %s (before: %s).", c.Lease, base.Lease)
	}
	same := c
	same.Lease = base.Lease
	if same == base {
		return "It takes no more time, requests or servers." + lease
	}
	text := fmt.Sprintf("A client alone gets the lock in %s ms (before: %s), with %s requests for each (%s)", milliseconds(c.Acquire),
		milliseconds(base.Acquire), decimal(c.Requests), decimal(base.Requests))
	if c.Servers != base.Servers {
		text += fmt.Sprintf(", on %s (%d)", phrase.Count(c.Servers, "server"), base.Servers)
	}
	return text + "." + lease
}

// breaches says what is broken, and how often.
func (a *Advice) breaches(p *term.Writer) {
	for _, l := range a.Broken {
		p.Hang(1, "✗ ", term.Plain, fmt.Sprintf("%s in %d of %d runs: %s", l.Law, l.Runs, a.Runs, strings.Join(l.Causes, "; ")))
	}
}

// Widths of the table, in cells.
const (
	lawWidth     = 11
	shortWidth   = 7
	costWidth    = 26
	changeNarrow = 28 // what changes need beside laws of the full width
)

// shortLaws head the columns where there is no room for the laws' names.
var shortLaws = map[string]string{"lease-exclusion": "lease", "mutual-exclusion": "mutual", "resource-safety": "data",
	"ownership": "owner", "token-order": "tokens", "deadlock-freedom": "stuck", "fault-tolerance": "bound"}

// columns is how wide the column of changes is, and that of each law.
func (a *Advice) columns(p *term.Writer) (changes, law int) {
	wide, n := min(p.Width(), 100), len(a.Broken)
	if law = lawWidth; wide < changeNarrow+law*n+costWidth {
		law = shortWidth
	}
	return max(wide-law*n-costWidth, 12), law
}

// table has a line or two for each change, the lock as it is first.
func (a *Advice) table(p *term.Writer) {
	width, each := a.columns(p)
	first, second := new(term.Line).Add(term.Bold, "change").To(width), new(term.Line).To(width)
	for i, l := range a.Broken {
		head, rest, _ := strings.Cut(l.Law, "-")
		if each == shortWidth {
			head, rest = shortLaws[l.Law], ""
		}
		first.To(width+i*each).Add(term.Plain, head)
		second.To(width+i*each).Add(term.Plain, rest)
	}
	at := width + each*len(a.Broken)
	p.Put(first.To(at).Add(term.Plain, "acquire").To(at+9).Add(term.Plain, "requests").To(at+19).Add(term.Plain, "servers"))
	p.Put(second.To(at).Add(term.Plain, "in ms").To(at+9).Add(term.Plain, "each"))
	a.row(p, []string{"as it is"}, func(string) bool { return false }, a.Base)
	for i := range a.Changes {
		c := &a.Changes[i]
		if i == mostAdvised {
			break
		}
		kept := func(law string) bool {
			for _, l := range c.Mends {
				if l == law {
					return true
				}
			}
			return false
		}
		a.row(p, c.Changes, kept, c.Cost)
		for _, b := range c.Breaks {
			p.Hang(5, "! ", term.Yellow, b.String())
		}
		if c.GivesUp {
			p.Hang(5, "! ", term.Yellow, "clients give up where they got the lock before")
		}
		for _, b := range c.Else {
			p.Hang(5, "· ", term.Plain, fmt.Sprintf("under fresh faults %s still breaks otherwise: %s", b.Law, b.Cause))
		}
		for _, f := range c.Spared {
			p.Hang(5, "– ", term.Plain, "has nothing to strike: "+f)
		}
	}
	if n := len(a.Changes) - mostAdvised; n > 0 {
		p.Text(term.Plain, 3, fmt.Sprintf("and %d more that mend something; --json has all", n))
	}
}

// row is one lock in the table: what is changed, wrapped, then what it keeps of what was broken and what it costs.
func (a *Advice) row(p *term.Writer, changes []string, kept func(law string) bool, cost AdvisedCost) {
	width, each := a.columns(p)
	var words []string
	for i, text := range changes {
		for term.Cells(text) > width-8 { // a shorter name says it as well
			_, shorter, nested := strings.Cut(text, ".")
			if key, _, _ := strings.Cut(text, ":"); !nested || !strings.Contains(key, ".") {
				break
			}
			text = shorter
		}
		if i > 0 {
			text = "and " + text
		}
		words = append(words, term.Wrap(text, width-4)...)
	}
	for i, text := range words {
		ln := new(term.Line).To(1)
		if i > 0 {
			ln.To(3)
		}
		ln.Add(term.Plain, text)
		if i == 0 {
			for k, l := range a.Broken {
				mark, tone := "✗", term.Red
				if kept(l.Law) {
					mark, tone = "✓", term.Green
				}
				ln.To(width+k*each).Add(tone, mark)
			}
			at := width + each*len(a.Broken)
			costs := []string{milliseconds(cost.Acquire), decimal(cost.Requests), strconv.Itoa(cost.Servers)}
			for k, end := range []int{7, 17, 26} {
				ln.To(at+end-term.Cells(costs[k])).Add(term.Plain, costs[k])
			}
		}
		p.Put(ln)
	}
}

// trials says what the marks rest on.
func (a *Advice) trials(p *term.Writer) {
	for _, l := range a.Broken {
		if l.Nature != "" {
			p.Hang(0, "nature  ", term.Plain, l.Law+": "+l.Nature+".")
		}
	}
	for i, plan := range a.Plans {
		label := "faults  "
		if i > 0 {
			label = "        "
		}
		p.Hang(0, label, term.Plain, plan)
	}
	p.Hang(0, "tried   ", term.Plain, fmt.Sprintf("%s and %s. A change is marked ✓ if the law held in %s under these faults and in up to %s under "+
		"fresh ones of the same kinds%s, and ! if it breaks what was whole before, also in %s under faults of all kinds.",
		phrase.Count(a.Singles, "change"), phrase.Count(a.Pairs, "pair"), phrase.Count(a.Runs, "run"), phrase.Count(a.Fresh, "run"), a.freshly(), phrase.Count(a.Others, "run")))
}

// freshly says how often fresh faults break the lock as it is, so that it shows what a change is held against.
func (a *Advice) freshly() string {
	most := 0
	for _, l := range a.Broken {
		most = max(most, l.Fresh)
	}
	return fmt.Sprintf(" (%d of which break the lock as it is)", most)
}
