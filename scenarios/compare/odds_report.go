package compare

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/document"
)

// OddsReport is a report on the probability that Redlock loses mutual exclusion, both measured and computed with the
// formula.
type OddsReport struct {
	Asked       Odds
	Rows        []*Odds // one for each number of servers that hold the key
	Interrupted bool    // a signal ended the measurement early
	Repeat      string  // command that repeats the measurement
}

// Standing returns Failed if, in some row, the formula's value lies outside the measured fraction's interval. Otherwise
// it returns Passed, or Undecided if the measurement was interrupted.
func (o *OddsReport) Standing() document.Result {
	switch {
	case slices.ContainsFunc(o.Rows, func(r *Odds) bool { return !r.agrees() }):
		return document.Failed
	case o.Interrupted:
		return document.Undecided
	}
	return document.Passed
}

// Document returns the report. It has a row for each number of servers that hold the key.
func (o *OddsReport) Document() *document.Document {
	result := o.Standing()
	what, loss := "masters", "fails over"
	if o.Asked.By == ByRestart {
		what, loss = "servers", "restarts"
	}
	t := document.Table{Heading: "held", Columns: []document.Column{{Title: "runs"}, {Title: "measured"},
		{Title: "99% interval"}, {Title: "formula"}, {Title: "article k^N"}}}
	for _, r := range o.Rows {
		low, high := r.interval()
		agrees := r.standing()
		t.Rows = append(t.Rows, document.Row{Sign: agrees.Sign(), Tone: agrees.Tone(), Name: strconv.Itoa(r.Held),
			Cells: document.Cells(strconv.Itoa(r.Runs), fmt.Sprintf("%.5f", r.measured()),
				fmt.Sprintf("%.5f to %.5f", low, high), fmt.Sprintf("%.3g", r.Formula()),
				fmt.Sprintf("%.3g", r.Article()))})
	}
	return &document.Document{
		Title: document.Title{Name: fmt.Sprintf("Redlock with a quorum of %d of %d %s", o.Asked.Quorum, o.Asked.Servers,
			what),
			Verdict: [...]string{document.Passed: "agrees", document.Failed: "disagrees",
				document.Undecided: document.Undecided.String()}[result], Tone: result.Tone(),
			Summary: fmt.Sprintf("Each of them %s, and has a probability of %g%% of losing the lock when it does.",
				loss,
				o.Asked.Chance*100)},
		Body: []document.Block{document.Section{Heading: "How often a second client got the lock",
			Body: []document.Block{t, document.Paragraph{Words: "The article's k^N is the chance " +
				"that all servers lose the lock at once. " +
				"A second client needs only a quorum of servers that do not have the lock: " +
				"those that lost it and those that never had it."}}}},
		Interrupted: o.Interrupted, Repeat: o.Repeat, Data: o.data(), Suite: o.suite(),
	}
}

// standing returns Passed if the formula agrees with the measurement, and otherwise Failed.
func (o *Odds) standing() document.Result {
	if o.agrees() {
		return document.Passed
	}
	return document.Failed
}

type oddsJSON struct {
	document.Head
	Odds        []oddJSON `json:"odds"`
	Interrupted bool      `json:"interrupted" doc:"a signal ended the work early"`
}

// oddJSON is the JSON form of a row: the odds when a given number of servers hold the key.
type oddJSON struct {
	Held     int     `json:"held"`
	Runs     int     `json:"runs"` // number of runs performed
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"` // lower end of the 99% interval
	High     float64 `json:"high"`
	Formula  float64 `json:"formula"`
	Article  float64 `json:"article"` // k^N, the article's formula
	Agrees   bool    `json:"agrees"`
}

// data returns the report as a JSON object.
func (o *OddsReport) data() *oddsJSON {
	d := &oddsJSON{Odds: []oddJSON{}, Interrupted: o.Interrupted}
	for _, r := range o.Rows {
		low, high := r.interval()
		d.Odds = append(d.Odds, oddJSON{r.Held, r.Runs, r.measured(), low, high, r.Formula(), r.Article(), r.agrees()})
	}
	return d
}

// suite returns a test case for each row.
func (o *OddsReport) suite() document.Suite {
	s := document.Suite{Name: "odds", Repeat: o.Repeat, Cases: document.InterruptedCases("odds", o.Interrupted)}
	for _, r := range o.Rows {
		low, high := r.interval()
		c := document.Case{Group: "odds", Name: fmt.Sprintf("%d keys held", r.Held), Result: r.standing(),
			Message: fmt.Sprintf("measured %.5f, 99%% interval %.5f to %.5f, formula %.3g", r.measured(), low, high,
				r.Formula())}
		s.Cases = append(s.Cases, c)
	}
	return s
}
