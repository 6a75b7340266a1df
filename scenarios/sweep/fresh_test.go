package sweep

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// freshSeeds is the first of a range of seeds that the sweeps in these tests do not use.
const freshSeeds = 1 << 40

// TestFreshSeedsConfirmWhatASweepSays uses new seeds to check what a sweep's sentence says about a law. It performs
// runs at the values that the sentence names: the value up to which the law is always broken, the value from which it
// is safe, and a value at which it is broken in some runs. The number of new runs that contradict the sentence must be
// statistically compatible with the numbers in the sentence.
func TestFreshSeedsConfirmWhatASweepSays(t *testing.T) {
	const threeRestarts = "faults.1.restart,faults.2.restart,faults.3.restart="
	sharp, blurred := 0, 0
	for i, c := range []sweeping{
		{scenario: "testdata/majority-forgets.yaml", vary: []string{threeRestarts + "0s..6s/500ms"}},
		{scenario: "testdata/hasty-server.yaml", vary: []string{"by=0s..4s/500ms"}},
		{scenario: "kleppmann-gc-pause", vary: []string{"for=1s..15s/7s"},
			set: []string{"network.delay=1ms", "lock.retry.delay=100ms"}},
		{scenario: "no-elapsed-check", vary: []string{"for=0s..30s/5s"}},
		{scenario: "testdata/slow-holder.yaml", vary: []string{"ppm=-30000ppm..0ppm/5000ppm"}},
		{scenario: worstCase, set: []string{"lock.ttl=1s"}, vary: []string{"restart=0s..1200ms/200ms"}},
		{scenario: worstCase, vary: []string{"restart=300ms..900ms/300ms", "lock.ttl=500ms..700ms/200ms"}},
		{scenario: "delayed-restart", vary: []string{"restart=0s..12s/2s"}},
		{scenario: "restart-everysec", vary: []string{"faults.1.at=0s..2s/500ms"}},
		{scenario: "kleppmann-gc-pause", vary: []string{"for=1s..15s/2s"}},
		{scenario: "kleppmann-clock-jump", vary: []string{"by=0s..30s/5s"}},
		{scenario: "failover-loses-lock", vary: []string{"by=0s..2s/500ms"},
			set: []string{"faults.1=delay redis-1 -> redis-1-replica-1 by 1s at 0s for 10s"}},
		{scenario: "drift-allowance",
			vary: []string{"faults.1.ppm,faults.2.ppm,faults.3.ppm=0ppm..30000ppm/10000ppm"}},
		{scenario: "extension-without-check", vary: []string{"ttl=2s..20s/3s"}},
	} {
		if i >= testkit.Size(3, 3, 14) {
			break
		}
		fresh := testkit.Size(20, 200, 1000)
		t.Run(c.scenario, func(t *testing.T) {
			c.seeds, c.sure = 20, testkit.Size(12, 100, 300)
			s := c.run(t)
			for _, law := range s.Laws {
				for _, l := range s.lines(law) {
					for k := range l.Stretches {
						st := &l.Stretches[k]
						if len(l.Stretches) == 1 || st.State == Unjudged || st.State == Invalid {
							continue
						}
						switch {
						case st.State == Chance:
							blurred++
						case k > 0 && l.Stretches[k-1].State != Chance:
							sharp++
						}
						if st.Runs < s.Sure {
							t.Errorf("%s: %s, of %d runs only at %s", law, l.Words(""), st.Runs, st.At.Text)
						}
						if odd := confirm(t, s, st, law, fresh); odd != "" {
							t.Errorf("%s: %s, but %s", law, l.Words(s.Axes[l.Axis].Name), odd)
						}
					}
				}
			}
		})
	}
	t.Logf("%d sharp edges, %d zones of chance", sharp, blurred)
	if blurred < 2 || sharp < 1 || testkit.Full() && blurred < 10 {
		t.Errorf("%d sharp edges and %d zones of chance show little", sharp, blurred)
	}
}

// confirm performs runs with fresh seeds at one value of a stretch, st.At. (A stretch is a range of values with the
// same outcome.) It returns "" if the results are compatible with the stretch, and otherwise a message that says what
// contradicts it.
func confirm(t *testing.T, s *Sweep, st *Stretch, law checker.Law, fresh int) string {
	t.Helper()
	o := s.Options
	o.From, o.Seeds, o.Sure = freshSeeds, fresh, fresh
	w := &sweeper{Sweep: &Sweep{subject: s.subject, Options: o}, ctx: context.Background()}
	p := &Point{Levels: st.shown.Levels}
	if _, err := w.runMore(p, upTo(fresh), nil); err != nil {
		t.Fatal(err)
	}
	violated := p.Laws.Of(law).Violated
	n, told := float64(violated), fmt.Sprintf("of %d fresh seeds %d break it at %s", fresh, violated, st.At.Text)
	// beyond returns an upper bound on the number of runs that break the law if each run does so with the given
	// probability. The probability that the number exceeds the bound is below 1 in 10,000.
	beyond := func(chance float64) float64 {
		mean := chance * float64(fresh)
		return mean + 4*math.Sqrt(mean*(1-chance)) + 1
	}
	bound := campaign.UpperBound(st.Runs)
	share := float64(st.Violated) / float64(st.Runs)
	switch {
	case st.State == Safe && n > beyond(bound), st.State == Broken && float64(fresh)-n > beyond(bound):
		return told
	case st.State == Chance:
		spread := 4*math.Sqrt((share*(1-share)+bound)*(1/float64(st.Runs)+1/float64(fresh))) + bound
		if math.Abs(n/float64(fresh)-share) > spread {
			return told
		}
	}
	return ""
}

// TestEdgesAreThoseOfAllValues compares the search for edges with a slow one that runs every value with all seeds. If
// the outcome depends on the seed, there are two edges, with some values between them. Otherwise there is one edge.
func TestEdgesAreThoseOfAllValues(t *testing.T) {
	sure := testkit.Size(5, 20, 60)
	for delays, between := range map[string]bool{"network.delay=1ms": false, "network.delay=200us..2ms": true} {
		c := sweeping{scenario: "testdata/hasty-server.yaml", set: []string{delays}, seeds: 3, sure: sure,
			vary: []string{"by=1980ms..2080ms/100ms"}}
		s := c.run(t)
		w := &sweeper{Sweep: s, ctx: context.Background()}
		var states []State
		for n := int64(1980); n <= 2080; n++ {
			p := &Point{Levels: []Level{s.Axes[0].Keys[0].number(n * 1e6)}}
			if _, err := w.runMore(p, upTo(s.Sure), nil); err != nil {
				t.Fatal(err)
			}
			states = append(states, p.State(checker.LeaseExclusion))
		}
		want, got := changes(states), []flip[State]{}
		for _, e := range s.Edges {
			if e.Law == checker.LeaseExclusion {
				got = append(got, flip[State]{e.Last.Levels[0].N/1e6 - 1980, e.First.Levels[0].N/1e6 - 1980, e.Before,
					e.After, e.Exact})
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || (len(want) == 2) != between || len(want) == 0 {
			t.Errorf("%s: found %v, there are %v", delays, got, want)
		}
	}
}
