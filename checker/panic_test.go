package checker

import (
	"math/rand/v2"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestNoHistoryMakesTheCheckerPanic checks that the checker does not panic on histories in which events were dropped,
// repeated, swapped or emptied.
func TestNoHistoryMakesTheCheckerPanic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var c Checker
	for round := range testkit.Size(1_000, 3_000, 30_000) {
		h := busy(t, 60)
		if round%3 == 0 {
			g := newGossip(uint64(round), 14)
			g.anything(30)
			h = g.h
			h.Header.Quorum, h.Header.Bound, h.Header.Slack = 1, 3, 2
		}
		for range 1 + r.IntN(12) {
			i, j := r.IntN(len(h.Events)), r.IntN(len(h.Events))
			switch r.IntN(5) {
			case 0:
				h.Events[i] = h.Events[j]
			case 1:
				h.Events[i], h.Events[j] = h.Events[j], h.Events[i]
			case 2:
				h.Events[i] = history.Event{Time: history.Never, F: h.Events[j].F, Type: history.OK, Lock: "orders",
					Process: "client-1"}
			case 3:
				h.Events[i].Grant, h.Events[i].Attempt, h.Events[i].Of = nil, "", ""
			case 4:
				h.Events[i].Grant = &history.Grant{Granted: history.Never, Until: -history.Never}
			}
		}
		c.Check(h)
		Measure(h)
		Evidence(h, 1)
	}
}

func FuzzCheck(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed+1)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := newGossip(a, b)
		g.anything(30)
		for _, finding := range Check(g.h).Findings {
			consistent(t, "random", finding)
			if finding.Law == MutualExclusion && finding.Outcome == Undecided {
				t.Errorf("the judges disagree: %s", finding.Explanation)
			}
		}
	})
}
