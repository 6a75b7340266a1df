package play

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
)

//go:embed page
var pageFiles embed.FS

// Page is the page on which a reader plays.
type Page struct {
	Start State
	// Served means that a server answers, at "ask" beside the page; else a worker does, whose script is "worker.js".
	Served bool
}

// pageData is what the page's script knows from the start.
type pageData struct {
	Start     State      `json:"start"`
	Served    bool       `json:"served"`
	Catalogue []section  `json:"catalogue"`
	Tour      []tourStop `json:"tour"`
}

// section is one of the catalogue's.
type section struct {
	Title     string  `json:"title"`
	Scenarios []entry `json:"scenarios"`
}

type entry struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Write writes the page. The error is w's, or one of the program's own files.
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
	text, err := json.Marshal(data) // escapes "<", so that no text ends the element
	if err != nil {
		return err
	}
	read := func(name string) string {
		part, problem := pageFiles.ReadFile("page/" + name)
		if problem != nil {
			err = problem
		}
		return string(part)
	}
	policy := "worker-src 'self'"
	if p.Served {
		policy = "connect-src 'self'"
	}
	body := strings.Replace(read("play.html"), "DATA", string(text), 1)
	page := html.Application{Title: "fencepost play", Style: template.CSS(read("play.css")),
		Script: timeline.Script + template.JS(read("play.js")), Body: template.HTML(body), Policy: policy}
	if err != nil {
		return fmt.Errorf("a part of the page is missing: %w", err)
	}
	return page.Write(w)
}
