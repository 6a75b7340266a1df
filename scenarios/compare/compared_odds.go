package compare

import (
	"fmt"
	"io"
	"slices"

	"github.com/fencepost-sim/fencepost/reports/document"
)

// OddsReport are how likely a Redlock stops excluding, measured and by the formula.
type OddsReport struct {
	Asked       Odds
	Rows        []*Odds // by the number of keys held
	Interrupted bool    // a signal came before all runs were made
	Repeat      string  // command to paste that measures again
}

// Standing is Otherwise if the formula lies outside the interval of what was measured.
func (o *OddsReport) Standing() document.Result {
	switch {
	case slices.ContainsFunc(o.Rows, func(r *Odds) bool { return !r.agrees() }):
		return document.Failed
	case o.Interrupted:
		return document.Undecided
	}
	return document.Passed
}

// Text writes a table with a row for each number of keys held. The error is w's.
func (o *OddsReport) Text(w io.Writer, _ document.TextOptions) error {
	what := "masters, each of which fails over and loses the lock by that"
	if o.Asked.By == ByRestart {
		what = "servers, each of which restarts and loses the lock by that"
	}
	fmt.Fprintf(w, "Redlock with a quorum of %d of %d %s with chance %g %%\n\n", o.Asked.Quorum, o.Asked.Servers, what,
		o.Asked.Chance*100)
	fmt.Fprintf(w, "held      runs  measured  99 %% interval        formula    article k^N\n")
	for _, r := range o.Rows {
		mark := "agrees"
		if !r.agrees() {
			mark = "DISAGREES"
		}
		low, high := r.interval()
		fmt.Fprintf(w, "%4d  %8d  %8.5f  %.5f to %.5f  %9.3g  %9.3g  %s\n", r.Held, r.Runs, r.measured(), low, high,
			r.Formula(), r.Article(), mark)
	}
	if o.Interrupted {
		fmt.Fprintf(w, "\nstopped by a signal before all runs were made\n")
	}
	_, err := fmt.Fprintf(w,
		"\nThe article's k^N is the chance that all servers lose the lock at once. A second client needs\n"+
			"only a quorum of servers that do not know the lock: those that lost it and those that never had it.\n")
	return err
}

type oddsJSON struct {
	document.Head
	Odds        []oddJSON `json:"odds"`
	Interrupted bool      `json:"interrupted"`
}

// oddJSON is for one number of keys held.
type oddJSON struct {
	Held     int     `json:"held"`
	Runs     int     `json:"runs"` // that were made
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"` // of the 99 % interval
	High     float64 `json:"high"`
	Formula  float64 `json:"formula"`
	Article  float64 `json:"article"` // k^N
	Agrees   bool    `json:"agrees"`
}

// JSON gives the odds as one JSON object, ended by a newline.
func (o *OddsReport) JSON(command string) ([]byte, error) {
	d := oddsJSON{document.HeadOf(command), []oddJSON{}, o.Interrupted}
	for _, r := range o.Rows {
		low, high := r.interval()
		d.Odds = append(d.Odds, oddJSON{r.Held, r.Runs, r.measured(), low, high, r.Formula(), r.Article(), r.agrees()})
	}
	return document.Encode(d)
}

// Suite has a case for each row.
func (o *OddsReport) Suite() document.Suite {
	s := document.Suite{Name: "odds", Repeat: o.Repeat, Cases: document.InterruptedCases("odds", o.Interrupted)}
	for _, r := range o.Rows {
		low, high := r.interval()
		c := document.Case{Group: "odds", Name: fmt.Sprintf("%d keys held", r.Held), Result: document.Passed,
			Message: fmt.Sprintf("measured %.5f, 99 %% interval %.5f to %.5f, formula %.3g", r.measured(), low, high,
				r.Formula())}
		if !r.agrees() {
			c.Result = document.Failed
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
