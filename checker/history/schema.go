package history

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) for one line of a history: a header or an event.
//
//go:embed history.schema.json
var Schema string
