package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/schema"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// documents are what show prints beside scenarios.
var documents = map[string]string{"format": scenarios.Format, "schema": schema.Text}

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME|format|schema",
		Short: "Print a scenario's file, the format's reference or the JSON Schema",
		Long: `Prints the file of a scenario as it stands in the catalogue: save it, and edit it. "show format"
prints the reference of the format, "show schema" the JSON Schema of what --json prints.`,
		Example: `  fencepost show kleppmann-gc-pause > my-lock.yaml
  fencepost show format
  fencepost show schema`,
		Args: oneArgument("a scenario's name, or format, or schema"),
		RunE: func(c *cobra.Command, args []string) error {
			text, ok := documents[args[0]]
			if !ok {
				s, err := scenarios.Named(args[0])
				if errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf(
						"the catalogue has no scenario %s%s",
						args[0],
						output.DidYouMean(output.Meant(args[0], shown())...),
					)
				}
				if err != nil {
					return err
				}
				text = string(s.Text())
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
		ValidArgsFunction: firstOf(shown),
	}
}

// shown are the names that show takes.
func shown() []string { return append(scenarios.Names(), "format", "schema") }
