package verify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// verified returns a report in which every part has some content.
func verified() *Report {
	own, err := nemesis.Parse("crash redis-3 losing everything at 1s")
	if err != nil {
		panic(err)
	}
	excluded, err := nemesis.ParseExclusion("jump of servers")
	if err != nil {
		panic(err)
	}
	s := &scenarios.Scenario{Name: "a-lock", Summary: "A lock, and what it is for.", Faults: []nemesis.Fault{own},
		Promise: checker.Promise{Laws: []checker.Law{checker.LeaseExclusion, checker.TokenOrder}}}
	s.Mix.Without = append(s.Mix.Without, excluded)
	drift := Reason{Kind: nemesis.Drift,
		Why: "its effect grows with its length, so a few starts and ends cannot represent all others"}
	length := func(faults int, t Tally, kinds ...KindTally) LengthTally {
		if t.Laws = campaign.NewLaws(s.Promise.Laws); faults == 2 {
			t.Laws[0].Holds, t.Laws[1].Unchecked = 1_234_567, 1_234_567
		}
		return LengthTally{Faults: faults, Tally: t, Kinds: kinds, Whole: true}
	}
	return &Report{Files: "_runs/verify-a-lock", Repeat: "fencepost verify a-lock --faults 2",
		Verification: &Verification{
			Scenario: s, Options: Options{Faults: 2, Seed: 1, KeepFaults: true},
			Lengths: []LengthTally{length(0, Tally{Schedules: 1, Stands: 1}),
				length(1, Tally{Starts: 203, Schedules: 2658, Stands: 1.39e11},
					KindTally{Starts: 133, Schedules: 487}, KindTally{}),
				length(2, Tally{Starts: 42_322, Schedules: 1_231_908, Idle: 218, Stands: 1.2e21},
					KindTally{Starts: 15_000, Schedules: 197_000},
					KindTally{Starts: 6836, Schedules: 126_011})},
			Assignments: []Assignment{{Name: "every message takes 1.1ms"},
				{Name: "messages to and from client-1 take 200us, all others 2ms"}},
			Scope: Scope{Every: []nemesis.Kind{nemesis.Pause, nemesis.DelayMessage},
				Random: []Reason{drift}, None: []Reason{{Kind: nemesis.Jump,
					Why: "no process reads its wall clock"}}},
			Random: []Sample{{Reason: drift,
				Tally: Tally{Schedules: 500, Laws: campaign.NewLaws(s.Promise.Laws)}}}}}
}

// breaks adds a counterexample with the given number of faults to the report.
func (v *Report) breaks(law checker.Law, kind checker.CauseKind, faults int, run *single.Run) {
	v.Options.KeepFaults, v.Run = false, run
	v.Found = &Counterexample{Law: law, Cause: checker.Cause{Kind: kind},
		Plan: nemesis.Plan{Faults: make([]nemesis.Fault, faults)}}
	v.Lengths[2].Laws[0].Violated, v.Lengths[2].Whole = 1, false
}

func verifyText(t *testing.T, v *Report, width int) string {
	t.Helper()
	var b strings.Builder
	if err := v.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// squeezed replaces line breaks and repeated spaces with single spaces, so that a test can search for phrases.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestAVerificationSaysWhatItTriedAndForHowMuchItStands(t *testing.T) {
	for width := 60; width <= 120; width += 20 {
		text := squeezed(verifyText(t, verified(), width))
		for _, want := range []string{"a-lock up to 2 faults holds",
			"No way of placing up to 2 faults of 2 kinds breaks lease-exclusion. Nor does any of 500 random " +
				"placements of faults of 1 kind.",
			"No schedule was able to test token-order, so nothing is proved about it.", "✓ lease-exclusion 1,234,567",
			"– " +
				"token-order 0",
			"2 faults 42,322 1,231,908 1.2 × 10^21", "1 fault 203 2,658 140 billion",
			"drift 500 starts All",
			"1 every message takes 1.1ms 2 messages to and from client-1",
			"always crash redis-3 losing everything at 1s", "without jump of servers",
			"random drift: its effect grows", "fewer than 0.6% of the possible placements of each kind do (with 95%",
			"untried jump: no process reads its wall clock", "pause 15,133 197,487", "continues from only one",
			"again fencepost verify a-lock --faults 2"} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d cells %q is missing in\n%s", width, want, text)
			}
		}
	}
}

