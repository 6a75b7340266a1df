package single_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

func TestJSON(t *testing.T) {
	got, err := singletest.Kleppmann().Document().JSON("run")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "kleppmann.json", indented(t, got))
}

func indented(t *testing.T, b []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", " "); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return out.String()
}

// keys lists an object's keys in the order in which they occur.
func keys(t *testing.T, object []byte) []string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	var out []string
	for d.More() {
		k, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(k))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestJSONHasExactlyTheKeysOfTheContract(t *testing.T) {
	for _, r := range singletest.Runs {
		b, err := r.Run().Document().JSON("run")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"schema", "command", "scenario", "seed", "digest", "plan", "laws", "expected", "verdict",
			"headline", "events", "simulated_ns", "metrics"}
		if got := keys(t, b); !slices.Equal(got, want) {
			t.Errorf("%s: keys %v", r.Name, got)
		}
		var run struct{ Laws json.RawMessage }
		if err := json.Unmarshal(b, &run); err != nil {
			t.Fatal(err)
		}
		var laws []string
		for _, l := range checker.Laws {
			laws = append(laws, string(l))
		}
		slices.Sort(laws)
		if got := keys(t, run.Laws); !slices.Equal(got, laws) {
			t.Errorf("%s: laws %v", r.Name, got)
		}
		var each map[string]json.RawMessage
		if err := json.Unmarshal(run.Laws, &each); err != nil {
			t.Fatal(err)
		}
		for law, finding := range each {
			want := []string{"outcome", "cause", "explanation", "remedies", "witness"}
			if law == string(checker.MutualExclusion) {
				want = slices.Insert(want, 1, "judges")
			}
			if got := keys(t, finding); !slices.Equal(got, want) {
				t.Errorf("%s: %s has %v", r.Name, law, got)
			}
		}
	}
}

func TestJSONWitnessReadsBackAsHistory(t *testing.T) {
	run := singletest.Kleppmann()
	b, err := run.Document().JSON("run")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Laws map[checker.Law]struct{ Witness []json.RawMessage }
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	f := run.Verdict.Of(checker.MutualExclusion)
	got := doc.Laws[checker.MutualExclusion].Witness
	if len(got) != len(f.Witness) {
		t.Fatalf("%d events, want %d", len(got), len(f.Witness))
	}
	for i, raw := range got {
		h, err := history.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if want := run.History.Events[f.Witness[i]]; !reflect.DeepEqual(h.Events[0], want) {
			t.Errorf("event %d reads back as %+v, want %+v", i, h.Events[0], want)
		}
	}
}

func TestJSONIsOneLineAndKeepsArrows(t *testing.T) {
	run := singletest.Calm()
	run.Plan = []string{"cut client-1 -> redis-1 at 1s for 5s"}
	b, err := run.Document().JSON("run")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(b, []byte("\n")) != 1 || !bytes.HasSuffix(b, []byte("\n")) ||
		!strings.Contains(string(b), "client-1 -> redis-1") {
		t.Errorf("%s", b)
	}
}

func TestUndecidedIsNotExpected(t *testing.T) {
	run := singletest.Calm()
	run.Undecided = true
	b, _ := run.Document().JSON("run")
	if !bytes.Contains(b, []byte(`"expected":false`)) {
		t.Errorf("%s", b)
	}
}
