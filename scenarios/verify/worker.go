package verify

// The code in this file encodes stages for workers, and the results of positions, as JSON. Decoding restores exactly
// the same values.

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
	return &worker{grower: newGrower(context.Background(), v)}, nil
}

type worker struct {
	grower *grower
	order  campaign.Stage // the latest stage that was read
	stage  stage          // the stage decoded from order
}

// Make performs the runs of a range of positions of a stage. The range begins at first and has the given size. Make
// returns a JSON list of the results.
func (w *worker) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	if err := w.read(s); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if size < 1 || size > s.Size || first > s.Size-size {
		return nil, fmt.Errorf("%s: %d positions from position %d do not exist: "+
			"there are %d in all", s.Name, size, first, s.Size)
	}
	w.grower.ctx = ctx
	list := make([]*growth, size)
	for i := range list {
		var err error
		if list[i], err = w.grower.position(&w.stage, int(first)+i); err != nil {
			return nil, err
		}
	}
	return json.Marshal(list)
}

// read decodes stage s, unless s is the stage that was decoded last.
func (w *worker) read(s campaign.Stage) error {
	if s.Size == w.order.Size && s.Name == w.order.Name && bytes.Equal(s.Spec, w.order.Spec) {
		return nil
	}
	v, st := w.grower.v, stage{}
	if err := decode(s.Spec, &st); err != nil {
		return err
	}
	wrong := func(b branch) bool { return !v.has(b.assignment) }
	if st.Faults < 0 || st.Faults > v.Options.Faults || slices.ContainsFunc(st.Level, wrong) ||
		st.name() != s.Name || uint64(v.size(&st)) != s.Size {
		return fmt.Errorf("it is not a stage of the verification of %s with up to %d faults", v.Scenario.Name,
			v.Options.Faults)
	}
	w.order, w.stage = s, st
	return nil
}

// order encodes a stage for Options.Hands.
func (v *Verification) order(st *stage) (campaign.Stage, error) {
	spec, err := json.Marshal(st)
	size := uint64(v.size(st))
	return campaign.Stage{Name: st.name(), Spec: spec, Size: size, Portion: 1 + size/mostPortions}, err
}

// growths decodes and checks the results of the positions in a part.
func (v *Verification) growths(s campaign.Stage, p campaign.Part) ([]*growth, error) {
	broken := func(how string) error {
		return fmt.Errorf("%s: the result of %d positions from position %d %s", s.Name, p.Size, p.First, how)
	}
	if p.Size > s.Size || p.First > s.Size-p.Size {
		return nil, broken("is beyond the last")
	}
	if p.Lost != "" {
		list := make([]*growth, p.Size)
		for i := range list {
			list[i] = &growth{Tally: newTally(v.Scenario.Promise.Laws), lost: p.Lost}
		}
		return list, nil
	}
	var list []*growth
	if err := decode(p.Value, &list); err != nil {
		return nil, broken("cannot be read: " + err.Error())
	}
	if uint64(len(list)) != p.Size {
		return nil, broken("is of another number")
	}
	if slices.ContainsFunc(list, func(g *growth) bool { return !v.fits(g) }) {
		return nil, broken("is of another verification")
	}
	return list, nil
}

// fits reports whether g can be a result of v, i.e. whether it has the laws of v and its assignments of delays.
func (v *Verification) fits(g *growth) bool {
	same := func(l campaign.Law, law checker.Law) bool { return l.Law == law }
	return g != nil && slices.EqualFunc(g.Laws, v.Scenario.Promise.Laws, same) &&
		(g.found == nil || v.has(g.found.Assignment)) &&
		!slices.ContainsFunc(g.next, func(b branch) bool { return !v.has(b.assignment) })
}

// has reports whether v has an assignment of delays with this number.
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
