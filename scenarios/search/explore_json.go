package search

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Described lists the JSON objects that this package prints with --json.
var Described = []document.Described{
	{Commands: []string{"explore", "merge"}, Object: exploreJSON{}, Is: "runs under random faults"},
	{Commands: []string{"run", "merge"}, Object: runsJSON{}, Is: "runs of many seeds"},
}

type exploreJSON struct {
	document.Head
	Scenario    string                  `json:"scenario"`
	Shard       string                  `json:"shard" doc:"the share I/N of the seeds that was run, such as 1/2; empty if all seeds were run"`
	From        uint64                  `json:"from"`
	Seeds       int                     `json:"seeds"` // number of seeds to run, over all shards
	Runs        int                     `json:"runs"`  // number of seeds that were run
	Within      string                  `json:"within" doc:"the time after the start in which faults may strike"`
	Laws        map[checker.Law]lawJSON `json:"laws"`
	Faults      map[string]struckJSON   `json:"faults"`
	Findings    []findingJSON           `json:"findings"`
	Unrepeated  []unrepeatedJSON        `json:"unrepeated" doc:"violations that did not occur again when the run was repeated"`
	Closest     []closeJSON             `json:"closest_calls" doc:"closest calls of the laws that no run violated"`
	Interrupted bool                    `json:"interrupted" doc:"a signal ended the work early"`
	Open        []string                `json:"open" doc:"why the result is undecided"`
	Notes       []string                `json:"notes"`
	Expected    bool                    `json:"expected"`
}

type closeJSON struct {
	Law   checker.Law `json:"law"`
	Seed  uint64      `json:"seed"`
	Plan  string      `json:"plan"`
	Words string      `json:"words"`
	margin.Call
}

type lawJSON struct {
	Promised bool `json:"promised"`
	campaign.Counts
	Guided    campaign.Counts `json:"guided" doc:"number of these runs whose plans were guided by other runs"`
	RateBelow *float64        `json:"rate_below,omitempty" doc:"upper bound for the rate of violations in purely random plans, with 95% confidence"`
}

type struckJSON struct {
	Drawn  int `json:"drawn"`
	Struck int `json:"struck"`
	Met    int `json:"met_a_lock_in_use" doc:"number of faults that struck while the lock was held or requested"`
}

type findingJSON struct {
	Law         checker.Law       `json:"law"`
	Cause       string            `json:"cause"`
	Promised    bool              `json:"promised"`
	Runs        int               `json:"runs"`
	First       uint64            `json:"first_seed"`
	Drawn       int               `json:"faults_drawn"`
	Tries       int               `json:"tries"` // number of runs that shrinking took
	Minimal     bool              `json:"minimal"`
	Interrupted bool              `json:"interrupted" doc:"a signal ended the work early"`
	Often       int               `json:"seeds_of_16"`
	Files       []string          `json:"files"`
	Run         *single.RunObject `json:"run"`
}

type unrepeatedJSON struct {
	Law   checker.Law `json:"law"`
	Cause string      `json:"cause"`
	Runs  int         `json:"runs"`
	First uint64      `json:"first_seed"`
	Why   string      `json:"why"`
}

// data returns the report as a JSON object.
func (r *Report) data() *exploreJSON {
	standing, open := r.Standing(r.Subject)
	d := &exploreJSON{Scenario: r.Scenario, From: r.From, Seeds: r.Seeds, Runs: r.Done(),
		Within: nemesis.FormatDuration(r.Within), Laws: map[checker.Law]lawJSON{}, Faults: map[string]struckJSON{},
		Findings: []findingJSON{}, Unrepeated: []unrepeatedJSON{}, Closest: []closeJSON{}, Interrupted: r.Interrupted,
		Open: document.Some(open), Notes: document.Some(r.notes()), Expected: standing == document.Passed}
	if r.Shard != Whole {
		d.Shard = r.Shard.String()
	}
	for _, l := range r.Laws {
		law := lawJSON{Promised: slices.Contains(r.Subject.Promise.Laws, l.Law), Counts: l.Counts, Guided: l.Guided}
		if free := l.Free(); free.Holds > 0 && l.Violated == 0 {
			bound := campaign.UpperBound(free.Exercised())
			law.RateBelow = &bound
		}
		d.Laws[l.Law] = law
	}
	for _, f := range r.Unrepeated {
		d.Unrepeated = append(d.Unrepeated, unrepeatedJSON{f.Law, f.Cause.String(), f.Runs, f.First, f.Why})
	}
	for _, c := range r.Closest.Whole(r.Laws) {
		d.Closest = append(d.Closest, closeJSON{c.Law, c.Seed, string(c.Plan), c.String(), c.Call})
	}
	for _, f := range r.Faults {
		d.Faults[f.Kind.String()] = struckJSON{f.Drawn, f.Struck, f.Met}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		d.Findings = append(d.Findings,
			findingJSON{f.Law, f.Cause.String(), f.Promised, f.Runs, f.First, len(f.Small.First.Faults), f.Small.Runs,
				f.Small.Ending == campaign.Complete, f.interrupted(), f.Small.Often, document.Some(f.Files),
				f.Run.Object()})
	}
	return d
}
