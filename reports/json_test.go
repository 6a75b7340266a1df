package reports

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestJSONMany(t *testing.T) {
	got, err := many().JSON("run")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "many.json", indented(t, got))
}

func indented(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", " "); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return out.String()
}
