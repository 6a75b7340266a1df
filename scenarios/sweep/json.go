package sweep

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Described lists the JSON objects that the commands print with --json.
var Described = []document.Described{
	{Commands: []string{"sweep"}, Object: sweepJSON{}, Is: "runs with varied values of keys"},
}

type sweepJSON struct {
	document.Head
	Scenario    string                       `json:"scenario"`
	Seeds       int                          `json:"seeds"` // number of runs of each point
	EdgeSeeds   int                          `json:"edge_seeds" doc:"minimum number of runs next to an edge and where a condition becomes true"`
	From        uint64                       `json:"from"` // the first seed
	Faults      []string                     `json:"faults"`
	With        []string                     `json:"with"` // keys that are set to one value for all points
	Axes        []axisJSON                   `json:"axes"`
	Points      []pointJSON                  `json:"points"` // points of the grid
	Laws        map[checker.Law]sweptLawJSON `json:"laws"`
	Assertions  []assertionJSON              `json:"assertions"`
	Interrupted bool                         `json:"interrupted" doc:"a signal ended the work early"`
	Notes       []string                     `json:"notes"`
	// number of points tried, including those between grid points
	Tried  int    `json:"tried"`
	Runs   int    `json:"runs"`
	Repeat string `json:"repeat" doc:"a command that does the same work again"`
}

type axisJSON struct {
	Key    string   `json:"key"`
	Title  string   `json:"title"`
	Levels []string `json:"levels"`
}

// pointJSON is a point with the outcome for each law, or the reason why the point is not a valid scenario.
type pointJSON struct {
	At      map[string]string         `json:"at"` // values, keyed by axis
	Problem string                    `json:"problem,omitempty" doc:"why it is not a valid scenario"`
	Laws    map[checker.Law]stateJSON `json:"laws,omitempty"`
}

type stateJSON struct {
	State string `json:"state" enum:"not judged|safe|broken in some|broken|no valid scenario"`
	campaign.Counts
	Causes []causeJSON `json:"causes"`
}

type causeJSON struct {
	Cause string `json:"cause"`
	Runs  int    `json:"runs"`
	First uint64 `json:"first_seed"`
}

type sweptLawJSON struct {
	Edges []edgeJSON `json:"edges"`
	Lines []lineJSON `json:"lines"`
}

type edgeJSON struct {
	Along  string            `json:"along"`
	Last   map[string]string `json:"last"`
	Before string            `json:"before" enum:"not judged|safe|broken in some|broken|no valid scenario"`
	First  map[string]string `json:"first"`
	After  string            `json:"after" enum:"not judged|safe|broken in some|broken|no valid scenario"`
	Exact  bool              `json:"exact"`
	Cause  string            `json:"cause"`
	Repeat string            `json:"repeat" doc:"a command that reproduces the violation"`
}

type lineJSON struct {
	Along     string        `json:"along"`
	At        string        `json:"at"` // value on the other axis
	Monotone  bool          `json:"monotone"`
	Words     string        `json:"words"`
	Stretches []stretchJSON `json:"stretches"`
}

type stretchJSON struct {
	State string `json:"state" enum:"not judged|safe|broken in some|broken|no valid scenario"`
	From  string `json:"from"`
	To    string `json:"to"`

	At       string `json:"at" doc:"the value with which these runs were made: just beside the edge, or the middle of the range"`
	Violated int    `json:"violated"`
	Runs     int    `json:"runs"`
}

type assertionJSON struct {
	Assertion string            `json:"assertion"`
	Result    string            `json:"result" enum:"met|failed|undecided"` // met, failed or undecided
	Points    int               `json:"points"`
	Why       string            `json:"why"`
	Run       *single.RunObject `json:"run,omitempty"` // a run that shows the failure
}

// data returns the report as a JSON object.
func (s *Report) data() *sweepJSON {
	d := &sweepJSON{Scenario: s.Scenario.Name, Seeds: s.Seeds, EdgeSeeds: s.Sure, From: s.From,
		Faults: document.Some(s.faults()), With: document.Some(s.sharedSettings()), Axes: []axisJSON{},
		Points: []pointJSON{},
		Laws:   map[checker.Law]sweptLawJSON{}, Assertions: []assertionJSON{}, Interrupted: s.Interrupted,
		Notes: s.notes(), Repeat: s.Repeat}
	d.Runs, d.Tried = s.made()
	for i := range s.Axes {
		axis := axisJSON{s.Axes[i].Name, s.title(i), []string{}}
		for _, l := range s.Axes[i].Levels {
			axis.Levels = append(axis.Levels, l.Text)
		}
		d.Axes = append(d.Axes, axis)
	}
	for _, p := range s.Points {
		d.Points = append(d.Points, pointJSON{At: s.valuesAt(p.Levels), Problem: p.Problem})
	}
	for _, law := range s.Laws {
		l := LawOf(s.Sweep, law)
		d.Laws[law] = s.lawJSON(l)
		for i := range l.Cells {
			d.Points[i].add(l, &l.Cells[i])
		}
	}
	for i := range s.Asserted {
		a := &s.Asserted[i]
		claim := assertionJSON{Assertion: a.Text, Result: result(a).String(), Points: a.Points, Why: s.unmet(a)}
		if a.Standing == document.Passed {
			claim.Result = "met"
		}
		if run := s.Shown[i]; run != nil {
			claim.Run = run.Object()
		}
		d.Assertions = append(d.Assertions, claim)
	}
	return d
}

// add adds the outcome for a law at the point.
func (p *pointJSON) add(l *Law, c *Cell) {
	if p.Problem != "" {
		return
	}
	state := stateJSON{c.State.String(), c.Counts, []causeJSON{}}
	for _, f := range c.Causes {
		state.Causes = append(state.Causes, causeJSON{f.Cause.String(), f.Runs, f.First})
	}
	if p.Laws == nil {
		p.Laws = map[checker.Law]stateJSON{}
	}
	p.Laws[l.Law] = state
}

// valuesAt returns a point's values, keyed by axis.
func (s *Report) valuesAt(levels []Level) map[string]string {
	values := map[string]string{}
	for i, l := range levels {
		values[s.Axes[i].Name] = l.Text
	}
	return values
}

func (s *Report) lawJSON(l *Law) sweptLawJSON {
	d := sweptLawJSON{[]edgeJSON{}, []lineJSON{}}
	for _, e := range l.Edges {
		edge := edgeJSON{s.Axes[e.Axis].Name, s.valuesAt(e.Last.Levels), e.Before.String(), s.valuesAt(e.First.Levels),
			e.After.String(), e.Exact, edgeCause(e).Cause.String(), s.Repeats[e]}
		d.Edges = append(d.Edges, edge)
	}
	for i := range l.Lines {
		along := &l.Lines[i]
		name := s.Axes[along.Axis].Name
		one := lineJSON{Along: name, Monotone: along.monotone(), Words: along.Words(name), Stretches: []stretchJSON{}}
		if along.Other != nil {
			one.At = along.Other.Text
		}
		for _, stretch := range along.Stretches {
			one.Stretches = append(one.Stretches,
				stretchJSON{stretch.State.String(), stretch.From.Text, stretch.To.Text, stretch.At.Text,
					stretch.Violated, stretch.Runs})
		}
		d.Lines = append(d.Lines, one)
	}
	return d
}
