// Package campaigntest holds hands for tests of searches that can be divided.
//
// Goals: what the search shares with its workers is what travels, and order, portions and repetition are as other
// machines may have them. Non-goals: machines, and how work travels.
package campaigntest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Strangers make each portion of a stage, of 1 to 5 positions, with a worker of its own, in another order, and some of
// them twice.
type Strangers struct {
	T      *testing.T
	Worker func() (campaign.Worker, error) // a new one
	// Same reports whether two values are equal in what has to be equal; nil: they must be the same to the byte.
	Same func(a, b []byte) bool
	// Change is what becomes of a part on its way; nil: nothing does.
	Change func(campaign.Stage, campaign.Part) campaign.Part

	draws  *rand.Rand
	stages map[string]bool
}

// Do makes a stage.
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
	for window := range slices.Chunk(parts, 4) { // so that little is made in vain if the stage ends early
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

// made is the value of a part.
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
