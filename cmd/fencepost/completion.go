package main

import (
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/scenarios"
)

// firstOf returns a function that offers the words as completions for the first argument.
func firstOf(words func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}

// scenarioOrFile completes the first argument with the name of a catalog scenario or, if none matches, with a file.
func scenarioOrFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// foldersOnly completes every argument with folders.
func foldersOnly(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
