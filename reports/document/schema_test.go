package document

import (
	"encoding/json"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
)

// sampleJSON has one field of each kind that the schema supports.
type sampleJSON struct {
	Head
	Name    string               `json:"name" doc:"its name"`
	Seed    uint64               `json:"seed,omitempty"`
	Share   *float64             `json:"share"`
	Laws    map[checker.Law]rows `json:"laws"`
	Outcome []string             `json:"outcomes" of:"outcome"`
	Kind    string               `json:"kind" enum:"a|b"`
	Inside  sampleRow            `json:"inside"`
	hidden  int
	*sampleMore
}

type rows []sampleRow

type sampleRow struct {
	sampleKeys
	On   bool        `json:"on"`
	Rows []sampleRow `json:"rows"`
}

// sampleKeys is a keyed struct.
type sampleKeys struct{}

func (sampleKeys) Keys() []Key {
	return []Key{{Name: "whole", Doc: "a count"}, {Name: "share", Decimal: true}}
}

type sampleMore struct {
	Caught bool `json:"caught"`
}

func TestTheSchemaIsMadeFromTheTypes(t *testing.T) {
	text, err := Schema([]Described{{[]string{"sample", "again"}, sampleJSON{hidden: 1}, "a sample"}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"document.sample": `{"additionalProperties":false,"description":"a sample","properties":{"caught":{"type":"boolean"},` +
			`"command":{"enum":["sample","again"]},"inside":{"$ref":"#/$defs/document.sampleRow"},"kind":{"enum":["a","b"]},` +
			`"laws":{"additionalProperties":{"items":{"$ref":"#/$defs/document.sampleRow"},"type":"array"},` +
			`"propertyNames":{"$ref":"#/$defs/law"},"type":"object"},"name":{"description":"its name","type":"string"},` +
			`"outcomes":{"items":{"$ref":"#/$defs/outcome"},"type":"array"},"schema":{"const":"fencepost/1"},` +
			`"seed":{"type":"integer"},"share":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["schema","command",` +
			`"name","share","laws","outcomes","kind","inside"],"type":"object"}`,
		"document.sampleRow": `{"additionalProperties":false,"properties":{"on":{"type":"boolean"},"rows":{"items":` +
			`{"$ref":"#/$defs/document.sampleRow"},"type":"array"},"share":{"type":"number"},"whole":{"description":"a count",` +
			`"type":"integer"}},"required":["whole","share","on","rows"],"type":"object"}`,
	} {
		var one any
		if err := json.Unmarshal(got.Defs[name], &one); err != nil {
			t.Fatal(name, err)
		}
		if compact, _ := json.Marshal(one); string(compact) != want {
			t.Errorf("%s is\n%s, not\n%s", name, compact, want)
		}
	}
}

// If the schema cannot describe something, it reports an error instead of silently omitting it.
func TestTheSchemaRefusesWhatItCannotDescribe(t *testing.T) {
	for _, object := range []any{
		struct {
			Head
			Any any `json:"any"`
		}{},
		struct {
			Head
			Wrong string `json:"wrong" of:"nothing"`
		}{},
	} {
		if _, err := Schema([]Described{{[]string{"sample"}, object, ""}}); err == nil {
			t.Errorf("%T is described", object)
		}
	}
}
