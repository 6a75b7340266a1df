package reports

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

type exploreJSON struct {
	document.Head
	Scenario    string                   `json:"scenario"`
	Shard       string                   `json:"shard"` // empty if the seeds were not divided
	From        uint64                   `json:"from"`
	Seeds       int                      `json:"seeds"` // how many were to be run, by all shards
	Runs        int                      `json:"runs"`  // how many were
	Within      string                   `json:"within"`
	Laws        map[checker.Law]toldJSON `json:"laws"`
	Faults      map[string]struckJSON    `json:"faults"`
	Findings    []foundJSON              `json:"findings"`
	Interrupted bool                     `json:"interrupted"`
	Open        []string                 `json:"open"`
	Notes       []string                 `json:"notes"`
	Expected    bool                     `json:"expected"`
}

type toldJSON struct {
	Promised bool `json:"promised"`
	campaign.Counts
	RateBelow *float64 `json:"rate_below,omitempty"` // stated where the law was exercised and never violated
}

type struckJSON struct {
	Drawn  int `json:"drawn"`
	Struck int `json:"struck"`
	Met    int `json:"met_a_lock_in_use"`
}

type foundJSON struct {
	Law         checker.Law       `json:"law"`
	Cause       string            `json:"cause"`
	Promised    bool              `json:"promised"`
	Runs        int               `json:"runs"`
	First       uint64            `json:"first_seed"`
	Drawn       int               `json:"faults_drawn"`
	Tries       int               `json:"tries"` // runs that it took to cut it down
	Minimal     bool              `json:"minimal"`
	Interrupted bool              `json:"interrupted"` // the cutting down was
	Often       int               `json:"seeds_of_16"`
	Files       []string          `json:"files"`
	Run         *single.RunObject `json:"run"`
}

// JSON gives the exploration as one JSON object, ended by a newline.
func (e *Exploration) JSON(command string) ([]byte, error) {
	standing, open := e.Standing(e.Subject)
	d := exploreJSON{Head: document.HeadOf(command), Scenario: e.Scenario, From: e.From, Seeds: e.Seeds, Runs: e.Done,
		Within: nemesis.FormatDuration(e.Within), Laws: map[checker.Law]toldJSON{}, Faults: map[string]struckJSON{},
		Findings: []foundJSON{}, Interrupted: e.Interrupted, Open: document.Some(open), Notes: document.Some(e.Doubts()),
		Expected: standing == document.Passed}
	if e.Shard != search.Whole {
		d.Shard = e.Shard.String()
	}
	for _, l := range promised(e.Laws, e.Subject) {
		told := toldJSON{Promised: l.Promised, Counts: l.Counts}
		if l.Holds > 0 && l.Violated == 0 {
			bound := campaign.UpperBound(l.Exercised())
			told.RateBelow = &bound
		}
		d.Laws[l.Law.Law] = told
	}
	for _, f := range e.Faults {
		d.Faults[f.Kind.String()] = struckJSON{f.Drawn, f.Struck, f.Met}
	}
	for i := range e.Findings {
		f := &e.Findings[i]
		d.Findings = append(d.Findings,
			foundJSON{f.Law, f.Cause.String(), f.Promised, f.Runs, f.First, len(f.Small.First.Faults),
				f.Small.Runs, f.Small.Ending == campaign.Complete, f.cut(), f.Small.Often, document.Some(f.Files), f.Run.Object()})
	}
	return document.Encode(d)
}
