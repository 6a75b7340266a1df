package single

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

// TestEveryFormSaysWhoJudged checks every pair of answers that the two judges of mutual exclusion can give. The text,
// the page, the JSON and the JUnit file must agree, and the page must link to porcupine's view of the lock that the
// finding is about.
func TestEveryFormSaysWhoJudged(t *testing.T) {
	for porcupine := checker.NotAskedClocks; porcupine <= checker.Refuted; porcupine++ {
		if porcupine == checker.Open { // only the interval check gives this answer
			continue
		}
		for _, interval := range []checker.Answer{checker.Open, checker.Allowed, checker.Refuted} {
			story := reporttest.Kleppmann()
			run := &Run{Scenario: story.Scenario, History: story.History,
				Verdict: checker.Verdict{Findings: story.Findings}}
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
				got := shown(t, func(w io.Writer) error {
					return run.Document().Text(w, document.TextOptions{Width: width})
				})
				heading := "mutual-exclusion violated: holder"
				if alone != "" {
					heading = fmt.Sprintf("mutual-exclusion violated (%s): holder", alone)
				}
				if !strings.Contains(got, says) || f.Outcome == checker.Violated && !strings.Contains(got, heading) {
					t.Errorf("%d columns do not say %q and %q:\n%s", width, says, heading, got)
				}
			}
			seen := &views{run: run, all: []view{{slug: "writes", law: checker.ResourceSafety, lock: "b"},
				{slug: "other", law: checker.MutualExclusion, lock: "a"},
				{slug: "own", law: checker.MutualExclusion, lock: "b"}}}
			page := shown(t, func(w io.Writer) error { return run.document(seen).HTML(w, "page.html") })
			href := map[bool]string{true: "page-other.html", false: "page-own.html"}[f.Lock == ""]
			if want := says + ` (<a href="` + href + `">porcupine&#39;s view</a>)`; !strings.Contains(page, want) {
				t.Errorf("the page does not say %s", want)
			}
			raw, err := run.Document().JSON("run")
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
			run.Recording = &Recording{}
			if c := run.Document().Suite.Cases[1]; strings.Contains(c.Message, "alone") != (alone != "") {
				t.Errorf("%v: %q", f.Judges, c.Message)
			}
		}
	}
}

// shown calls write and returns its output, with all white space between words reduced to single spaces.
func shown(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestRunsHaveASchema checks that the schemas of a run and of a recorded history can be generated from the types that
// are printed.
func TestRunsHaveASchema(t *testing.T) {
	text, err := document.Schema([]document.Described{{Commands: []string{"run", "replay", "live"}, Object: runJSON{}},
		{Commands: []string{"check"}, Object: recordedJSON{}}})
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Defs map[string]struct {
			Required   []string
			Properties map[string]struct{ Items any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if got := s.Defs["single.run"].Required; !slices.Contains(got, "digest") || slices.Contains(got, "notes") {
		t.Errorf("a run must have %q", got)
	}
	if got := fmt.Sprint(s.Defs["single.finding"].Properties["witness"].Items); got != "map[$ref:#/$defs/event]" {
		t.Errorf("a witness is %s", got)
	}
}
