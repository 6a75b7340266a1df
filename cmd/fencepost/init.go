package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

func newInit() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "init [PROTOCOL]",
		Short: "Print a commented scenario that you can edit for your own lock",
		Long: "Prints a scenario of a lock, ready to run, with every setting of its protocol in a comment.\n\n" +
			"Protocols (without one: " + string(scenarios.Default) + "):\n" + protocolList(),
		Example: `  fencepost init > my-lock.yaml
  fencepost init redlock --out my-lock.yaml
  fencepost run my-lock.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := string(scenarios.Default)
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
				_, err := fmt.Fprint(c.OutOrStdout(), scenarios.Starter(d, scenarios.Name(scenarios.DefaultFile),
					scenarios.DefaultFile))
				return err
			}
			scenario, word := scenarios.Name(out), output.Word(out)
			if err := output.Create(out, []byte(scenarios.Starter(d, scenario, word))); err != nil {
				return err
			}
			const wrote = "wrote   %s: the scenario %s, a lock of protocol %s\nrun     %s run %s\n"
			_, err := fmt.Fprintf(c.OutOrStdout(), wrote, out, scenario, d.Name, output.Program(), word)
			return err
		},
		ValidArgsFunction: firstOf(protocolNames),
	}
	c.Flags().StringVar(&out, "out", "",
		"write the scenario to `FILE`, which must not exist yet,\nand name the scenario after it")
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
		for i, line := range text.Wrap(d.Text, 63) {
			name := ""
			if i == 0 {
				name = string(d.Name)
			}
			fmt.Fprintf(&b, "  %-13s %s\n", name, line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
