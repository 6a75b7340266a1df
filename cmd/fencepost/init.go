package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/reports/term"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/starter"
)

func newInit() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "init [PROTOCOL]",
		Short: "Print a commented scenario to edit, for your own lock",
		Long: "Prints a scenario of a lock, ready to run, with every setting of its protocol in a comment.\n\n" +
			"Protocols (without one: " + string(starter.Default) + "):\n" + protocolList(),
		Example: `  fencepost init > my-lock.yaml
  fencepost init redlock --out my-lock.yaml
  fencepost run my-lock.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := string(starter.Default)
			if len(args) > 0 {
				name = args[0]
			}
			d := locks.Define(locks.Protocol(name))
			if d == nil {
				near := ""
				if word := nearest.Word(name, protocolNames()); word != "" {
					near = fmt.Sprintf(" (did you mean %q?)", word)
				}
				return fmt.Errorf(
					"there is no protocol %q: write one of %s%s",
					name,
					strings.Join(protocolNames(), ", "),
					near,
				)
			}
			if out == "" {
				_, err := fmt.Fprint(c.OutOrStdout(), starter.Starter(d, starter.Name(starter.DefaultFile),
					starter.DefaultFile))
				return err
			}
			scenario, word := starter.Name(out), shellWord(out)
			if err := artefact.Create(out, []byte(starter.Starter(d, scenario, word))); err != nil {
				return err
			}
			const wrote = "wrote   %s: the scenario %s, a lock of protocol %s\nrun     %s run %s\n"
			_, err := fmt.Fprintf(c.OutOrStdout(), wrote, out, scenario, d.Name, program(), word)
			return err
		},
		ValidArgsFunction: firstOf(protocolNames),
	}
	c.Flags().StringVar(&out, "out", "",
		"write the scenario to `FILE`, which must not be there yet,\nand name it after that")
	return c
}

func protocolNames() (names []string) {
	for _, d := range locks.Definitions() {
		names = append(names, string(d.Name))
	}
	return names
}

func protocolList() string {
	var b strings.Builder
	for _, d := range locks.Definitions() {
		for i, line := range term.Wrap(d.Text, 63) {
			name := ""
			if i == 0 {
				name = string(d.Name)
			}
			fmt.Fprintf(&b, "  %-13s %s\n", name, line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
