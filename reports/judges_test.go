package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// TestEveryFormSaysWhoJudged gives mutual exclusion every pair of answers: text, page, JSON and what a CI system counts
// say the same, and the page leads to porcupine's view of the lock that the finding is about.
func TestEveryFormSaysWhoJudged(t *testing.T) {
	for porcupine := checker.NotAskedClocks; porcupine <= checker.Refuted; porcupine++ {
		for _, interval := range []checker.Answer{checker.Open, checker.Allowed, checker.Refuted} {
			run := kleppmann()
			f := &run.Verdict.Findings[1]
			f.Judges = checker.Judges{Porcupine: porcupine, Interval: interval}
			if f.Lock = "b"; interval == checker.Allowed {
				*f = checker.Finding{Law: f.Law, Outcome: checker.Holds, Judges: f.Judges, Explanation: "none did"}
			}
			says, alone := f.Judges.String(), f.Judges.Alone()
			if says == "" || (alone == "") != (porcupine >= checker.Allowed) {
				t.Errorf("%v: %q, alone %q", f.Judges, says, alone)
			}
			for _, width := range []int{80, 160} {
				got := strings.Join(strings.Fields(textOf(t, run, document.TextOptions{Width: width})), " ")
				heading := "mutual-exclusion violated: holder"
				if alone != "" {
					heading = fmt.Sprintf("mutual-exclusion violated (%s): holder", alone)
				}
				if !strings.Contains(got, says) || f.Outcome == checker.Violated && !strings.Contains(got, heading) {
					t.Errorf("%d columns do not say %q and %q:\n%s", width, says, heading, got)
				}
			}
			page := render(t, run,
				single.View{Link: document.Link{Href: "writes.html"}, Law: checker.ResourceSafety, Lock: "b"},
				single.View{Link: document.Link{Href: "other.html"}, Law: checker.MutualExclusion, Lock: "a"},
				single.View{Link: document.Link{Href: "own.html"}, Law: checker.MutualExclusion, Lock: "b"})
			href := map[bool]string{true: "other.html", false: "own.html"}[f.Lock == ""]
			if want := says + ` (<a href="` + href + `">porcupine's view</a>)`; !strings.Contains(page, want) {
				t.Errorf("the page does not say %s", want)
			}
			raw, err := run.JSON("run")
			var doc struct {
				Laws map[checker.Law]struct{ Judges map[string]string }
			}
			if err != nil || json.Unmarshal(raw, &doc) != nil {
				t.Fatal(err, string(raw))
			}
			got := doc.Laws[checker.MutualExclusion].Judges
			if got["porcupine"] != porcupine.String() || got["interval_check"] != interval.String() ||
				(got["why"] == "") != (alone == "") || !strings.HasSuffix(alone, got["why"]) {
				t.Errorf("%v: %s", f.Judges, got)
			}
			if other := doc.Laws[checker.Ownership].Judges; other != nil {
				t.Errorf("ownership has one judge: %v", other)
			}
			run.Recording = &single.Recording{}
			if c := run.Suite().Cases[1]; strings.Contains(c.Message, "alone") != (alone != "") {
				t.Errorf("%v: %q", f.Judges, c.Message)
			}
		}
	}
}
