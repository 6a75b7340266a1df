package homemade

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// seedsAsked is how many seeds FENCEPOST_HOMEMADE asks for: each lock is tried in each dress and under each family then,
// as at full size. It is a variable, not a flag, since the processes of the runs have the same variables.
var seedsAsked, _ = strconv.Atoi(os.Getenv("FENCEPOST_HOMEMADE"))

// thorough reports whether each lock is tried in each dress under each family by itself.
func thorough() bool { return testkit.Full() || seedsAsked > 0 }

// seeds is how many seeds each lock is tried with under random faults.
func seeds() int { return cmp.Or(seedsAsked, testkit.Size(8, 200)) }

// dressesOf are those that the i-th lock is tried in: every day one of them.
func dressesOf(i int) []Dress {
	if thorough() {
		return Dresses
	}
	return Dresses[i%len(Dresses):][:1]
}

// promisesOf are the promises of a lock, each of its own, or every day that of all faults at once under which it keeps
// the same laws.
func promisesOf(l *SoundLock) []Promise {
	if thorough() || len(l.Promises) < 2 {
		return l.Promises
	}
	all := l.Promises[1]
	all.Name = "faults"
	for _, p := range l.Promises[2:] {
		if slices.Equal(p.Laws, all.Laws) {
			all.Faults = slices.Concat(all.Faults, p.Faults)
			all.Without = slices.Concat(all.Without, p.Without)
		}
	}
	return []Promise{all}
}

// TestSoundLocksKeepTheirPromises under each family of faults, however they are written down.
func TestSoundLocksKeepTheirPromises(t *testing.T) {
	for i, l := range SoundLocks() {
		for _, d := range dressesOf(i) {
			for _, p := range promisesOf(&l) {
				t.Run(l.Name+"/"+d.Name+"/"+p.Name, func(t *testing.T) {
					if slices.Contains(p.Faults, locktest.Clocks[0]) && d.Name == "absolute" {
						t.Skip("the expiry is the client's time of day, and the server's is another")
					}
					c := l.Config(d, Plain)
					c.Faults, c.Without, c.Laws, c.Seeds, c.Untried = p.Faults, p.Without, p.Laws, seeds(), true
					c.Care.ChecksValidity, c.Care.StopsWhenTold = true, true
					if p.Faults == nil {
						c.Plan = []string{}
					}
					r, ok := locktest.Explore(t, c)
					if !ok {
						return
					}
					for _, b := range r.Breaches {
						t.Errorf("%s is broken: %s, in %d of %d runs\nseed %d: %s", b.Law, b.Cause, b.Runs, r.Runs,
							b.Seed, b.Story)
					}
					judgeable(t, r)
				})
			}
		}
	}
}

// judgeable fails the test for runs that could not be judged, or that differed from themselves.
func judgeable(t *testing.T, r *locktest.Report) {
	t.Helper()
	for _, f := range r.Failures {
		t.Errorf("seed %d: %s", f.Seed, f.Text)
	}
	if len(r.Differing) > 0 {
		t.Errorf("the runs of these seeds differ from each other: %v", r.Differing)
	}
	for name := range r.Unsimulated {
		t.Errorf("%s is not simulated", name)
	}
}

// TestMistakesAreShown by the faults that it takes, with the law, the cause and the client that follow from them.
func TestMistakesAreShown(t *testing.T) {
	for i, l := range BrokenLocks() {
		for _, d := range dressesOf(i) {
			for _, s := range l.Shows {
				t.Run(l.Name+"/"+d.Name+"/"+string(s.Law), func(t *testing.T) {
					c := l.Config(d, Plain)
					c.Plan, c.Clients, c.Cycles, c.Hold = s.plan(d), s.Clients, s.Cycles, s.Hold
					c.Laws, c.Seeds, c.Untried = checker.Laws, max(s.Seeds, 3), true
					c.Care.Fences = l.Fences
					r, ok := locktest.Explore(t, c)
					if !ok {
						return
					}
					judgeable(t, r)
					shown := 0
					for _, b := range r.Breaches {
						switch {
						case b.Law == s.Law && s.Way.is(b):
							shown += b.Runs
							for _, wrong := range s.untrue(b.Story) {
								t.Errorf("%s in: %s", wrong, b.Story)
							}
						case b.Cause.Kind == checker.CauseNotRecorded || !l.explains(b):
							t.Errorf("%s is broken: %s, in %d of %d runs, which does not follow from the mistake\nseed %d: %s",
								b.Law, b.Cause, b.Runs, r.Runs, b.Seed, b.Story)
						}
					}
					if shown == 0 || s.Seeds == 0 && shown < r.Runs {
						t.Errorf("%s: %s, in %d of %d runs: %s", s.Law, s.Cause, shown, r.Runs, s.Why)
					}
				})
			}
		}
	}
}

// plan is what strikes in a showing.
func (s *Showing) plan(d Dress) []string {
	number := "2"
	if d.Hashed {
		number = "3" // the first EVALSHA is refused
	}
	plan := []string{}
	for _, f := range s.Plan {
		plan = append(plan, strings.ReplaceAll(f, "{give}", number))
	}
	return plan
}

func (w Way) is(b locktest.Breach) bool {
	return b.Law == w.Law && (b.Cause == w.Cause || w.Cause == anyCause && b.Cause.Kind != checker.CauseNotRecorded)
}

