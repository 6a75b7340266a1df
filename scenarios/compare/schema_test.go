package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/schema"
)

// timingSchema is what the schema says of the figures, made from their list.
func timingSchema(t *testing.T) string {
	t.Helper()
	var properties, required strings.Builder
	add := func(key, says string) {
		fmt.Fprintf(&properties, "%q: {%s},", key, says)
		fmt.Fprintf(&required, "%q,", key)
	}
	for _, f := range figures {
		says := `"type": "integer", "minimum": 0`
		if f.decimal {
			says = `"type": "number"`
		}
		if tip := cmp.Or(f.tip, f.group.Tip); tip != "" {
			says += fmt.Sprintf(`, "description": %q`, tip)
		}
		add(f.key, says)
	}
	add("scenario", `"type": "string"`)
	add("repeat", `"$ref": "#/$defs/repeat"`)
	add("file", `"type": "string"`)
	var b bytes.Buffer
	if err := json.Indent(&b, fmt.Appendf(nil, `{"type": "object", "properties": {%s}, "required": [%s],
		"additionalProperties": false}`, strings.TrimSuffix(properties.String(), ","),
		strings.TrimSuffix(required.String(), ",")), "  ", " "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTheSchemaHasTheFigures: whoever adds a figure writes the schema anew with -update.
func TestTheSchemaHasTheFigures(t *testing.T) {
	const path = "../../reports/schema/fencepost.schema.json"
	definition := regexp.MustCompile(`(?s)(\n  "timing": )(\{.*?\n  \})`)
	if len(definition.FindAllString(schema.Text, -1)) != 1 {
		t.Fatal("the schema has no single definition of a timing")
	}
	want := definition.ReplaceAllStringFunc(schema.Text, func(found string) string {
		return definition.FindStringSubmatch(found)[1] + timingSchema(t)
	})
	switch {
	case want == schema.Text:
	case *testkit.Update:
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("its timing is %s\nwant %s", definition.FindString(schema.Text), timingSchema(t))
	}
}
