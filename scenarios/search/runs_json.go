package search

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

type runsJSON struct {
	document.Head
	Scenario    string                          `json:"scenario"`
	Seeds       int                             `json:"seeds" doc:"number of runs"`
	From        uint64                          `json:"from" doc:"the first seed"`
	Expected    int                             `json:"expected_runs"`
	Unexpected  int                             `json:"unexpected_runs"`
	Undecided   int                             `json:"undecided_runs"`
	Interrupted bool                            `json:"interrupted" doc:"a signal ended the work early"`
	Open        []string                        `json:"open" doc:"why some runs could not be judged"`
	Digests     int                             `json:"distinct_digests"`
	Laws        map[checker.Law]campaign.Counts `json:"laws"`
	Faults      []plannedJSON                   `json:"faults"`
	Groups      []groupJSON                     `json:"groups" doc:"outcomes that differ from the expectation"`
	AsExpected  bool                            `json:"expected"`
	// the verdict, as in the report's title
	Verdict  string              `json:"verdict" of:"verdict"`
	Headline string              `json:"headline" doc:"what happened, in a sentence or two"`
	Runs     []*single.RunObject `json:"runs" doc:"runs that are worth looking at"`
}

type plannedJSON struct {
	Line   string `json:"line"`
	Struck int    `json:"struck"`
	Met    int    `json:"met_a_lock_in_use" doc:"number of faults that struck while the lock was held or requested"`
}

type groupJSON struct {
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Runs     int    `json:"runs"`
	First    uint64 `json:"first_seed"`
}

// data returns the report as a JSON object.
func (r *RunsReport) data(title *document.Title) *runsJSON {
	c := &r.Campaign
	standing, open := r.Standing(r.Subject)
	d := &runsJSON{Scenario: r.Scenario, Seeds: r.Done(), From: r.From, Expected: c.AsExpected, Unexpected: c.Otherwise,
		Undecided: r.undecided(), Interrupted: r.Interrupted, Open: document.Some(open),
		Digests: c.Digests(), Laws: r.Laws.ByLaw(), Faults: []plannedJSON{}, Groups: []groupJSON{},
		AsExpected: standing == document.Passed, Verdict: title.Verdict, Headline: title.Headline,
		Runs: []*single.RunObject{}}
	for _, f := range r.Plan {
		d.Faults = append(d.Faults, plannedJSON(f))
	}
	for _, g := range c.Groups {
		d.Groups = append(d.Groups, groupJSON{g.Name, g.Want, g.Got, g.Runs, g.First})
	}
	for _, run := range r.Shown {
		d.Runs = append(d.Runs, run.Object())
	}
	return d
}
