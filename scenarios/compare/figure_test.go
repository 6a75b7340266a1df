package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// TestAFigureStandsInEveryForm checks that a figure added to the list is measured, and appears with its title and
// explanation in the text, the page, the JSON and the schema.
func TestAFigureStandsInEveryForm(t *testing.T) {
	before := figures
	t.Cleanup(func() { figures = before })
	figures = append(slices.Clone(before), figure{key: "longest_ns", alone: "longest", group: acquiring,
		tip: "the longest acquire", show: milliseconds,
		measure: func(s *stopwatch) float64 { return float64(slices.Max(s.later)) }})
	r := threeLocks()
	for i := range r.Locks {
		s := stopwatch{later: []history.Time{1e6, 4321e6, 2e6}}
		r.Locks[i].Alone = Timing{values: s.values()}
	}
	d := r.Document()
	object, err := d.JSON("compare")
	if err != nil {
		t.Fatal(err)
	}
	made, err := document.Schema([]document.Described{{Commands: []string{"compare"}, Object: compareJSON{}}})
	if err != nil {
		t.Fatal(err)
	}
	var terminal bytes.Buffer
	if err := d.Text(&terminal, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string][]string{
		terminal.String(): {"longest", "the longest acquire", "4321.0"},
		page(t, d):        {`title="the longest acquire">longest</button>`, ">4321.0</td>"},
		string(object):    {`"longest_ns":4321000000,`},
		string(made):      {`"longest_ns": {`, `"description": "the longest acquire"`},
	} {
		for _, words := range want {
			if !strings.Contains(form, words) {
				t.Errorf("no %q in\n%s", words, form)
			}
		}
	}
}
