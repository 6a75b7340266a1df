package reports

import (
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// html writes a verification as one self-contained page: what came out, the picture and the story of the counterexample
// if there is one, what was tried, and what that covers. The error is w's.
func (v *Verification) html(w io.Writer) error {
	d := verifyPage{Scenario: v.Scenario.Name, Summary: v.Scenario.Summary, Standing: v.standing(), Size: v.size(),
		Conclusion: v.conclusion(), Open: v.open(), Repeat: v.Repeat}
	d.Class = map[string]string{"holds": "good", "violated": "bad", document.Undecided.String(): "open"}[d.Standing]
	title := fmt.Sprintf("%s, %s: %s", d.Scenario, d.Size, d.Standing)
	var err error
	if v.Found == nil {
		d.Claims = v.claims()
		d.Frame, err = html.New(title)
	} else if d.Counterexample, err = single.NewPage(v.Run); err == nil {
		d.Frame, err = html.New(title)
		d.Script += timeline.Script
	}
	if err != nil {
		return err
	}
	if v.interrupted() {
		d.Stopped = document.Interruption
	}
	d.Tally.Rows = lawRows(promised(v.Laws(), v.Scenario), nil)
	for _, l := range v.Lengths {
		row := triedRow{Name: text.Count(l.Faults, "fault"), Schedules: text.Grouped(l.Schedules),
			Stands: text.Large(l.Stands)}
		if l.Faults > 0 {
			row.Starts = text.Grouped(l.Starts)
		}
		if !l.Whole {
			row.Stands += notEvery
		}
		d.Lengths = append(d.Lengths, row)
	}
	d.Kinds = v.byKind()
	return html.Write(w, "verify.html", d)
}

// verifyPage is what the template shows.
type verifyPage struct {
	html.Frame
	Scenario, Summary, Standing, Class, Size, Conclusion, Stopped, Repeat string
	Open                                                                  []string
	Tally                                                                 tallyOnPage
	Lengths                                                               []triedRow
	Kinds                                                                 []triedKind
	Claims                                                                []document.Fact
	Counterexample                                                        *single.Page // nil if there is none
}

type triedRow struct{ Name, Starts, Schedules, Stands string }
