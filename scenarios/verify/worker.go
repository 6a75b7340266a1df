package verify

// The code in this file encodes stages for workers, and the results for positions (jobs), as JSON. Decoding restores
// exactly the same values.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/sim"
)

// NewWorker returns a worker for the verification of s with these options. It returns the same errors as Scenario.
func NewWorker(s *scenarios.Scenario, o Options) (campaign.Worker, error) {
	v, err := begun(s, o)
	if err != nil {
		return nil, err
	}
	g := newGrower(context.Background(), v)
	return campaign.NewWorker(func(name string, spec func(any) error) (campaign.Jobs, error) {
		st, err := v.read(name, spec)
		return campaign.Jobs{Size: v.size(st), Do: func(ctx context.Context, position int) (any, error) {
			g.ctx = ctx
			return g.position(st, position)
		}}, err
	}), nil
}

// read decodes one of the verification's stages.
func (v *Verification) read(name string, spec func(any) error) (*stage, error) {
	st := new(stage)
	if err := spec(st); err != nil {
		return st, err
	}
	wrong := func(b branch) bool { return !v.has(b.assignment) }
	if st.Faults < 0 || st.Faults > v.Options.Faults || slices.ContainsFunc(st.Level, wrong) || st.name() != name {
		return st, fmt.Errorf("it is not a stage of the verification of %s with up to %d faults", v.Scenario.Name,
			v.Options.Faults)
	}
	return st, nil
}

// fits reports whether g can be one of v's results: it must count the outcomes of v's laws, and use only delay
// assignments that v has.
func (v *Verification) fits(_ int, g *growth) bool {
	same := func(l campaign.Law, law checker.Law) bool { return l.Law == law }
	return g != nil && slices.EqualFunc(g.Laws, v.Scenario.Promise.Laws, same) &&
		(g.found == nil || v.has(g.found.Assignment)) &&
		!slices.ContainsFunc(g.next, func(b branch) bool { return !v.has(b.assignment) })
}

// has reports whether v has a delay assignment with the given number.
func (v *Verification) has(assignment int) bool {
	return assignment >= 0 && assignment < len(v.Assignments)
}

// decode reads JSON into v and rejects unknown fields.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

type growthJSON struct {
	Tally Tally           `json:"tally"`
	Next  []branch        `json:"next,omitempty"`
	Found *Counterexample `json:"found,omitempty"`

	Missed []nemesis.Missed `json:"missed,omitempty"`
}

func (g *growth) MarshalJSON() ([]byte, error) {
	return json.Marshal(growthJSON{g.Tally, g.next, g.found, g.missed})
}

func (g *growth) UnmarshalJSON(text []byte) error {
	var j growthJSON
	err := decode(text, &j)
	g.Tally, g.next, g.found, g.missed = j.Tally, j.Next, j.Found, j.Missed
	return err
}

type branchJSON struct {
	Assignment int             `json:"assignment,omitempty"`
	Faults     []nemesis.Fault `json:"faults,omitempty"`
	Stands     float64         `json:"stands"`
	From       beginJSON       `json:"from,omitzero"`
}

type beginJSON struct {
	Index int         `json:"index"`
	At    sim.Time    `json:"at"`
	Last  openingJSON `json:"last"`
}

type openingJSON struct {
	Index  int             `json:"index"`
	Target sim.ProcessID   `json:"target,omitempty"`
	Peer   sim.ProcessID   `json:"peer,omitempty"`
	Number int             `json:"number,omitempty"`
	Answer nemesis.Message `json:"answer,omitzero"`
	Point  sim.Point       `json:"point,omitempty"`
	Pass   int             `json:"pass,omitempty"`
	Since  sim.Time        `json:"since"`
	At     sim.Time        `json:"at"`
}

func (b branch) MarshalJSON() ([]byte, error) {
	o := &b.from.last
	return json.Marshal(branchJSON{b.assignment, b.faults, b.stands, beginJSON{b.from.index, b.from.at,
		openingJSON{o.index, o.target, o.peer, o.number, o.answer, o.point, o.pass, o.since, o.at}}})
}

func (b *branch) UnmarshalJSON(text []byte) error {
	var j branchJSON
	err := decode(text, &j)
	o := &j.From.Last
	*b = branch{j.Assignment, j.Faults, begin{j.From.Index, j.From.At,
		opening{o.Index, o.Target, o.Peer, o.Number, o.Answer, o.Point, o.Pass, o.Since, o.At}}, j.Stands}
	return err
}
