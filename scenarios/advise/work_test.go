package advise

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// TestAdviceIsTheSameHoweverItIsDivided checks that the advice does not depend on which process executes the runs. It
// tests a file with faults, and one with a mix, which makes an exploration find the plans. In a full test, it also
// tests a file whose lock breaks without any faults.
func TestAdviceIsTheSameHoweverItIsDivided(t *testing.T) {
	testkit.ThoroughOnly(t)
	forgets := strings.Replace(forgetful, "clients: 3", "clients: 2", 1)
	texts := map[string]string{"own faults": forgets, "mix": strings.Replace(forgets, "faults:",
		"mix: {faults: 2, weights: {crash: 1}, within: 2s, downtime: 10ms..20ms}\nfaults:", 1)}
	if testkit.Full() {
		texts["no faults"] = string(named(t, "no-elapsed-check").Text())
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			subject := func() *scenarios.Scenario { return parsed(t, text) }
			o := Options{From: 1, Seeds: testkit.Size(4, 4, 20)}
			worker := func() (campaign.Worker, error) { return NewWorker(subject(), o) }
			campaigntest.HoweverItIsDivided(t, worker, func(hands campaign.Hands) []byte {
				o := o
				o.Hands = hands
				return divisible(t, subject(), o)
			})
		})
	}
}

// divisible returns the report of advice about s, with the files for the best changes. It checks that there are some,
// and that pairs of changes were tried.
func divisible(t *testing.T, s *scenarios.Scenario, o Options) []byte {
	t.Helper()
	a, err := Try(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Mending) == 0 || !a.confirmed(a.Mending[0]) || a.Pairs == 0 && !s.OfPrograms() {
		t.Errorf("%d changes mend it, and %d pairs were tried", len(a.Mending), a.Pairs)
	}
	all := campaigntest.Printed(t, (&Report{Advice: a, Scenario: s}).Document())
	for _, m := range a.Mending[:min(Confirmed, len(a.Mending))] {
		text, err := a.File(m)
		all = fmt.Append(all, string(text), err)
	}
	return all
}

// TestAStageOfOtherAdviceIsRefused checks that a worker refuses a stage that belongs to a different search for advice,
// and that a result with other changes is an error.
func TestAStageOfOtherAdviceIsRefused(t *testing.T) {
	w, err := NewWorker(parsed(t, forgetful), Options{From: 1, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for job, fits := range map[string]bool{
		`{"Task":1,"Tried":{"Changes":["lock.ttl: 30s"]}}`: true,
		`{"Task":1,"Tried":{"Changes":["lock.ttl: 31s"]}}`: false,
		`{"Task":4,"Tried":{"Changes":["lock.ttl: 30s"]}}`: false,
		`{"Chore":1}`: false,
	} {
		value, err := w.Make(t.Context(), campaign.Stage{Name: "changes", Spec: []byte(`{"Jobs":[` + job + `]}`),
			Size: 1}, 0, 1)
		if (err == nil) != fits {
			t.Errorf("%s: %.200s, %v", job, value, err)
		}
	}
	hands := &campaigntest.Strangers{T: t,
		Worker: func() (campaign.Worker, error) { return NewWorker(parsed(t, forgetful), Options{From: 1, Seeds: 1}) },
		Change: func(_ campaign.Stage, p campaign.Part) campaign.Part {
			p.Value = []byte(strings.Replace(string(p.Value), `"Changes":null`, `"Changes":["lock.ttl: 30s"]`, 1))
			return p
		}}
	_, err = Try(t.Context(), parsed(t, forgetful), Options{From: 1, Seeds: 1, Crew: campaign.Crew{Hands: hands}})
	if err == nil || !strings.Contains(err.Error(), "does not belong to this search") {
		t.Error(err)
	}
}
