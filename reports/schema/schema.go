// Package schema is the JSON Schema (draft 2020-12) of what the commands print with --json.
//
// Goals: one file that says everything about these documents, for whoever reads them with a program. Non-goals: making
// them
// (reports), and checking them outside tests.
package schema

import _ "embed"

// Text is the schema.
//
//go:embed fencepost.schema.json
var Text string
