package reports

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

type manyJSON struct {
	document.Head
	Scenario    string                          `json:"scenario"`
	Seeds       int                             `json:"seeds"` // how many were run
	From        uint64                          `json:"from"`  // the first
	Expected    int                             `json:"expected_runs"`
	Unexpected  int                             `json:"unexpected_runs"`
	Undecided   int                             `json:"undecided_runs"`
	Interrupted bool                            `json:"interrupted"`
	Open        []string                        `json:"open"`
	Digests     int                             `json:"distinct_digests"`
	Laws        map[checker.Law]campaign.Counts `json:"laws"`
	Faults      []plannedJSON                   `json:"faults"`
	Groups      []groupJSON                     `json:"groups"`
	AsExpected  bool                            `json:"expected"`
	Verdict     string                          `json:"verdict"` // as the title of the text has it
	Headline    string                          `json:"headline"`
	Runs        []*single.RunObject             `json:"runs"` // worth showing
}

type plannedJSON struct {
	Line   string `json:"line"`
	Struck int    `json:"struck"`
	Met    int    `json:"met_a_lock_in_use"`
}

type groupJSON struct {
	Name     string `json:"name"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Runs     int    `json:"runs"`
	First    uint64 `json:"first_seed"`
}

// JSON gives many runs as one JSON object, ended by a newline.
func (m *Many) JSON(command string) ([]byte, error) {
	c := &m.Campaign
	d := manyJSON{Head: document.HeadOf(command), Scenario: m.Scenario, Seeds: m.Done, From: m.From,
		Expected:   c.AsExpected,
		Unexpected: c.Otherwise, Undecided: m.undecided(), Interrupted: !m.Finished(),
		Open: document.Some(m.Failed.Open(m.Done)), Digests: c.Digests(),
		Laws: countsOf(m.Laws), Faults: []plannedJSON{}, Groups: []groupJSON{},
		AsExpected: m.Standing() == document.Passed, Verdict: m.standing().Words(), Headline: m.headline(),
		Runs: []*single.RunObject{}}
	for _, f := range m.Plan {
		d.Faults = append(d.Faults, plannedJSON(f))
	}
	for _, g := range c.Groups {
		d.Groups = append(d.Groups, groupJSON{g.Name, g.Want, g.Got, g.Runs, g.First})
	}
	for _, run := range m.Shown {
		d.Runs = append(d.Runs, run.Object())
	}
	return document.Encode(d)
}

// countsOf are tallies by their laws.
func countsOf(laws campaign.Laws) map[checker.Law]campaign.Counts {
	counts := map[checker.Law]campaign.Counts{}
	for _, l := range laws {
		counts[l.Law] = l.Counts
	}
	return counts
}
