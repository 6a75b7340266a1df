// Package schema holds the JSON Schemas (draft 2020-12) of what the commands print with --json, and of the histories
// that they write and judge.
//
// Goals: one file that says everything about these documents, for whoever reads or writes them with a program.
// Non-goals: making them (reports, checker/history), and checking them outside tests.
package schema

import _ "embed"

// Text is the schema.
//
//go:embed fencepost.schema.json
var Text string

// History is the schema of one line of a history: its header, or an event.
//
//go:embed history.schema.json
var History string
