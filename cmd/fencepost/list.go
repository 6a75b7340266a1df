package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

func newList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios of the catalogue and what each must come out as",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return listJSON(c.OutOrStdout())
			}
			return listText(c.OutOrStdout(), screenOf(c.OutOrStdout()))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON document instead of text")
	return c
}

// listText gives each scenario its name, its expectation and its summary.
func listText(w io.Writer, s screen) error {
	for i, section := range scenarios.Sections {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", s.bold(section.Title))
		for _, name := range section.Names {
			sc, err := scenarios.Named(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n  %s\n", s.bold(name))
			for _, line := range wrap(sc.Summary, s.width-4) {
				fmt.Fprintf(w, "    %s\n", line)
			}
			for _, line := range wrap("expect: "+strings.Join(expectations(sc), "; "), s.width-4) {
				fmt.Fprintf(w, "    %s\n", line)
			}
		}
	}
	_, err := fmt.Fprintf(w, "\nRun one: fencepost run %s\n", scenarios.Sections[1].Names[0])
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

func listJSON(w io.Writer) error {
	type entry struct {
		Section string            `json:"section"`
		Name    string            `json:"name"`
		Summary string            `json:"summary"`
		Source  string            `json:"source"`
		Expect  map[string]string `json:"expect"`
	}
	var list []entry
	for _, section := range scenarios.Sections {
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				return err
			}
			e := entry{section.Title, s.Name, s.Summary, s.Source, map[string]string{}}
			for law, x := range s.Expect.Laws {
				e.Expect[string(law)] = x.String()
			}
			for _, m := range s.Expect.Metrics {
				e.Expect[m.Name] = m.Text
			}
			list = append(list, e)
		}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(list)
}
