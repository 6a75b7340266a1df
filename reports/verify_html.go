package reports

import (
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/reports/page"
	"github.com/fencepost-sim/fencepost/reports/phrase"
	"github.com/fencepost-sim/fencepost/reports/report"
	"github.com/fencepost-sim/fencepost/reports/single"
	"github.com/fencepost-sim/fencepost/reports/timeline"
)

// html writes a verification as one self-contained page: what came out, the picture and the story of the counterexample
// if there is one, what was tried, and what that covers. The error is w's.
func (v *Verification) html(w io.Writer) error {
	d := verifyPage{Scenario: v.Scenario.Name, Summary: v.Scenario.Summary, Standing: v.standing(), Size: v.size(),
		Conclusion: v.conclusion(), Open: v.open(), Repeat: v.Repeat}
	d.Class = map[string]string{"holds": "good", "violated": "bad", report.Undecided: "open"}[d.Standing]
	title := fmt.Sprintf("%s, %s: %s", d.Scenario, d.Size, d.Standing)
	var err error
	if v.Found == nil {
		d.Claims = v.claims()
		d.Frame, err = page.New(title)
	} else if d.Counterexample, err = single.NewPage(v.Run, nil); err == nil {
		d.Frame, err = page.New(title)
		d.Script += timeline.Script
	}
	if err != nil {
		return err
	}
	if v.interrupted() {
		d.Stopped = report.Interruption
	}
	d.Tally.Rows = lawRows(promised(v.Laws(), v.Scenario), nil)
	for _, l := range v.Lengths {
		row := triedRow{Name: phrase.Count(l.Faults, "fault"), Schedules: phrase.Grouped(l.Schedules),
			Stands: phrase.Large(l.Stands)}
		if l.Faults > 0 {
			row.Starts = phrase.Grouped(l.Starts)
		}
		if !l.Whole {
			row.Stands += notEvery
		}
		d.Lengths = append(d.Lengths, row)
	}
	d.Kinds = v.byKind()
	return page.Write(w, "verify.html", d)
}

// verifyPage is what the template shows.
type verifyPage struct {
	page.Frame
	Scenario, Summary, Standing, Class, Size, Conclusion, Stopped, Repeat string
	Open                                                                  []string
	Tally                                                                 tallyOnPage
	Lengths                                                               []triedRow
	Kinds                                                                 []triedKind
	Claims                                                                []report.Fact
	Counterexample                                                        *single.Page // nil if there is none
}

type triedRow struct{ Name, Starts, Schedules, Stands string }
