package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// TestEveryFormSaysInHowManyRunsALawWasUndecided checks an exploration in which one law was undecided in some runs and
// another in all of them. Text, page, JSON and JUnit must say so. The second law must not be said to be unexercised.
func TestEveryFormSaysInHowManyRunsALawWasUndecided(t *testing.T) {
	r := reported()
	for i := range r.Laws {
		r.Laws[i].Counts = campaign.Counts{Holds: 1000}
	}
	r.Laws[slices.Index(checker.Laws, checker.Ownership)].Counts = campaign.Counts{Holds: 993, Undecided: 7}
	r.Laws[slices.Index(checker.Laws, checker.Fairness)].Counts = campaign.Counts{Undecided: 990, Unchecked: 10}
	d := r.Document()
	var page strings.Builder
	if err := d.HTML(&page, "page.html"); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"text": exploreText(t, r, document.TextOptions{Width: 160}),
		"page": page.String()} {
		for _, want := range []string{"ownership was undecided in 7 of 1000 runs",
			"fairness was undecided in 990 of 1000 runs"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", form, want)
			}
		}
	}
	var object struct {
		Laws map[checker.Law]campaign.Counts `json:"laws"`
	}
	line, err := d.JSON("explore")
	if err == nil {
		err = json.Unmarshal(line, &object)
	}
	if err != nil || object.Laws[checker.Ownership].Undecided != 7 || object.Laws[checker.Fairness].Undecided != 990 {
		t.Errorf("%v in %s", err, line)
	}
	said := map[string]string{}
	for _, c := range d.Suite.Cases {
		said[c.Name] = fmt.Sprintf("%v: %s", c.Result == document.Passed, c.Message)
	}
	if got := said["ownership"]; got != "true: kept in 993 runs; undecided in 7 of 1000 runs" {
		t.Errorf("JUnit on ownership: %s", got)
	}
	if got := said["fairness"]; got != "false: no run decided it; undecided in 990 of 1000 runs" {
		t.Errorf("JUnit on fairness: %s", got)
	}
}
