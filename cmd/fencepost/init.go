package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
)

func newInit() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "init [LOCK]",
		Short: "Print a commented scenario that you can edit for your own lock",
		Long: "Prints a ready-to-run scenario of a lock, with all of its settings as comments.\n\n" +
			"Locks (without one: " + string(scenarios.Default) + "):\n" + lockList(),
		Example: `  fencepost init > my-lock.yaml
  fencepost init redlock --out my-lock.yaml
  fencepost init try-lock --out my-lock.yaml
  fencepost run my-lock.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := string(scenarios.Default)
			if len(args) > 0 {
				name = args[0]
			}
			k := scenarios.KindNamed(name)
			if k == nil {
				near := ""
				if word := nearest.Word(name, lockNames()); word != "" {
					near = fmt.Sprintf(" (did you mean %q?)", word)
				}
				return fmt.Errorf("there is no lock %q: write one of %s%s", name, strings.Join(lockNames(), ", "), near)
			}
			if out == "" {
				_, err := fmt.Fprint(c.OutOrStdout(), k.Starter(scenarios.Name(scenarios.DefaultFile),
					scenarios.DefaultFile))
				return err
			}
			scenario, word := scenarios.Name(out), text.ShellWord(out)
			if err := output.Create(out, []byte(k.Starter(scenario, word))); err != nil {
				return err
			}
			const wrote = "wrote   %s: the scenario %s, a lock of protocol %s\nrun     %s run %s\n"
			_, err := fmt.Fprintf(c.OutOrStdout(), wrote, out, scenario, k.Lock.Name, output.Program(), word)
			return err
		},
		ValidArgsFunction: firstOf(lockNames),
	}
	c.Flags().StringVar(&out, "out", "",
		"write the scenario to `FILE`, which must not exist yet,\nand name the scenario after it")
	return c
}

func lockNames() (names []string) {
	for _, k := range scenarios.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// lockList lists the protocols, followed by the kinds of locks that are protocols with certain settings.
func lockList() string {
	var b strings.Builder
	for _, k := range scenarios.Kinds() {
		for i, line := range text.Wrap(k.Text, 63) {
			name := ""
			if i == 0 {
				name = k.Name
			}
			fmt.Fprintf(&b, "  %-13s %s\n", name, line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
