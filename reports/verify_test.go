package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/term"
)

// verified is a verification with something in each place.
func verified() *Verification {
	return &Verification{Scenario: "a-lock", Summary: "A lock, and what it is for.", Seed: 1, Faults: 2, OK: true,
		Laws: []ExploredLaw{{Law: "lease-exclusion", Promised: true, Holds: 1_234_567}, {Law: "token-order", Promised: true, Unchecked: 1_234_567}},
		Lengths: []VerifiedLength{{Schedules: 1, Stands: 1, Whole: true}, {Faults: 1, Starts: 203, Schedules: 2658, Stands: 1.39e11, Whole: true},
			{Faults: 2, Starts: 42_322, Schedules: 1_231_908, Idle: 218, Stands: 1.2e21, Whole: true}},
		Kinds:    []VerifiedKind{{"pause", 15_133, 197_487}, {"delay message", 6836, 126_011}},
		Delays:   []string{"every message takes 1.1ms", "messages to and from client-1 take 200us, all others 2ms"},
		LeftOut:  []VerifiedGap{{"drift", "what it does grows with its length: no few starts and ends stand for the others"}},
		Excluded: []string{"jump of servers"}, Own: []string{"crash redis-3 losing everything at 1s"}, Files: "_runs/verify-a-lock",
		Repeat: "fencepost verify a-lock --faults 2"}
}

func verifyText(t *testing.T, v *Verification, width int) string {
	t.Helper()
	var b strings.Builder
	if err := VerifyText(&b, v, TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	for _, ln := range strings.Split(b.String(), "\n") {
		if term.Cells(ln) > width && !strings.HasPrefix(ln, "again") {
			t.Errorf("at %d cells: %q", width, ln)
		}
	}
	return b.String()
}

// squeezed takes out line breaks, so that words can be looked for.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestAVerificationSaysWhatItTriedAndForHowMuchItStands(t *testing.T) {
	for width := 60; width <= 120; width += 20 {
		text := squeezed(verifyText(t, verified(), width))
		for _, want := range []string{"a-lock up to 2 faults holds", "No placement of up to 2 faults breaks lease-exclusion.",
			"Nothing exercised token-order: that is no pass.", "✓ lease-exclusion 1,234,567", "– token-order 0", "2 faults 42,322 1,231,908 1.2e+21 placements",
			"1 every message takes 1.1ms 2 messages to and from client-1", "always crash redis-3 losing everything at 1s", "without jump of servers",
			"untried drift: what it does grows", "one is taken further", "again fencepost verify a-lock --faults 2"} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d cells %q is missing in\n%s", width, want, text)
			}
		}
	}
}

// TestOnlyAWholeVerificationHolds: neither the zero value does, nor one that ended early, however much it tried.
func TestOnlyAWholeVerificationHolds(t *testing.T) {
	early := verified()
	early.OK, early.Open, early.Lengths[2].Whole = false, []string{"the budget of runs is used up"}, false
	for _, v := range []*Verification{{}, {Scenario: "x", Faults: 1}, early} {
		text := squeezed(verifyText(t, v, 80))
		if v.standing() != undecided || strings.Contains(text, "holds") || !strings.Contains(text, "that is no proof") {
			t.Errorf("%s:\n%s", v.standing(), text)
		}
	}
	text := squeezed(verifyText(t, early, 80))
	for _, want := range []string{"No placement of up to 1 fault breaks a promise.", "1.2e+21 placements; not all", "open the budget of runs is used up"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestACounterexampleIsToldInFull(t *testing.T) {
	v := verified()
	v.OK, v.Broken, v.Own = false, true, nil
	v.Laws[0].Violated, v.Lengths[2].Whole = 1, false
	v.Found = &VerifiedViolation{Law: "lease-exclusion", Cause: "validity miscounted", Faults: 2, Delay: "every message takes 1.1ms", Run: calm()}
	text := squeezed(verifyText(t, v, 80))
	for _, want := range []string{"violated", "lease-exclusion is broken by 2 faults (validity miscounted), where every message takes 1.1ms.",
		"No placement of up to 1 fault breaks a promise.", "✗ lease-exclusion", "seconds"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "starts All") {
		t.Errorf("a claim of completeness with a counterexample:\n%s", text)
	}
	v.Found.Faults = 0
	if text := squeezed(verifyText(t, v, 80)); !strings.Contains(text, "is broken without any fault (") {
		t.Error(text)
	}
}

func TestAVerificationAsJSON(t *testing.T) {
	v := verified()
	text, err := VerifyJSON(v)
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
		LeftOut        map[string]string `json:"left_out"`
		Counterexample *struct {
			Law string
			Run struct{ Scenario string }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Outcome != "holds" || got.Laws["lease-exclusion"]["holds"] != 1_234_567 || got.Lengths[2].Placements != 1.2e21 || !got.Lengths[2].Whole ||
		got.LeftOut["drift"] == "" || got.Counterexample != nil {
		t.Errorf("%+v", got)
	}
	v.OK, v.Broken = false, true
	v.Found = &VerifiedViolation{Law: "lease-exclusion", Run: calm()}
	if text, err = VerifyJSON(v); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Outcome != "violated" || got.Counterexample.Law != "lease-exclusion" ||
		got.Counterexample.Run.Scenario != calm().Scenario {
		t.Errorf("%v: %s", err, text)
	}
}
