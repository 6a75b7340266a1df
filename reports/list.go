package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Listing is a part of the catalogue, or all of it.
type Listing []ListedSection

// ListedSection holds scenarios of one section, at least one.
type ListedSection struct {
	Title     string
	Scenarios []*scenarios.Scenario
}

// Text gives each scenario its name, its expectation and its summary. The error is w's.
func (l Listing) Text(w io.Writer, opt document.TextOptions) error {
	p := text.New(w, max(opt.Width, 8), opt.Color) // no table needs more
	for i, section := range l {
		if i > 0 {
			p.Blank()
		}
		p.Put(new(text.Line).Add(text.Bold, section.Title))
		for _, s := range section.Scenarios {
			p.Blank()
			p.Put(new(text.Line).Add(text.Plain, "  ").Add(text.Bold, s.Name))
			p.Text(text.Plain, 4, s.Summary)
			p.Text(text.Plain, 4, "expect: "+strings.Join(Expectations(s), "; "))
		}
	}
	first := l[0].Scenarios[0].Name
	if len(l) == len(scenarios.Sections) {
		first = scenarios.Sections[1].Names[0]
	}
	p.Blank()
	p.Put(new(text.Line).Add(text.Plain, fmt.Sprintf("Run one: fencepost run %s", first)))
	return p.Err()
}

// Expectations are the laws and metrics that a scenario names, each with what must come out.
func Expectations(s *scenarios.Scenario) []string {
	var all []string
	for _, law := range checker.Laws {
		if e, named := s.Expect.Laws[law]; named {
			all = append(all, string(law)+" "+e.String())
		}
	}
	for _, m := range s.Expect.Metrics {
		all = append(all, m.Name+" "+m.Text)
	}
	return all
}

type listingJSON struct {
	document.Head
	Scenarios []listedJSON `json:"scenarios"`
}

type listedJSON struct {
	Section string                       `json:"section"`
	Name    string                       `json:"name"`
	Summary string                       `json:"summary"`
	Source  string                       `json:"source"`
	Laws    map[checker.Law]expectedJSON `json:"laws"`    // those that the scenario names
	Metrics map[string]string            `json:"metrics"` // the bound of each, as the scenario writes it
}

// expectedJSON is how a law must come out; the cause is empty unless one is named.
type expectedJSON struct {
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// JSON gives the scenarios as one JSON object, ended by a newline.
func (l Listing) JSON(command string) ([]byte, error) {
	d := listingJSON{document.HeadOf(command), []listedJSON{}}
	for _, section := range l {
		for _, s := range section.Scenarios {
			one := listedJSON{section.Title, s.Name, s.Summary, s.Source, map[checker.Law]expectedJSON{},
				map[string]string{}}
			for law, e := range s.Expect.Laws {
				outcome, cause, _ := strings.Cut(e.String(), " by ")
				one.Laws[law] = expectedJSON{outcome, cause}
			}
			for _, m := range s.Expect.Metrics {
				one.Metrics[m.Name] = m.Text
			}
			d.Scenarios = append(d.Scenarios, one)
		}
	}
	return document.Encode(d)
}