// explains reports whether a violation follows from the mistake. That of a law which no lease keeps may follow from the
// faults alone.
func (l *BrokenLock) explains(b locktest.Breach) bool {
	if b.Law == checker.MutualExclusion || b.Law == checker.ResourceSafety {
		return true
	}
	return slices.ContainsFunc(l.Shows, func(s Showing) bool { return s.Way.is(b) }) ||
		slices.ContainsFunc(l.Also, func(w Way) bool { return w.is(b) })
}

// acted finds who did something to a key, and owned whose that was.
var (
	acted = regexp.MustCompile(`(?:a request of|overwritten at \S+ s by) (client-\d)`)
	owned = regexp.MustCompile(`(?:it belonged to|the key of) (client-\d)`)
)

// untrue lists what a story says wrongly.
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
	check("the one that did it", acted, s.By)
	check("the owner", owned, s.Of)
	for _, words := range s.Never {
		if strings.Contains(story, words) {
			wrong = append(wrong, fmt.Sprintf("%q is untrue", words))
		}
	}
	return wrong
}

// TestMistakesAreFound by random faults, with no cause that does not follow from them.
func TestMistakesAreFound(t *testing.T) {
	if !thorough() {
		testkit.FullOnly(t)
	}
	for _, l := range BrokenLocks() {
		for _, d := range Dresses {
			for _, f := range l.Found {
				t.Run(l.Name+"/"+d.Name+"/"+f.Name, func(t *testing.T) {
					c := l.Config(d, Plain)
					c.Faults, c.Without, c.Laws, c.Seeds, c.Untried = f.Faults, f.Without, locktest.LeaseLaws, seeds(), true
					c.Care.ChecksValidity, c.Care.StopsWhenTold = true, true
					if c.Care.Fences = l.Fences; l.Fences {
						c.Laws = locktest.FencedLaws
					}
					if f.Faults == nil {
						c.Plan = []string{}
					}
					r, ok := locktest.Explore(t, c)
					if !ok {
						return
					}
					judgeable(t, r)
					if len(r.Breaches) == 0 {
						t.Errorf("nothing is broken in %d runs: %s", r.Runs, l.Mistake)
					}
					for _, b := range r.Breaches {
						if !l.explains(b) {
							t.Errorf("%s is broken: %s, in %d of %d runs, which does not follow from the mistake\nseed %d: %s",
								b.Law, b.Cause, b.Runs, r.Runs, b.Seed, b.Story)
						}
					}
				})
			}
		}
	}
}

// TestTrialPassesSoundLocks, however they are written down.
func TestTrialPassesSoundLocks(t *testing.T) {
	for _, l := range SoundLocks() {
		for _, d := range Dresses {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				if l.Late {
					t.Skip("the trial run has a release come late")
				}
				c := l.Config(d, Plain)
				c.Laws = l.Promises[0].Laws
				locktest.Try(t, c)
			})
		}
	}
}

// inside is set in the process in which TestTrialOfABrokenLock runs.
const inside = "FENCEPOST_HOMEMADE_TRIAL"

// TestTrialOfABrokenLock fails: TestTrialReportsMistakes reads what it prints.
func TestTrialOfABrokenLock(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("it is run by TestTrialReportsMistakes")
	}
	for _, l := range BrokenLocks() {
		for _, d := range Dresses {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				c := l.Config(d, Plain)
				c.Laws = checker.Laws
				locktest.Try(t, c)
			})
		}
	}
}

// TestTrialReportsMistakes that show without a fault, and no others.
func TestTrialReportsMistakes(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run", "^TestTrialOfABrokenLock$", "-test.v")
	command.Env = append(os.Environ(), inside+"=1")
	out, _ := command.CombinedOutput() // it fails
	said := map[string]string{}
	name := ""
	for _, line := range strings.Split(string(out), "\n") {
		if after, ok := strings.CutPrefix(line, "=== RUN   TestTrialOfABrokenLock/"); ok {
			name = after
		} else if text := strings.TrimSpace(line); name != "" && said[name] == "" && !strings.HasPrefix(text, "---") &&
			!strings.HasPrefix(text, "===") {
			_, said[name], _ = strings.Cut(text, ": ")
		}
	}
	for _, l := range BrokenLocks() {
		for _, d := range Dresses {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				first := said[l.Name+"/"+d.Name]
				if l.Trial == "" && first != "" || l.Trial != "" && !regexp.MustCompile("^"+l.Trial).MatchString(first) {
					t.Errorf("%q, want %q: %s", first, l.Trial, l.Mistake)
				}
			})
		}
	}
}

// TestEachMistakeIsOneOfASoundLock by its name.
func TestEachMistakeIsOneOfASoundLock(t *testing.T) {
	names := map[string]bool{}
	for _, l := range SoundLocks() {
		if names[l.Name] || l.Why == "" || len(l.Promises) == 0 {
			t.Errorf("%+v", l)
		}
		names[l.Name] = true
	}
	for _, l := range BrokenLocks() {
		if !names[l.Of] || names[l.Name] || l.Mistake == "" || len(l.Shows) == 0 {
			t.Errorf("%s: %s", l.Name, l.Mistake)
		}
	}
}
