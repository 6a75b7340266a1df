package main

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/reports/term"
	"github.com/fencepost-sim/fencepost/scenarios"
)

func newList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [PATTERN]",
		Short: "List the scenarios of the catalogue and what must come of each",
		Long: `Lists the scenarios of the catalogue. With a pattern, those of which the name, the section, the
summary or the expectation contains it, in upper or lower case; in a pattern with * or ? these stand
for any text and for one character of a name.`,
		Example: `  fencepost list
  fencepost list failover
  fencepost list 'zookeeper-*'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			list, err := sectionsLike(args)
			switch {
			case err != nil:
				return err
			case asJSON:
				return listJSON(c.OutOrStdout(), list)
			}
			return listText(c.OutOrStdout(), list, screenOf(c.OutOrStdout()))
		},
		ValidArgsFunction: firstOf(scenarios.Names),
	}
	c.Flags().BoolVar(&asJSON, "json", false, jsonUsage)
	return c
}

// listed is a section of the list.
type listed struct {
	title     string
	scenarios []*scenarios.Scenario
}

// sectionsLike are the sections of the catalogue with what a pattern picks, all without one. It is an error if that is nothing.
func sectionsLike(patterns []string) (list []listed, err error) {
	pattern := strings.ToLower(strings.Join(patterns, ""))
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern: a [ needs its ]", pattern)
	}
	for _, section := range scenarios.Sections {
		part := listed{title: section.Title}
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				return nil, err
			}
			if like(pattern, section.Title, s) {
				part.scenarios = append(part.scenarios, s)
			}
		}
		if len(part.scenarios) > 0 {
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no scenario is like %q%s", pattern, didYouMean(nemesis.Nearest(pattern, scenarios.Names())))
	}
	return list, nil
}

// like reports whether a pattern in lower case picks a scenario.
func like(pattern, section string, s *scenarios.Scenario) bool {
	if strings.ContainsAny(pattern, "*?[") {
		match, err := path.Match(pattern, s.Name)
		return err == nil && match
	}
	for _, text := range append([]string{s.Name, section, s.Summary}, expectations(s)...) {
		if strings.Contains(strings.ToLower(text), pattern) {
			return true
		}
	}
	return false
}

// listText gives each scenario its name, its expectation and its summary.
func listText(w io.Writer, list []listed, s screen) error {
	for i, section := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", s.bold(section.title))
		for _, sc := range section.scenarios {
			fmt.Fprintf(w, "\n  %s\n", s.bold(sc.Name))
			for _, line := range term.Wrap(sc.Summary, s.width-4) {
				fmt.Fprintf(w, "    %s\n", line)
			}
			for _, line := range term.Wrap("expect: "+strings.Join(expectations(sc), "; "), s.width-4) {
				fmt.Fprintf(w, "    %s\n", line)
			}
		}
	}
	first := list[0].scenarios[0].Name
	if len(list) == len(scenarios.Sections) {
		first = scenarios.Sections[1].Names[0]
	}
	_, err := fmt.Fprintf(w, "\nRun one: fencepost run %s\n", first)
	return err
}

// expectations are the laws and metrics that a scenario names, each with what must come out.
func expectations(s *scenarios.Scenario) []string {
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

func listJSON(w io.Writer, list []listed) error {
	var entries []reports.ListedScenario
	for _, section := range list {
		for _, s := range section.scenarios {
			e := reports.ListedScenario{Section: section.title, Name: s.Name, Summary: s.Summary, Source: s.Source}
			for _, law := range checker.Laws {
				if x, named := s.Expect.Laws[law]; named {
					outcome, cause, _ := strings.Cut(x.String(), " by ")
					e.Laws = append(e.Laws, reports.ExpectedLaw{Law: law, Outcome: outcome, Cause: cause})
				}
			}
			for _, m := range s.Expect.Metrics {
				e.Metrics = append(e.Metrics, reports.ExpectedMetric{Name: m.Name, Bound: m.Text})
			}
			entries = append(entries, e)
		}
	}
	return printed(w)(reports.ListJSON(entries))
}
