package search

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// leastProbability returns a lower bound on the probability that a plan consists of one fault: the delay of one
// particular request or answer. To draw such a fault, the search first chooses one of the classes of requests, and then
// one of the requests in this class. The formula is in the README, and uses the numbers in the mix. Its first three
// factors are the same for any single fault that names a request.
func leastProbability(s *Plans, requests, classes int) float64 {
	m := s.scenario.Mix
	weights := 0
	for _, w := range m.Weights {
		weights += w
	}
	numbers := float64(m.Most - m.Fewest + 1)
	kind := float64(m.Weights[nemesis.DelayMessage]) / float64(2*weights)
	return (1 - float64(m.Guided)/100) / numbers * kind * float64(m.Aimed) / 100 / float64(classes*requests) / 2
}

// leastUntil returns a lower bound on the probability that a delayed message arrives at a given instant. instants is
// the number of instants after the message was sent.
func leastUntil(instants int) float64 { return 1 / float64(6*instants) }

// strike is the delay of a message in the fault-free run. If until is 0, it stands for delays of any length.
type strike struct {
	message string
	until   time.Duration
}

// TestTheBoundIsKept checks that plans aimed at one fault-free run delay each of its messages often enough. For each
// request and answer in that run, it counts the plans whose only fault delays that message. If the mix draws only such
// faults, it also counts the plans for each time of arrival. No count may be significantly below the number that
// leastProbability predicts (see holdTo).
func TestTheBoundIsKept(t *testing.T) {
	testkit.ThoroughOnly(t)
	for _, test := range []struct {
		mix      string
		plans    int
		instants bool
	}{
		{"faults: 1..5, aimed: 50%", 130_000, false},
		{"faults: 1..3, aimed: 100%, swarm: off, weights: {delay message: 1, pause: 3, break: 1}", 30_000, false},
		{"faults: 1, aimed: 100%, weights: {delay message: 1}", 100_000, true},
	} {
		p, err := NewPlans(parsed(t, `name: bound
servers: {redis: 1}
clients: 2
lock: {protocol: set-nx-px, ttl: 1s, retry: {delay: 20ms}}
work: {cycles: 1, hold: 20ms}
mix: {`+test.mix+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.look(p.of(calm, nil))
		var a aim
		if a.at(r, err); len(a.kinds) < 3 || err != nil {
			t.Fatal(a.kinds, err)
		}
		counts := map[strike]int{}
		for seed := range uint64(test.plans) {
			faults := p.generator.Draw(seed)
			p.turn(faults, archer{&a, sim.NewStream(seed, "aim"), p.scenario.FromLibrary()})
			if len(faults) != 1 || faults[0].Kind != nemesis.DelayMessage || !faults[0].Trigger.Message.Named() {
				continue
			}
			counts[strike{message: heldUp(&faults[0])}]++
			if test.instants {
				counts[strike{heldUp(&faults[0]), faults[0].By}]++
			}
		}
		a.holdTo(t, p, counts, test.plans, test.instants)
	}
}

// heldUp returns a string that identifies the message that a fault delays.
func heldUp(f *nemesis.Fault) string {
	return fmt.Sprint(f.Target, " ", f.Peer, " ", f.Trigger.Message.Nth, f.Trigger.Message.Command)
}

// holdTo checks how often each message was delayed. The count may be at most four standard deviations below what
// leastProbability predicts.
func (a *aim) holdTo(t *testing.T, p *Plans, counts map[strike]int, plans int, instants bool) {
	hold := func(what strike, least float64) {
		want := least * float64(plans)
		if got := float64(counts[what]); got < want-4*math.Sqrt(want) || want < 10 {
			t.Errorf("%v: %.0f times in %d plans, not %.1f", what, got, plans, want)
		}
	}
	for _, class := range a.kinds {
		for i := range class {
			for _, answer := range []bool{false, true} {
				f := class[i].Strike(nemesis.Fault{Kind: nemesis.DelayMessage, By: 1}, answer)
				least := leastProbability(p, len(class), len(a.kinds))
				hold(strike{message: heldUp(&f)}, least)
				if !instants {
					continue
				}
				var after []time.Duration
				for _, instant := range a.instants {
					if d := instant - class[i].Left.Duration(); d > 0 {
						after = append(after, d)
					}
				}
				for _, d := range after {
					hold(strike{heldUp(&f), d}, least*leastUntil(len(after)))
				}
			}
		}
	}
}

// The percentage of guided plans (variations of earlier plans) is at most the percentage in the mix. All other plans
// are drawn independently of other runs.
func TestMostPlansAreDrawnFreely(t *testing.T) {
	testkit.ThoroughOnly(t)
	s := parsed(t, aimedAt)
	s.Mix.Guided = 30
	p, err := NewGuidedPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	q, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	const n = together
	for seed := range uint64(n) {
		if p.Plan(seed).String() == q.drawn(seed).String() {
			own++
		}
	}
	if least := 0.7 * n; float64(own) < least-4*math.Sqrt(least) || own > n-10 {
		t.Errorf("%d of %d plans were drawn", own, n)
	}
}
