package reports

import (
	"io"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// Comparison holds ways to lock against each other: the same work, the same faults.
type Comparison struct {
	Seeds    int      // runs behind each cell
	Delay    string   // of each message, each way
	Retry    string   // between two tries of a lock that is polled
	Clients  int      // that contend
	Model    []string // what the figures rest on
	Troubles []Trouble
	Locks    []ComparedLock
	// Interrupted is set if a signal came before all runs were made. Locks whose times were not measured are left out.
	Interrupted bool
	Files       string // the folder that holds each cell's scenario; empty if it was not asked for
	Repeat      string // command to paste that makes the same comparison again
}

// Trouble is what each lock is put through: a fault, or the few that make it bite.
type Trouble struct {
	Name  string
	Title string // heads a column; at most eight cells wide
	Text  string
	// Liveness is set if it is about who still gets the lock: its column shows that in place of the leases.
	Liveness bool
}

// ComparedLock is one way to lock.
type ComparedLock struct {
	Name                          string
	Title                         string // at most 16 cells wide
	Text                          string // what it is, in a sentence
	ClaimLatency, ClaimThroughput string // what the documents say; empty if nothing
	Alone, Together               ComparedTiming
	Cells                         []ComparedCell
}

// ComparedTiming is measured over all acquires of all runs, in simulated time.
type ComparedTiming struct {
	Scenario, Text string // its name, and the file
	Acquires       int
	P50, P99       time.Duration // each client's first acquire left out
	First          time.Duration // median of first acquires
	PerSecond      float64       // locks taken and given back
	Requests       float64       // for each lock taken
}

// ComparedCell is what a lock made of a trouble.
type ComparedCell struct {
	Trouble                string // its name
	Fencing                bool
	Absent                 string   // why it was not run; then nothing else is set
	Scenario, Text         string   // its name, and the file
	Data, Sections, Leases LawTally // resource-safety, mutual-exclusion, lease-exclusion
	Progress               LawTally // deadlock-freedom
}

// LawTally counts how one law came out.
type LawTally struct {
	Holds, Violated, Undecided, Unchecked int
	NotRun                                int // runs that an interruption left out
}

// mark shows a tally in one sign. Only a law that held in every run gets the tick.
func (t LawTally) mark() (string, term.Style) {
	untold := t.Undecided + t.Unchecked + t.NotRun
	switch {
	case t.Violated > 0 && t.Holds+untold == 0:
		return "✗", term.Red
	case t.Violated > 0:
		return "±", term.Red
	case t.Holds == 0 || untold > 0:
		return "?", term.Yellow
	}
	return "✓", term.Green
}

// Survives reports whether the data's promise was kept in every run.
func (c *ComparedCell) Survives() bool {
	return c.Absent == "" && c.Data.Holds > 0 && c.Data.Violated+c.Data.Undecided+c.Data.Unchecked+c.Data.NotRun == 0
}

// CompareText writes the comparison as tables: one on a wide terminal, several on a narrow one. The error is w's.
func CompareText(w io.Writer, c *Comparison, opt TextOptions) error {
	p := opt.page(w)
	p.Put(new(term.Line).Add(term.Bold, "The same work and the same faults, over all locks").Add(term.Plain, "  "+phrase.Count(c.Seeds, "seed")))
	for _, sentence := range c.Model {
		p.Text(term.Plain, 2, sentence)
	}
	p.Blank()
	t := compareTable{c}
	if p.Width() >= timeWidth+2+survivalWidth(len(c.Troubles)) {
		t.draw(p, true, c.Troubles)
	} else {
		t.draw(p, true, nil)
		for left := c.Troubles; len(left) > 0; {
			n := min(len(left), max(1, (p.Width()-titleWidth-fenceWidth)/troubleWidth))
			p.Blank()
			t.draw(p, false, left[:n])
			left = left[n:]
		}
	}
	p.Blank()
	t.legend(p)
	t.notes(p)
	p.Blank()
	stopped(p, c.Interrupted)
	t.commands(p)
	return p.Err()
}

// hung writes a note after a word in the margin.
func hung(p *term.Writer, word, text string) {
	p.Hang(0, word+strings.Repeat(" ", max(titleWidth-term.Cells(word), 1)), term.Plain, text)
}

// timeKey says what the columns of time are.
func timeKey() []fact {
	return []fact{
		{"first", "the median of first acquires, which open connections and sessions; p50 and p99 are of all later ones; nobody else wants the lock"},
		{"asks each", "requests of the client to lock servers, for each lock, from acquire to release"},
		{"cycles/s", "locks taken and given back in a second, one after another, by one client and by several that contend"},
	}
}

// markKey says what the marks of survival mean.
func markKey() []fact {
	return []fact{
		{"d", "the data is safe (resource-safety): what counts as survived"},
		{"s l", "no two sections overlap (mutual-exclusion); no two leases do (lease-exclusion)"},
		{"p", "who waits gets the lock (deadlock-freedom)"},
		{"✓ ✗ ± ? –", "kept in every run; broken in every run; broken in some; could not be told; not run"},
		{"!", "somebody waits for ever (deadlock-freedom)"},
		{"fence", "on: the resource refuses a fencing token lower than one it has seen. A lock without the row gives no token"},
	}
}

// legend says what the columns, rows and marks mean.
func (t *compareTable) legend(p *term.Writer) {
	for _, f := range append(timeKey(), markKey()...) {
		hung(p, f.Name, f.Value)
	}
	p.Blank()
	for _, trouble := range t.Troubles {
		hung(p, trouble.Title, trouble.Text)
	}
	p.Blank()
	for i := range t.Locks {
		l := &t.Locks[i]
		text := l.Text
		if p.Width() < timeWidth && l.ClaimLatency != "" { // the table had no room for it
			text += " The article says " + l.claims() + " ops/s."
		}
		hung(p, l.Title, text)
	}
}
