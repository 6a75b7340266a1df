// Package campaigntest provides a campaign.Hands for tests of searches that can be divided.
//
// Goals: workers share nothing with the search except the data that they receive and return. Parts arrive in any order,
// in any size and sometimes repeatedly, as they can from other machines. Non-goals: other machines, and how work
// reaches them.
package campaigntest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Strangers is a campaign.Hands that divides a stage into portions of 1 to 5 positions. Each portion is carried out by
// a new worker. The portions are carried out in an arbitrary order, and some of them twice.
type Strangers struct {
	T      *testing.T
	Worker func() (campaign.Worker, error) // creates a new worker
	// Same reports whether two results of the same positions are equal, apart from details that may differ, such as the
	// time that they took. If Same is nil, the results must be equal byte for byte.
	Same func(a, b []byte) bool
	// Change, if set, changes a part before the search receives it.
	Change func(campaign.Stage, campaign.Part) campaign.Part

	draws  *rand.Rand
	stages map[string]bool
}

// Do carries out all portions of a stage, and calls take with the results.
func (h *Strangers) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	if h.stages == nil {
		h.draws, h.stages = rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	}
	if h.stages[s.Name] || s.Size < 1 || s.Portion < 1 {
		h.T.Errorf("stage %s: a second one, or of size %d in portions of %d", s.Name, s.Size, s.Portion)
	}
	h.stages[s.Name] = true
	var parts []campaign.Part
	for first := uint64(0); first < s.Size; {
		size := min(1+h.draws.Uint64N(5), s.Size-first)
		parts = append(parts, campaign.Part{First: first, Size: size})
		first += size
	}
	for window := range slices.Chunk(parts, 4) { // if the stage ends early, little work is wasted
		h.draws.Shuffle(len(window), func(i, j int) { window[i], window[j] = window[j], window[i] })
	}
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if p.Value, err = h.made(ctx, s, p); err != nil {
			return err
		}
		if h.Change != nil {
			p = h.Change(s, p)
		}
		if err := take(p); err != nil {
			return err
		}
	}
	return nil
}

// made returns the result of the positions of p, as carried out by a new worker. Once in ten times, a second new worker
// carries them out as well, and the test fails if the two results differ.
func (h *Strangers) made(ctx context.Context, s campaign.Stage, p campaign.Part) ([]byte, error) {
	make := func() ([]byte, error) {
		w, err := h.Worker()
		if err != nil {
			return nil, err
		}
		return w.Make(ctx, s, p.First, p.Size)
	}
	value, err := make()
	if err != nil || h.draws.IntN(10) > 0 {
		return value, err
	}
	same := h.Same
	if same == nil {
		same = bytes.Equal
	}
	again, err := make()
	if err == nil && !same(again, value) {
		h.T.Errorf("%s: positions %d to %d came out otherwise the second time:\n%s\n%s", s.Name, p.First,
			p.First+p.Size-1, again, value)
	}
	return value, err
}
