// Package campaigntest provides what tests of searches that can be divided or interrupted need: a campaign.Hands, and a
// context.
//
// Goals: workers share nothing with the search except the data that they receive and return. Parts arrive in any order,
// in any size and sometimes repeatedly, as they can from other machines.
//
// Non-goals: other machines, and how work reaches them.
package campaigntest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// HoweverItIsDivided checks that a search gives the same result no matter how its jobs are divided among workers: into
// 1, 2 or 7 parts, or into many small ones. The parts are carried out in an arbitrary order, and some of them twice.
// search performs the whole search with the given campaign.Hands, or in this process if they are nil. It returns the
// result as the command prints it.
func HoweverItIsDivided(t *testing.T, worker func() (campaign.Worker, error), search func(campaign.Hands) []byte) {
	t.Helper()
	want := search(nil)
	for _, parts := range []int{1, 2, 7, 0} {
		hands := &Strangers{T: t, Worker: worker, Parts: parts}
		if got := search(hands); !bytes.Equal(got, want) {
			t.Errorf("divided into %d parts (0: into many):\n%s\nby one process:\n%s", parts, got, want)
		}
		if hands.stages == nil {
			t.Error("nothing was divided")
		}
	}
}

// Printed returns a document in each form that commands print: as JSON, as a page and as text.
func Printed(t *testing.T, d *document.Document) []byte {
	t.Helper()
	all, err := d.JSON("test")
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.NewBuffer(all)
	if err := errors.Join(d.HTML(b, "page.html"), d.Text(b, document.TextOptions{Width: 100, All: true})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Strangers is a campaign.Hands that divides a stage into portions. A new worker carries out each portion. The portions
// are carried out in an arbitrary order, and some of them twice.
type Strangers struct {
	T      *testing.T
	Worker func() (campaign.Worker, error) // creates a new worker
	Parts  int                             // number of portions of each stage; 0: portions of 1 to 5 positions
	// Same reports whether two results for the same jobs are equal, apart from details that may differ, such as the
	// time taken. If Same is nil, the results must be equal byte for byte.
	Same func(a, b []byte) bool
	// Change, if set, changes a part before the search receives it.
	Change func(campaign.Stage, campaign.Part) campaign.Part

	draws  *rand.Rand
	stages map[string]bool
}

// Do carries out all of a stage's portions, and calls take with the results.
func (h *Strangers) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	if h.stages == nil {
		h.draws, h.stages = rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	}
	if h.stages[s.Name] || s.Size < 1 || s.Portion < 1 {
		h.T.Errorf("stage %s: begun twice, "+
			"or its size (%d) or the size of its portions (%d) is below 1", s.Name, s.Size, s.Portion)
	}
	h.stages[s.Name] = true
	var parts []campaign.Part
	for first := uint64(0); first < s.Size; {
		size := min(1+h.draws.Uint64N(5), s.Size-first)
		if n := uint64(h.Parts); n > 0 {
			size = min((s.Size+n-1)/n, s.Size-first)
		}
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

// Nothing is a campaign.Hands that returns neither results nor an error.
type Nothing struct{}

// Do does nothing.
func (Nothing) Do(context.Context, campaign.Stage, func(campaign.Part) error) error { return nil }

// DoneAfter returns a context that is done after the given number of calls to Err.
func DoneAfter(calls int) context.Context { return &doneAfter{context.Background(), calls} }

type doneAfter struct {
	context.Context
	left int
}

func (d *doneAfter) Err() error {
	if d.left--; d.left < 0 {
		return context.Canceled
	}
	return nil
}

// made has a new worker carry out portion p, and returns the result. One time in ten, it has a second new worker do the
// same, and fails the test if the two results differ.
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
		h.T.Errorf("%s: positions %d to %d had a different result the second time:\n%s\n%s", s.Name, p.First,
			p.First+p.Size-1, again, value)
	}
	return value, err
}
