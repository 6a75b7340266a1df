package play

import (
	_ "embed" // for the files that the page is made of
	"encoding/json"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
)

var (
	//go:embed page/play.html
	pageBody string
	//go:embed page/play.css
	pageStyle string
	//go:embed page/play.js
	pageScript string
)

// Page is the page on which a user edits and runs scenarios.
type Page struct {
	Start State
	// Served is set if requests go to a server, at the address "ask" relative to the page. Otherwise, they go to a
	// worker with the script "worker.js".
	Served bool
}

// Scoreboard is the file name of the page that lists lock libraries. That page is in the same folder as the static page
// that links to it.
const Scoreboard = "scoreboard.html"

// boardLink is the part of a static page that links to the scoreboard.
const boardLink = `<section class="card" aria-label="lock libraries"><h2>Lock libraries</h2>
<p><a href="` + Scoreboard + `">What lock libraries keep under which faults</a></p></section>
`

// pageData is the initial data for the page's script.
type pageData struct {
	Start     State      `json:"start"`
	Served    bool       `json:"served"`
	Catalogue []section  `json:"catalogue"`
	Tour      []tourStop `json:"tour"`
}

type section struct {
	Title     string  `json:"title"`
	Scenarios []entry `json:"scenarios"`
}

type entry struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Write writes the page. It fails if one of the catalog's scenarios is invalid or a write to w fails.
func (p *Page) Write(w io.Writer) error {
	data := pageData{Start: p.Start, Served: p.Served, Tour: tour}
	for _, s := range scenarios.Sections {
		in := section{Title: s.Title}
		for _, name := range s.Names {
			scenario, err := scenarios.Named(name)
			if err != nil {
				return err
			}
			in.Scenarios = append(in.Scenarios, entry{name, scenario.Summary})
		}
		data.Catalogue = append(data.Catalogue, in)
	}
	text, err := json.Marshal(data) // json.Marshal escapes "<", so the text cannot close the element
	if err != nil {
		return err
	}
	policy, board := "worker-src 'self'", boardLink
	if p.Served {
		policy, board = "connect-src 'self'", ""
	}
	page := html.Application{Title: "fencepost play", Style: pageStyle, Script: timeline.Script + pageScript,
		Body: strings.NewReplacer("BOARD", board, "DATA", string(text)).Replace(pageBody), Policy: policy}
	return page.Write(w)
}
