// Package task defines what a command runs and which files it leaves: the scenario, from its file or from a Go test;
// the folder with its record and findings; and the report of an exploration or verification. It does not matter whether
// the runs were performed here, were merged, or were performed on other machines.
//
// Goals: fencepost and fencepost-campaign leave the same files, byte for byte. Non-goals: flags (the commands), and how
// output is written (cmd/output).
package task
