package reports

import (
	"fmt"
	"io"
)

// VerifyHTML writes a verification as one self-contained page: what came out, the picture and the story of the counterexample
// if there is one, what was tried, and what that covers. The error is w's.
func VerifyHTML(w io.Writer, v *Verification) error {
	size := "up to " + count(v.Faults, "fault")
	d := verifyPage{Scenario: v.Scenario, Summary: v.Summary, Standing: v.standing(), Size: size, Conclusion: v.conclusion(),
		Open: v.Open, Repeat: v.Repeat}
	d.Class = map[string]string{"holds": "good", "violated": "bad", undecided: "open"}[d.Standing]
	title := fmt.Sprintf("%s, %s: %s", v.Scenario, size, d.Standing)
	var err error
	if v.Found == nil {
		d.Claims = v.claims()
		d.pageFrame, err = newFrame(title)
	} else if d.Counterexample, err = newPageData(v.Found.Run, nil); err == nil {
		d.pageFrame, err = newFrame(title, "chart.js")
	}
	if err != nil {
		return err
	}
	if v.Interrupted {
		d.Stopped = interruption
	}
	for i := range v.Laws {
		d.Tally.Rows = append(d.Tally.Rows, v.Laws[i].row())
	}
	for _, l := range v.Lengths {
		row := triedRow{Name: count(l.Faults, "fault"), Schedules: grouped(l.Schedules), Stands: placements(l.Stands)}
		if l.Faults > 0 {
			row.Starts = grouped(l.Starts)
		}
		if !l.Whole {
			row.Stands += "; not all"
		}
		d.Lengths = append(d.Lengths, row)
	}
	for _, k := range v.Kinds {
		d.Kinds = append(d.Kinds, triedRow{Name: k.Kind, Starts: grouped(k.Starts), Schedules: grouped(k.Schedules)})
	}
	return pages.ExecuteTemplate(w, "verify.html", d)
}

// verifyPage is what the template shows.
type verifyPage struct {
	pageFrame
	Scenario, Summary, Standing, Class, Size, Conclusion, Stopped, Repeat string
	Open                                                                  []string
	Tally                                                                 tallyOnPage
	Lengths, Kinds                                                        []triedRow
	Claims                                                                []fact
	Counterexample                                                        *pageData // nil if there is none
}

type triedRow struct{ Name, Starts, Schedules, Stands string }
