// Package agree tells how scenarios came out simulated and in real time, side by side.
//
// Goals: a difference stands with both causes; what only one side could run is said and not counted as agreement.
// Non-goals: running (scenarios/live/agree).
package agree

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Agreement is what came of all scenarios.
type Agreement struct {
	Rows        []Row
	Servers     string // what the servers of the second side were
	Interrupted bool
	Repeat      string // command to paste that does it again
}

// Standing is how the sides stand to each other: alike, not alike, or not all that could be was run.
func (a *Agreement) Standing() document.Result {
	switch n := counts(a.Rows); {
	case n.Differ > 0:
		return document.Failed
	case n.Agree == 0 || n.Failed > 0 || a.Interrupted:
		return document.Undecided
	}
	return document.Passed
}

// violated lists the laws that a side violated.
func violated(v checker.Verdict) []string {
	laws := []string{}
	for _, law := range checker.Laws {
		if v.Of(law).Outcome == checker.Violated {
			laws = append(laws, string(law))
		}
	}
	return laws
}

// broken says in a few words how a side came out.
func broken(v checker.Verdict) string {
	laws := violated(v)
	if len(laws) == 0 {
		return "nothing broken"
	}
	return "broken: " + strings.Join(laws, ", ")
}

// came says how a law came out.
func came(f checker.Finding) string {
	if f.Outcome == checker.Violated {
		return fmt.Sprintf("%v: %v", f.Outcome, f.Cause)
	}
	return f.Outcome.String()
}

