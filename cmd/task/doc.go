// Package task defines what a command runs and what it leaves: the scenario, from its file or from the Go test in place
// of one; the folder with its record and findings; and the report of an exploration or verification, whether its runs
// were made here, were merged, or were made on other machines.
//
// Goals: fencepost and fencepost-campaign leave the same files, byte for byte. Non-goals: flags (the commands), and how
// output is written (cmd/output).
package task
