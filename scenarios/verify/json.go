package verify

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Described lists the JSON objects that the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"verify"}, Object: verifyJSON{}, Is: "all ways of placing a few faults in a run"},
}

type verifyJSON struct {
	document.Head
	Scenario string                          `json:"scenario"`
	Faults   int                             `json:"faults"`  // maximum number of faults in one placement
	Seed     uint64                          `json:"seed"`    // seed of back-offs and owner values
	Outcome  string                          `json:"outcome"` // holds, violated or undecided
	Laws     map[checker.Law]campaign.Counts `json:"laws"`
	Lengths  []lengthJSON                    `json:"lengths"`
	Kinds    map[string]kindJSON             `json:"kinds"`
	Delays   []string                        `json:"delays"`
	AllEnds  bool                            `json:"all_ends"`
	Requests bool                            `json:"requests" doc:"each single fault was tried in the run with this seed, with the delays of that run"`
	// faults that the scenario does not promise to survive
	Excluded  []string `json:"excluded"`
	OwnFaults []string `json:"own_faults"`

	NeverStruck []string `json:"never_struck,omitempty" doc:"the scenario's faults that never struck because the message that they name was not sent, each with the requests that were sent instead"`

	Random         map[string]randomJSON `json:"random" doc:"kinds of fault for which only random placements were tried, because there are too many to try all"`
	LeftOut        map[string]string     `json:"left_out"` // kinds that were not tried, and why
	Interrupted    bool                  `json:"interrupted" doc:"a signal ended the work early"`
	Open           []string              `json:"open"`
	Counterexample *counterexampleJSON   `json:"counterexample"`
}

type lengthJSON struct {
	Faults    int `json:"faults"`
	Starts    int `json:"starts"`
	Schedules int `json:"schedules"`
	// number of schedules in which the last fault had no target
	Idle       int     `json:"idle"`
	Placements float64 `json:"placements"` // number of placements that the schedules represent
	Whole      bool    `json:"whole"`      // whether all placements were tried
}

// kindJSON counts the placements tried whose last fault is of one kind.
type kindJSON struct {
	Starts    int `json:"starts"`
	Schedules int `json:"schedules"`
}

// randomJSON counts the random placements of one kind of fault.
type randomJSON struct {
	Why       string  `json:"why"`
	Schedules int     `json:"schedules"` // placements in which the faults struck
	Idle      int     `json:"idle"`      // placements in which the faults did not have a target to strike
	Bound     float64 `json:"bound" doc:"upper bound, with 95% confidence, on the share of all placements that break a promise, if none of these did"`
}

type counterexampleJSON struct {
	Law      checker.Law       `json:"law"`
	Cause    string            `json:"cause"`
	Delay    string            `json:"delay"`
	AtRandom bool              `json:"at_random"` // found among the random placements
	Run      *single.RunObject `json:"run"`
}

// data returns the report as a JSON object.
func (r *Report) data() *verifyJSON {
	v := r.Verification
	o := &v.Options
	d := &verifyJSON{Scenario: v.Scenario.Name, Faults: o.Faults, Seed: o.Seed,
		Outcome: v.outcome(),
		Laws:    v.laws().ByLaw(), Lengths: []lengthJSON{}, Kinds: map[string]kindJSON{}, Delays: []string{},
		AllEnds: o.AllEnds, Requests: o.Requests,
		Excluded: document.Texts(v.Scenario.Mix.Without), OwnFaults: document.Texts(v.own()),
		NeverStruck: v.neverStruck(),
		Random:      map[string]randomJSON{}, LeftOut: map[string]string{},
		Interrupted: v.interrupted(), Open: document.Some(v.open())}
	for _, l := range v.Lengths {
		d.Lengths = append(d.Lengths, lengthJSON{l.Faults, l.Starts, l.Schedules, l.Idle, l.Stands, l.Whole})
	}
	for i, k := range v.byKind() {
		d.Kinds[v.Scope.Every[i].String()] = kindJSON(k)
	}
	for _, a := range v.Assignments {
		d.Delays = append(d.Delays, a.Name)
	}
	for i := range v.Random {
		s := &v.Random[i]
		d.Random[s.Kind.String()] = randomJSON{s.Why, s.Schedules, s.Idle, campaign.UpperBound(s.Schedules)}
	}
	for _, l := range v.Scope.None {
		d.LeftOut[l.Kind.String()] = l.Why
	}
	if v.Found != nil {
		_, delay := v.counterexample()
		d.Counterexample = &counterexampleJSON{v.Found.Law, v.Found.Cause.String(), delay, v.Found.AtRandom,
			r.Run.Object()}
	}
	return d
}
