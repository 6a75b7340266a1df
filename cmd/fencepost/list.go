package main

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
)

func newList() *cobra.Command {
	f := output.Frame{}
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
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := sectionsLike(args)
			if err != nil {
				return err
			}
			return f.Show(list)
		},
		ValidArgsFunction: firstOf(scenarios.Names),
	}
	f.RegisterJSON(c)
	return c
}

// sectionsLike are the sections of the catalogue with what a pattern picks, all without one. It is an error if that is
// nothing.
func sectionsLike(patterns []string) (list reports.Listing, err error) {
	pattern := strings.ToLower(strings.Join(patterns, ""))
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q is no pattern: a [ needs its ]", pattern)
	}
	for _, section := range scenarios.Sections {
		part := reports.ListedSection{Title: section.Title}
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				return nil, err
			}
			if like(pattern, section.Title, s) {
				part.Scenarios = append(part.Scenarios, s)
			}
		}
		if len(part.Scenarios) > 0 {
			list = append(list, part)
		}
	}
	if len(list) == 0 {
		var near []string
		if word := nearest.Word(pattern, searched()); word != "" {
			near = append(near, word)
		}
		return nil, fmt.Errorf("no scenario is like %q%s", pattern, output.DidYouMean(near...))
	}
	return list, nil
}

// searched are the words of which a pattern may be one: the names of scenarios, and what stands in all that is
// searched.
func searched() []string {
	words := scenarios.Names()
	for _, section := range scenarios.Sections {
		for _, name := range section.Names {
			s, err := scenarios.Named(name)
			if err != nil {
				continue
			}
			for _, text := range searchedIn(section.Title, s) {
				words = append(words, strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })...)
			}
		}
	}
	return words
}

// searchedIn are the texts of a scenario that a pattern is looked for in.
func searchedIn(section string, s *scenarios.Scenario) []string {
	return append([]string{s.Name, section, s.Summary}, reports.Expectations(s)...)
}

// like reports whether a pattern in lower case picks a scenario.
func like(pattern, section string, s *scenarios.Scenario) bool {
	if strings.ContainsAny(pattern, "*?[") {
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
