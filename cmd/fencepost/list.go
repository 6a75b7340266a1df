package main

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// listing is the catalog of scenarios, or part of it.
type listing []listedSection

// listedSection contains one or more scenarios from a section of the catalog.
type listedSection struct {
	title     string
	scenarios []*scenarios.Scenario
}

// document returns a document with one block per section.
func (l listing) document() *document.Document {
	d := &document.Document{Data: l.data()}
	for _, section := range l {
		d.Body = append(d.Body, section)
	}
	first := l[0].scenarios[0].Name
	if len(l) == len(scenarios.Sections) {
		first = scenarios.Sections[1].Names[0]
	}
	d.Body = append(d.Body, document.Paragraph{Words: "Run one: fencepost run " + first})
	return d
}

// Text writes the name, summary and expectation of each scenario.
func (s listedSection) Text(p *text.Writer) {
	p.Put(new(text.Line).Add(text.Bold, s.title))
	for _, one := range s.scenarios {
		p.Blank()
		p.Put(new(text.Line).Add(text.Plain, "  ").Add(text.Bold, one.Name))
		p.Text(text.Plain, 4, one.Summary)
		p.Text(text.Plain, 4, "expect: "+strings.Join(expectations(one), "; "))
	}
}

// HTML writes the section as a table.
func (s listedSection) HTML(p *html.Writer) {
	t := document.Table{Heading: s.title, Columns: []document.Column{{Title: "expect", Words: true}}}
	for _, one := range s.scenarios {
		t.Rows = append(t.Rows, document.Row{Name: one.Name, Notes: []document.Paragraph{{Words: one.Summary}},
			Cells: document.Cells(strings.Join(expectations(one), "; "))})
	}
	t.HTML(p)
}

// expectations lists the laws and metrics that a scenario names, each with its expected outcome.
func expectations(s *scenarios.Scenario) (all []string) {
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
	Laws    map[checker.Law]expectedJSON `json:"laws"`    // the laws that the scenario names
	Metrics map[string]string            `json:"metrics"` // the bound of each metric, as the scenario writes it
}

// expectedJSON is the expected outcome for a law. The cause is empty unless the scenario names one.
type expectedJSON struct {
	Outcome string `json:"outcome"`
	Cause   string `json:"cause"`
}

// data returns the listing as a JSON object.
func (l listing) data() *listingJSON {
	d := &listingJSON{Scenarios: []listedJSON{}}
	for _, section := range l {
		for _, s := range section.scenarios {
			one := listedJSON{section.title, s.Name, s.Summary, s.Source, map[checker.Law]expectedJSON{},
				map[string]string{}}
			for law, e := range s.Expect.Laws {
				cause := e.Cause.String()
				e.Cause = checker.Cause{}
				one.Laws[law] = expectedJSON{e.String(), cause}
			}
			for _, m := range s.Expect.Metrics {
				one.Metrics[m.Name] = m.Text
			}
			d.Scenarios = append(d.Scenarios, one)
		}
	}
	return d
}

func newList() *cobra.Command {
	f := output.Frame{}
	c := &cobra.Command{
		Use:   "list [PATTERN]",
		Short: "List the scenarios of the catalog and their expected outcomes",
		Long: `Lists the scenarios of the catalog. A pattern selects those whose name, section, summary or
expectation contains it, ignoring case. A pattern with * (any text) or ? (any character) selects by
name.`,
		Example: `  fencepost list
  fencepost list failover
  fencepost list 'zookeeper-*'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := sectionsLike(args)
			if err != nil {
				return err
			}
			return f.Show(list.document())
		},
		ValidArgsFunction: firstOf(scenarios.Names),
	}
	f.RegisterJSON(c)
	return c
}

// sectionsLike returns the catalog's scenarios that match the pattern, grouped by section. If there is no pattern, it
// returns all scenarios. If nothing matches, it returns an error.
func sectionsLike(patterns []string) (list listing, err error) {
	pattern := strings.ToLower(strings.Join(patterns, ""))
	if _, err := path.Match(pattern, ""); err != nil && isGlob(pattern) {
		return nil, fmt.Errorf("%q is not a valid pattern: close each [ with a ], and write a character after each \\",
			pattern)
	}
	all, err := catalog()
	if err != nil {
		return nil, err
	}
	for _, section := range all {
		part := listedSection{title: section.title}
		for _, s := range section.scenarios {
			if matches(pattern, section.title, s) {
				part.scenarios = append(part.scenarios, s)
			}
		}
		if len(part.scenarios) > 0 {
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		var near []string
		if word := nearest.Word(pattern, searched(all)); word != "" {
			near = append(near, word)
		}
		return nil, fmt.Errorf("no scenario matches %q%s", pattern, output.DidYouMean(near...))
	}
	return list, nil
}

// catalog returns all scenarios of the catalog, grouped by section.
var catalog = sync.OnceValues(func() (all listing, err error) {
	for _, section := range scenarios.Sections {
		part := listedSection{title: section.Title}
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				return nil, err
			}
			part.scenarios = append(part.scenarios, s)
		}
		all = append(all, part)
	}
	return all, nil
})

// searched lists the words that can be suggested for a misspelled pattern: scenario names, and all words that
// "fencepost list" searches.
func searched(all listing) []string {
	words := scenarios.Names()
	for _, section := range all {
		for _, s := range section.scenarios {
			for _, text := range searchedIn(section.title, s) {
				words = append(words, strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })...)
			}
		}
	}
	return words
}

// searchedIn returns the parts of a scenario that "fencepost list" searches for a pattern.
func searchedIn(section string, s *scenarios.Scenario) []string {
	return append([]string{s.Name, section, s.Summary}, expectations(s)...)
}

// isGlob reports whether a pattern selects by name. Any other pattern is a text to search for.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?[") }

// matches reports whether a scenario matches a pattern, which must be in lower case.
func matches(pattern, section string, s *scenarios.Scenario) bool {
	if isGlob(pattern) {
		match, err := path.Match(pattern, s.Name)
		return err == nil && match
	}
	for _, text := range searchedIn(section, s) {
		if strings.Contains(strings.ToLower(text), pattern) {
			return true
		}
	}
	return false
}
