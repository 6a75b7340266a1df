package reports

import (
	"fmt"
	"io"
	"strconv"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// html writes the report of many runs as one self-contained page: how they came out, the laws, and the picture and the
// story of the run that says most. links lead to the pages of single runs. The error is w's.
func (m *Many) html(w io.Writer, links []document.Link) error {
	d := manyPage{Opening: m.opening(), Class: m.standing().Tone().Class(), Faults: m.Plan, Links: links, Repeat: m.Repeat,
		Open: m.Failed.Open(m.Done)}
	shown, why := m.telling()
	title := fmt.Sprintf("%s, %s: %s", d.Name, d.What, d.Words)
	var err error
	if shown == nil {
		d.Frame, err = html.New(title)
	} else if d.Shown, err = single.NewPage(shown); err == nil {
		d.Frame, err = html.New(title)
		d.Script += timeline.Script
	}
	if err != nil {
		return err
	}
	d.ShownTitle = why
	if !m.Finished() {
		d.Stopped = document.Interruption
	}
	for _, t := range m.totals() {
		class := map[text.Style]string{text.Green: "good", text.Red: "bad", text.Yellow: "open"}[t.tone]
		if t.n == 0 {
			class = ""
		}
		d.Totals = append(d.Totals, totalOnPage{text.Grouped(t.n), t.words, class})
	}
	d.Tally = tallyOnPage{lawRows(m.lawsCompared(), compared), compared.title}
	for _, g := range m.Campaign.Groups {
		d.Groups = append(d.Groups,
			groupRow{g.Name, g.Want, came(&g), text.Grouped(g.Runs), strconv.FormatUint(g.First, 10)})
	}
	return html.Write(w, "runs.html", d)
}

// telling is the run that says most, with the reason. It is nil if there is none.
func (m *Many) telling() (*single.Run, string) {
	switch {
	case len(m.Shown) == 0:
		return m.Sample, "A run that came out as expected"
	case m.Shown[0].Undecided:
		return m.Shown[0], "The first run that is undecided"
	}
	return m.Shown[0], "The first run that came out otherwise"
}

// manyPage is what the template shows.
type manyPage struct {
	html.Frame
	single.Opening
	Class, Stopped, Repeat, ShownTitle string
	Open                               []string
	Totals                             []totalOnPage
	Tally                              tallyOnPage
	Groups                             []groupRow
	Faults                             []campaign.Planned
	Shown                              *single.Page
	Links                              []document.Link
}

type totalOnPage struct{ Count, Words, Class string }

type groupRow struct{ Name, Expected, Came, Runs, First string }
