// Package task defines what a command runs and which files it leaves behind: the scenario, from its file or from a Go
// test; the folder with the record and the findings; and the report of an exploration or verification. It makes no
// difference whether the runs are performed in this process or on other machines, or are merged from several records.
//
// Goals: fencepost and fencepost-campaign leave the same files, byte for byte.
//
// Non-goals: command flags (see the commands) and how output is written (see cmd/output).
package task
