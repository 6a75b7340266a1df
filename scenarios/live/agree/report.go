package agree

// This file writes the report. Where outcomes differ, the report shows both the causes in the simulated run and those
// in the real one. If a scenario could be run in only one of the two ways, it is listed, but does not count as
// agreement.

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Described lists the JSON objects that the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"live"}, Object: agreementJSON{}, Is: "comparison of simulated runs with runs in real time"},
}

// Agreement is the result of comparing all scenarios.
type Agreement struct {
	Rows        []Row
	Servers     string // description of the servers on the real side
	Interrupted bool
	Repeat      string // command that repeats the comparison
}

// Standing returns Failed if the simulated and the real outcome of any scenario differ for no known reason. It returns
// Undecided if no scenario agrees, if some scenario failed, or if the comparison was interrupted. Otherwise, it returns
// Passed.
func (a *Agreement) Standing() document.Result {
	switch n := counts(a.Rows); {
	case n.Differ > 0:
		return document.Failed
	case n.Agree == 0 || n.Failed > 0 || a.Interrupted:
		return document.Undecided
	}
	return document.Passed
}

// violated lists the laws that were violated.
func violated(v checker.Verdict) []string {
	laws := []string{}
	for _, law := range checker.Laws {
		if v.Of(law).Outcome == checker.Violated {
			laws = append(laws, string(law))
		}
	}
	return laws
}

// broken returns a phrase that lists the violated laws.
func broken(v checker.Verdict) string {
	laws := violated(v)
	if len(laws) == 0 {
		return "nothing broken"
	}
	return "broken: " + strings.Join(laws, ", ")
}

