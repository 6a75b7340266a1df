package homemade

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Keeps runs a sound lock under a family of faults. It reports a test error for each violation of the promise.
func (l *SoundLock) Keeps(t *testing.T, p Promise, d Dress, dial Dial, seeds int) {
	t.Helper()
	c := l.Config(d, dial)
	p.strike(&c)
	c.Laws, c.Seeds, c.SkipTrial = p.Laws, seeds, true
	keeps(t, c)
}

// keeps checks that a lock keeps the promises of a Config. It reports each violation as a test error.
func keeps(t *testing.T, c locktest.Config) {
	t.Helper()
	r, ok := locktest.Explore(t, c)
	if !ok {
		return
	}
	for _, b := range r.Breaches {
		t.Errorf("%s is broken: %s, in %d of %d runs\nseed %d: %s", b.Law, b.Cause, b.Runs, r.Runs, b.Seed, b.Story)
	}
	judgeable(t, r)
}

// strike makes a Config draw random faults from the family. If the family has no faults, the runs do not have any
// either.
func (f *Family) strike(c *locktest.Config) {
	if c.Faults, c.Without = f.Faults, f.Without; f.Faults == nil {
		c.Plan = []string{}
	}
}

// Reports runs the lock as s describes, with at least the given number of seeds. It fails the test if the violation is
// not reported with its cause and the expected clients. It also fails the test if there is any other violation that
// does not follow from the lock's mistake.
func (l *BrokenLock) Reports(t *testing.T, s Showing, d Dress, dial Dial, seeds int) {
	t.Helper()
	c := l.Config(d, dial)
	c.Plan, c.Clients, c.Cycles, c.Hold = append([]string{}, s.Plan...), s.Clients, s.Cycles, s.Hold
	c.Laws, c.Seeds, c.SkipTrial = checker.Laws, max(s.Seeds, seeds), true
	r, ok := locktest.Explore(t, c)
	if !ok {
		return
	}
	judgeable(t, r)
	shown := 0
	for _, b := range r.Breaches {
		if !s.is(b) {
			l.follows(t, r, b)
			continue
		}
		shown += b.Runs
		for _, wrong := range s.untrue(b.Story) {
			t.Errorf("%s in: %s", wrong, b.Story)
		}
	}
	if shown == 0 || s.Seeds == 0 && shown < r.Runs {
		t.Errorf("%s: %s, in %d of %d runs: %s", s.Law, s.Cause, shown, r.Runs, s.Why)
	}
}

// Finds runs a broken lock under a family of random faults. It fails the test if the runs do not show any violation, or
// show one that does not follow from the lock's mistake.
func (l *BrokenLock) Finds(t *testing.T, f Family, d Dress, dial Dial, seeds int) {
	t.Helper()
	c := l.Config(d, dial)
	f.strike(&c)
	c.Hold, c.Laws, c.Seeds, c.SkipTrial = l.Hold, locktest.LeaseLaws, seeds, true
	if l.Fences {
		c.Laws = locktest.FencedLaws
	}
	r, ok := locktest.Explore(t, c)
	if !ok {
		return
	}
	judgeable(t, r)
	if len(r.Breaches) == 0 {
		t.Errorf("nothing was broken in %d runs: %s", r.Runs, l.Mistake)
	}
	for _, b := range r.Breaches {
		l.follows(t, r, b)
	}
}

// judgeable fails the test if some runs could not be judged, if two runs with the same seed differed, or if the lock
// sent requests that are not simulated.
func judgeable(t *testing.T, r *locktest.Report) {
	t.Helper()
	for _, f := range r.Failures {
		t.Errorf("seed %d: %s", f.Seed, f.Text)
	}
	if len(r.DifferingSeeds) > 0 {
		t.Errorf("each of these seeds gave two different runs: %v", r.DifferingSeeds)
	}
	for name := range r.UnsimulatedRequests {
		t.Errorf("%s is not simulated", name)
	}
}

// follows fails the test if a violation does not follow from the lock's mistake. It accepts all violations of
// mutual-exclusion and resource-safety: no lease can uphold these laws, so the faults alone may be to blame.
func (l *BrokenLock) follows(t *testing.T, r *locktest.Report, b locktest.Breach) {
	t.Helper()
	follows := b.Law == checker.MutualExclusion || b.Law == checker.ResourceSafety ||
		slices.ContainsFunc(l.Shows, func(s Showing) bool { return s.is(b) }) ||
		slices.ContainsFunc(l.Also, func(w Way) bool { return w.is(b) })
	if !follows || b.Cause.Kind == checker.CauseNotRecorded {
		t.Errorf("%s was broken in %d of %d runs (%s), which the lock's deliberate mistake does not explain\n"+
			"seed %d: %s", b.Law, b.Runs, r.Runs, b.Cause, b.Seed, b.Story)
	}
}

func (w Way) is(b locktest.Breach) bool {
	return b.Law == w.Law && b.Cause == w.Cause
}

// acted finds the client that, according to an explanation, changed a key. owned finds the client that the key belonged
// to.
var (
	acted = regexp.MustCompile(`(?:a request (?:of|from)|overwritten at \S+ s by) (client-\d)`)
	owned = regexp.MustCompile(`(?:it belonged to|the key of) (client-\d)`)
)

// untrue returns the errors in a story that explains a violation: a wrong or missing client, forbidden text, or missing
// text.
func (s *Showing) untrue(story string) (wrong []string) {
	check := func(what string, at *regexp.Regexp, want string) {
		m := at.FindStringSubmatch(story)
		switch {
		case want == "":
		case m == nil && !strings.Contains(strings.ToLower(story), want):
			wrong = append(wrong, want+" is not named")
		case m != nil && !regexp.MustCompile("^"+want+"$").MatchString(m[1]):
			wrong = append(wrong, m[1]+" is named as "+what+" in place of "+want)
		}
	}
	check("who changed the key", acted, s.By)
	check("its owner", owned, s.Of)
	for _, words := range s.Never {
		if strings.Contains(story, words) {
			wrong = append(wrong, fmt.Sprintf("%q is untrue", words))
		}
	}
	for _, words := range s.Says {
		if !strings.Contains(story, words) {
			wrong = append(wrong, fmt.Sprintf("%q is missing", words))
		}
	}
	return wrong
}