// TestOnlyAWholeVerificationHolds checks that neither the zero value nor a verification that ended early passes, no
// matter how many placements were tried.
func TestOnlyAWholeVerificationHolds(t *testing.T) {
	early := verified()
	early.Ending, early.Lengths[2].Whole = campaign.OutOfRuns, false
	for _, v := range []*Report{{Verification: &Verification{Scenario: &scenarios.Scenario{}}},
		{Verification: &Verification{Scenario: &scenarios.Scenario{Name: "x"},
			Options: Options{Faults: 1}}}, early} {
		text := squeezed(verifyText(t, v, 80))
		if v.outcome() != document.Undecided.String() || strings.Contains(text, "holds") ||
			!strings.Contains(text, "this does not prove") {
			t.Errorf("%s:\n%s", v.outcome(), text)
		}
	}
	text := squeezed(verifyText(t, early, 80))
	for _, want := range []string{"No way of placing up to 1 fault of 2 kinds breaks a promise.",
		"1.2 × 10^21, not every one",
		"reason the budget of runs is used up"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestACounterexampleIsToldInFull(t *testing.T) {
	v := verified()
	v.breaks(checker.LeaseExclusion, checker.ValidityMiscounted, 2, singletest.Kleppmann())
	text := squeezed(verifyText(t, v, 80))
	for _, want := range []string{"violated",
		"lease-exclusion is broken by 2 faults (validity miscounted). In that run, every message takes 1.1ms.",
		"No way of placing up to 1 fault of 2 kinds breaks a promise.", "✗ lease-exclusion", "seconds"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "starts All") {
		t.Errorf("a claim of completeness with a counterexample:\n%s", text)
	}
	v.Found.Plan.Faults = nil
	if text := squeezed(verifyText(t, v, 80)); !strings.Contains(text, "is broken without any fault (") {
		t.Error(text)
	}
}

func TestAVerificationAsJSON(t *testing.T) {
	v := verified()
	text, err := v.Document().JSON("verify")
	if err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Fatalf("%v: %s", err, text)
	}
	var got struct {
		Outcome string
		Faults  int
		Laws    map[string]map[string]int
		Lengths []struct {
			Faults, Schedules int
			Placements        float64
			Whole             bool
		}
		Random         map[string]struct{ Schedules int }
		LeftOut        map[string]string `json:"left_out"`
		Counterexample *struct {
			Law string
			Run struct{ Scenario string }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Outcome != "holds" || got.Laws["lease-exclusion"]["holds"] != 1_234_567 ||
		got.Lengths[2].Placements != 1.2e21 || !got.Lengths[2].Whole ||
		got.LeftOut["jump"] == "" || got.Random["drift"].Schedules != 500 || got.Counterexample != nil {
		t.Errorf("%+v", got)
	}
	v.breaks(checker.LeaseExclusion, checker.ValidityMiscounted, 1, singletest.Kleppmann())
	if text, err = v.Document().JSON("verify"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Outcome != "violated" ||
		got.Counterexample.Law != "lease-exclusion" ||
		got.Counterexample.Run.Scenario != singletest.Kleppmann().Scenario {
		t.Errorf("%v: %s", err, text)
	}
}

// TestReportsOfVerificationsCanBeRead checks the text and the page, with and without an interruption and a
// counterexample. Enumerated placements are not a random sample, so the report must not say what percentage of them
// break a law.
func TestReportsOfVerificationsCanBeRead(t *testing.T) {
	for _, found := range []bool{false, true} {
		for _, ending := range []campaign.Ending{campaign.Complete, campaign.Interrupted} {
			v := verified()
			if v.Ending = ending; found {
				v.breaks(checker.MutualExclusion, checker.HolderOutlivedLease, 1, singletest.Kleppmann())
			}
			d := v.Document()
			if err := reporttest.Check(d); err != nil {
				t.Errorf("found %t, ending %d: %v", found, ending, err)
			}
			var page strings.Builder
			if err := d.HTML(&page, "page.html"); err != nil || strings.Contains(page.String(), "share of runs") ||
				strings.Contains(page.String(), `id="chart"`) != found {
				t.Errorf("found %t: the page states a share, or has no timeline: %v", found, err)
			}
		}
	}
}