// outcome puts a law's outcome into words.
func outcome(f checker.Finding) string {
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

// Document returns the report. It has a row for each scenario, with the scenario's differences below it.
func (a *Agreement) Document() *document.Document {
	n, result := counts(a.Rows), a.Standing()
	verdict := map[document.Result]string{document.Passed: "agree", document.Failed: "differ",
		document.Undecided: "undecided"}[result]
	t := document.Table{Heading: "scenario", Columns: []document.Column{{Title: "times", Words: true},
		{Title: "simulated"}, {Title: "real"}}}
	for i := range a.Rows {
		t.Rows = append(t.Rows, tableRow(&a.Rows[i]))
	}
	return &document.Document{
		Title: document.Title{Name: "simulated and real", Size: text.Count(len(a.Rows), "scenario"), Verdict: verdict,
			Tone: result.Tone(),
			Summary: fmt.Sprintf("The same scenarios in the simulator, and in real time on %s, "+
				"with each client as its own process. "+
				"The outcome of every law and the cause of every violation are compared.", a.Servers)},
		Body: []document.Block{t, document.Paragraph{Words: fmt.Sprintf("%d agree, %d differ for a known reason, "+
			"%d differ, %d cannot be run on both sides, %d failed to run.", n.Agree, n.Explained, n.Differ, n.Refused,
			n.Failed)}},
		Interrupted: a.Interrupted, Repeat: a.Repeat, Data: a.data(), Suite: a.suite(),
	}
}

func tableRow(r *Row) document.Row {
	d := document.Row{Name: r.Name, Sign: document.Passed.Sign(), Tone: document.Good}
	note := func(tone document.Tone, words string) {
		if words != "" {
			d.Notes = append(d.Notes, document.Paragraph{Words: words, Tone: tone})
		}
	}
	switch {
	case r.Refused != "":
		d.Sign, d.Tone = document.NotJudged.Sign(), document.Plain
	case r.Failed != "":
		d.Sign, d.Tone = document.Undecided.Sign(), document.Open
	case r.explanation() != "":
		d.Sign, d.Tone = "±", document.Bad
	case !r.Agrees():
		d.Sign, d.Tone = document.Failed.Sign(), document.Bad
	}
	if why := r.Refused + failed(r); why != "" {
		note(document.Plain, why)
		return d
	}
	scale := "as they are"
	if r.Scaled > 1 {
		scale = fmt.Sprintf("÷ %d", r.Scaled)
	}
	d.Cells = document.Cells(scale, wall(r.Simulated.Wall), wall(r.Live.Wall))
	note(document.Plain, broken(r.Simulated.Verdict)+repetitions(r))
	if list := notRecorded(r); len(list) > 0 {
		note(document.Plain, "not compared, because real members do not record it: "+strings.Join(list, ", "))
	}
	for _, x := range r.Differences() {
		note(document.Bad, fmt.Sprintf("%s simulated %s, real %s", x.Law, outcome(x.Simulated), outcome(x.Live)))
	}
	note(document.Plain, r.explanation())
	return d
}

// notRecorded lists the laws and causes that cannot be compared.
func notRecorded(r *Row) (list []string) {
	for _, d := range r.unrecorded() {
		what := string(d.Law)
		if d.Live.Outcome == checker.Violated {
			what = fmt.Sprintf("the cause of %s (simulated: %v)", d.Law, d.Simulated.Cause)
		}
		list = append(list, what)
	}
	return list
}

// failed says how running a scenario in real time failed. It returns "" if it did not fail.
func failed(r *Row) string {
	if r.Failed == "" {
		return ""
	}
	why := strings.Join(strings.Fields(r.Failed), " ")
	return fmt.Sprintf("failed in %s: %s", text.Count(max(r.Runs, 1), "run"), why)
}

// repetitions says how often the scenario was run in real time. It returns "" if it was run only once.
func repetitions(r *Row) string {
	switch {
	case r.Runs < 2:
		return ""
	case r.Agrees():
		return fmt.Sprintf("; the real run agreed when it was repeated (%d runs)", r.Runs)
	}
	return fmt.Sprintf("; the real run differed in each of %d repetitions", r.Runs)
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
	Interrupted bool      `json:"interrupted" doc:"a signal ended the work early"`
}

type rowJSON struct {
	Scenario    string        `json:"scenario"`
	DividedBy   int           `json:"divided_by"`
	Runs        int           `json:"runs" doc:"number of real runs until one of them agreed"`
	Refused     string        `json:"refused,omitempty"`
	Failed      string        `json:"failed,omitempty" doc:"the error that ended the run, if one did"`
	Simulated   float64       `json:"simulated_seconds"`
	Real        float64       `json:"real_seconds"`
	Agrees      bool          `json:"agrees"`
	Violated    []string      `json:"violated"` // in the simulated run
	Differs     []differsJSON `json:"differs"`
	Explanation string        `json:"explanation,omitempty"` // the explanation of the differences
	NotRecorded []string      `json:"not_recorded,omitempty" doc:"what was not compared, because the real servers do not record it"`
}

type differsJSON struct {
	Law       checker.Law `json:"law"`
	Simulated string      `json:"simulated"`
	Real      string      `json:"real"`
}

// data returns the report as a JSON object.
func (a *Agreement) data() *agreementJSON {
	d := &agreementJSON{Servers: a.Servers, Rows: []rowJSON{}, Interrupted: a.Interrupted}
	n := counts(a.Rows)
	d.Agree, d.Explained, d.Differ, d.Refused, d.Failed = n.Agree, n.Explained, n.Differ, n.Refused, n.Failed
	for i := range a.Rows {
		r := &a.Rows[i]
		row := rowJSON{Scenario: r.Name, DividedBy: r.Scaled, Runs: r.Runs, Refused: r.Refused, Failed: r.Failed,
			Agrees: r.Agrees(), Simulated: r.Simulated.Wall.Seconds(), Real: r.Live.Wall.Seconds(),
			Violated: violated(r.Simulated.Verdict), Differs: []differsJSON{}, Explanation: r.explanation(),
			NotRecorded: notRecorded(r)}
		for _, x := range r.Differences() {
			row.Differs = append(row.Differs, differsJSON{x.Law, outcome(x.Simulated), outcome(x.Live)})
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// suite returns a test suite with one case for each scenario.
func (a *Agreement) suite() document.Suite {
	s := document.Suite{Name: "live --agree", Repeat: a.Repeat, Cases: document.InterruptedCases("agree",
		a.Interrupted)}
	for i := range a.Rows {
		r := &a.Rows[i]
		c := document.Case{Group: r.Name, Name: "simulated and real", Result: document.Passed,
			Message: broken(r.Simulated.Verdict) + repetitions(r)}
		if why := r.Refused + failed(r); why != "" {
			c.Result, c.Message = document.Undecided, why
		}
		for _, d := range r.Differences() {
			if c.Message = r.explanation(); c.Message == "" {
				c.Result, c.Message = document.Failed, "the sides differ"
			}
			c.Story += fmt.Sprintf("%s: simulated %s, real %s\n", d.Law, outcome(d.Simulated), outcome(d.Live))
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
