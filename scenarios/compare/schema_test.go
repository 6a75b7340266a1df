package compare

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/schema"
)

// TestTheSchemaHasTheFigures holds the schema to the list of figures; -update writes it anew.
func TestTheSchemaHasTheFigures(t *testing.T) {
	made, err := document.Schema([]document.Described{{Commands: []string{"compare"}, Object: compareJSON{}}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(made, &got); err != nil {
		t.Fatal(err)
	}
	var timing bytes.Buffer
	if err := json.Indent(&timing, got.Defs["compare.timing"], "  ", " "); err != nil {
		t.Fatal(err)
	}
	definition := regexp.MustCompile(`(?s)(\n  "compare\.timing": )(\{.*?\n  \})`)
	found := definition.FindStringSubmatchIndex(schema.Text)
	if found == nil {
		t.Fatal("the schema has no definition of a timing")
	}
	want := schema.Text[:found[4]] + timing.String() + schema.Text[found[5]:]
	switch {
	case want == schema.Text:
	case *testkit.Update:
		testkit.Write(t, "../../reports/schema/fencepost.schema.json", want)
	default:
		t.Errorf("of a timing it says %s\nwant %s", schema.Text[found[4]:found[5]], &timing)
	}
}
