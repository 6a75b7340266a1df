package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// textOf returns the text that "fencepost show" prints for a name.
func textOf(name string) ([]byte, error) {
	switch name {
	case "format":
		return []byte(scenarios.Format), nil
	case "schema":
		return document.Schema(described)
	}
	s, err := scenarios.Named(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the catalog has no scenario %s%s", name,
			output.DidYouMean(output.Meant(name, shown())...))
	}
	if err != nil {
		return nil, err
	}
	return s.Text(), nil
}

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME|format|schema",
		Short: "Print a scenario's file, the format's reference or the JSON Schema",
		Long: `Prints the file of a scenario of the catalog, which you can save and edit. "show format"
prints the reference of the format, and "show schema" the JSON Schema of what --json prints.`,
		Example: `  fencepost show kleppmann-gc-pause > my-lock.yaml
  fencepost show format
  fencepost show schema`,
		Args: oneArgument("a scenario's name, or format, or schema"),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := textOf(args[0])
			if err == nil {
				_, err = c.OutOrStdout().Write(text)
			}
			return err
		},
		ValidArgsFunction: firstOf(shown),
	}
}

// shown lists the names that "fencepost show" accepts.
func shown() []string { return append(scenarios.Names(), "format", "schema") }