func wall(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Text writes a table, a line for each scenario, and below it what differs. The error is w's.
func (a *Agreement) Text(w io.Writer, opt document.TextOptions) error {
	p := opt.Writer(w)
	n := counts(a.Rows)
	standing := map[document.Result]string{document.Passed: "agree", document.Failed: "differ",
		document.Undecided: document.Undecided.String()}[a.Standing()]
	tone := text.Green
	if a.Standing() != document.Passed {
		tone = text.Red
	}
	p.Title("simulated and real", text.Count(len(a.Rows), "scenario"), standing, tone)
	p.Text(text.Plain, 2,
		"The same scenarios simulated, and in real time on "+a.Servers+", with each client a process of "+
			"its own: every law, and the cause of every violation, is held to the other side's.")
	p.Blank()
	p.Put(new(text.Line).Add(text.Bold, "   scenario").To(timesAt).Add(text.Plain, "times").
		Right(simulatedEnds, "simulated").Right(realEnds, "real"))
	for i := range a.Rows {
		writeRow(p, &a.Rows[i])
	}
	p.Blank()
	p.Text(text.Plain, 0,
		fmt.Sprintf("%d agree, %d differ for a known reason, %d differ, %d cannot be run on both sides, "+
			"%d failed to run.", n.Agree, n.Explained, n.Differ, n.Refused, n.Failed))
	document.Stopped(p, a.Interrupted)
	document.Closing(p, "", a.Repeat)
	return p.Err()
}

// The columns of the table: right of the longest name in the catalogue, and wide enough for minutes.
const (
	timesAt       = 43
	simulatedEnds = 63
	realEnds      = 73
)

func writeRow(p *text.Writer, r *Row) {
	sign := "✓"
	switch {
	case r.Refused != "":
		sign = "–"
	case r.Failed != "":
		sign = "?"
	case r.explanation() != "":
		sign = "±"
	case !r.Agrees():
		sign = "✗"
	}
	l := new(text.Line).Add(document.Tones[sign], " "+sign+" ").Add(text.Plain, r.Name)
	if why := r.Refused + failed(r); why != "" {
		p.Put(l)
		p.Text(text.Plain, 3, why)
		return
	}
	scale := "as they are"
	if r.Scaled > 1 {
		scale = fmt.Sprintf("÷ %d", r.Scaled)
	}
	p.Put(l.To(timesAt).Add(text.Plain, scale).Right(simulatedEnds, wall(r.Simulated.Wall)).
		Right(realEnds, wall(r.Live.Wall)))
	p.Text(text.Plain, 3, broken(r.Simulated.Verdict)+again(r))
	for _, d := range r.Differences() {
		p.Text(text.Red, 3, fmt.Sprintf("%s simulated %s, real %s", d.Law, came(d.Simulated), came(d.Live)))
	}
	if why := r.explanation(); why != "" {
		p.Text(text.Plain, 3, why)
	}
}

// failed says why a scenario could not be run although it can; nothing if it was.
func failed(r *Row) string {
	if r.Failed == "" {
		return ""
	}
	why := strings.Join(strings.Fields(r.Failed), " ")
	return fmt.Sprintf("failed in %s: %s", text.Count(max(r.Runs, 1), "run"), why)
}

// again says that the real side was run more than once.
func again(r *Row) string {
	switch {
	case r.Runs < 2:
		return ""
	case r.Agrees():
		return fmt.Sprintf("; the real side agreed when it was run again (%d runs)", r.Runs)
	}
	return fmt.Sprintf("; the real side differed in each of %d runs", r.Runs)
}

type agreementJSON struct {
	document.Head
	Servers     string    `json:"servers"`
	Rows        []rowJSON `json:"rows"`
	Agree       int       `json:"agree"`
	Explained   int       `json:"explained"`
	Differ      int       `json:"differ"`
	Refused     int       `json:"refused"`
	Failed      int       `json:"failed"`
	Interrupted bool      `json:"interrupted"`
}

type rowJSON struct {
	Scenario    string        `json:"scenario"`
	DividedBy   int           `json:"divided_by"`
	Runs        int           `json:"runs"` // of the real side
	Refused     string        `json:"refused,omitempty"`
	Failed      string        `json:"failed,omitempty"`
	Simulated   float64       `json:"simulated_seconds"`
	Real        float64       `json:"real_seconds"`
	Agrees      bool          `json:"agrees"`
	Violated    []string      `json:"violated"` // simulated
	Differs     []differsJSON `json:"differs"`
	Explanation string        `json:"explanation,omitempty"` // of the differences
}

type differsJSON struct {
	Law       checker.Law `json:"law"`
	Simulated string      `json:"simulated"`
	Real      string      `json:"real"`
}

// JSON gives the same as one document.
func (a *Agreement) JSON(command string) ([]byte, error) {
	d := agreementJSON{Head: document.HeadOf(command), Servers: a.Servers, Rows: []rowJSON{}, Interrupted: a.Interrupted}
	n := counts(a.Rows)
	d.Agree, d.Explained, d.Differ, d.Refused, d.Failed = n.Agree, n.Explained, n.Differ, n.Refused, n.Failed
	for i := range a.Rows {
		r := &a.Rows[i]
		row := rowJSON{Scenario: r.Name, DividedBy: r.Scaled, Runs: r.Runs, Refused: r.Refused, Failed: r.Failed,
			Agrees: r.Agrees(), Simulated: r.Simulated.Wall.Seconds(), Real: r.Live.Wall.Seconds(),
			Violated: violated(r.Simulated.Verdict), Differs: []differsJSON{}, Explanation: r.explanation()}
		for _, x := range r.Differences() {
			row.Differs = append(row.Differs, differsJSON{x.Law, came(x.Simulated), came(x.Live)})
		}
		d.Rows = append(d.Rows, row)
	}
	return document.Encode(d)
}

// Suite counts each scenario as one case.
func (a *Agreement) Suite() document.Suite {
	s := document.Suite{Name: "live --agree", Repeat: a.Repeat, Cases: document.InterruptedCases("agree", a.Interrupted)}
	for i := range a.Rows {
		r := &a.Rows[i]
		c := document.Case{Group: r.Name, Name: "simulated and real", Result: document.Passed,
			Message: broken(r.Simulated.Verdict) + again(r)}
		if why := r.Refused + failed(r); why != "" {
			c.Result, c.Message = document.Undecided, why
		}
		for _, d := range r.Differences() {
			if c.Message = r.explanation(); c.Message == "" {
				c.Result, c.Message = document.Failed, "the sides differ"
			}
			c.Story += fmt.Sprintf("%s: simulated %s, real %s\n", d.Law, came(d.Simulated), came(d.Live))
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
