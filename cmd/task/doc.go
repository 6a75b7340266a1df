// Package task is what a command runs and what it leaves behind: the scenario, its file or the Go test that stands for
// one; the folder with its record and findings; the report of what was explored or verified, be it that the runs were
// made here, merged, or made on other machines.
//
// Goals: fencepost and fencepost-campaign leave the same to the byte. Non-goals: flags (the commands), how output is
// written (cmd/output).
package task
