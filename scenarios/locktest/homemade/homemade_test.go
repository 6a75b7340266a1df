package homemade

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// seedsAsked is the number of seeds in the environment variable FENCEPOST_HOMEMADE. If the variable is set, each lock
// is tested in every dress (see Dress) and under every family of faults, as in a full test run. It is not a flag,
// because worker processes inherit the test's environment but not its flags.
var seedsAsked, _ = strconv.Atoi(os.Getenv("FENCEPOST_HOMEMADE"))

// thorough reports whether each lock is tested in every dress (see Dress) and under every family of faults.
func thorough() bool { return testkit.Full() || seedsAsked > 0 }

// seeds returns how many seeds each lock is tested with under random faults.
func seeds() int { return cmp.Or(seedsAsked, testkit.Size(2, 4, 200)) }

// dressesOf returns the dresses in which to test the ith lock: all of them if the test is thorough, otherwise one.
func dressesOf(i int) []Dress {
	if thorough() {
		return Dresses
	}
	return Dresses[i%len(Dresses):][:1]
}

// promisesOf returns a lock's promises. The first one is about runs without faults. Unless the test is thorough, those
// of the others that have the same laws are merged, so that fewer runs are needed.
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

// TestSoundLocksKeepTheirPromises checks that each sound lock, in each dress (see Dress), keeps its promise under each
// family of faults.
func TestSoundLocksKeepTheirPromises(t *testing.T) {
	for i, l := range SoundLocks() {
		for _, d := range dressesOf(i) {
			for _, p := range promisesOf(&l) {
				t.Run(l.Name+"/"+d.Name+"/"+p.Name, func(t *testing.T) {
					testkit.OneIn(t, 12)
					if slices.Contains(p.Faults, locktest.Clocks[0]) && d.Name == "absolute" {
						t.Skip("the clocks differ, and the key expires at a time of the client's clock")
					}
					l.Keeps(t, p, d, Plain, seeds())
				})
			}
		}
	}
}

// TestRenewedLocksSurviveEachPause checks that locks do not break any of the LeaseLaws, no matter when a holder that
// renews its lock is paused. While paused, the holder can neither renew the lock nor announce its loss. Each lock is
// tested in three variants: it reports when its lease ends, it announces its loss, or it does both. Unless the test is
// thorough, it tests only one lock. This lock's key has no expiry, so only the clients' clocks end a lease.
func TestRenewedLocksSurviveEachPause(t *testing.T) {
	for _, l := range SoundLocks() {
		if l.Renewal != ByWatchdog || l.Name != "record-with-heartbeat" && !thorough() {
			continue
		}
		for name, face := range map[string]func(watched) locktest.Lock{
			"says when it ends":  func(w watched) locktest.Lock { return w.timed },
			"announces its loss": func(w watched) locktest.Lock { return announced{w.holder} },
			"does both":          func(w watched) locktest.Lock { return w },
		} {
			t.Run(l.Name+"/"+name, func(t *testing.T) {
				testkit.OneIn(t, 6)
				c := l.Config(Dresses[0], Plain)
				open := c.New
				c.New = func(c *locktest.Client) (locktest.Lock, error) {
					l, err := open(c)
					return face(l.(watched)), err
				}
				c.EachFault, c.Faults, c.Laws, c.SkipTrial = true, locktest.Pauses, locktest.LeaseLaws, true
				c.Clients, c.Cycles, c.Hold = 2, 1, 3*time.Second
				keeps(t, c)
			})
		}
	}
}

// TestMistakesAreReported checks that each mistake is reported with the law, the cause and the clients that it affects.
func TestMistakesAreReported(t *testing.T) {
	for i, l := range BrokenLocks() {
		for _, d := range dressesOf(i) {
			for _, s := range l.Shows {
				t.Run(l.Name+"/"+d.Name+"/"+string(s.Law), func(t *testing.T) {
					testkit.OneIn(t, 12)
					l.Reports(t, s, d, Plain, testkit.Size(1, 1, 3))
				})
			}
		}
	}
}

// TestMistakesAreFound checks that random faults reveal each mistake, and that every reported violation follows from
// the mistake.
func TestMistakesAreFound(t *testing.T) {
	if !thorough() {
		testkit.FullOnly(t)
	}
	for _, l := range BrokenLocks() {
		for _, d := range Dresses {
			for _, f := range l.Found {
				t.Run(l.Name+"/"+d.Name+"/"+f.Name, func(t *testing.T) {
					l.Finds(t, f, d, Plain, seedsAsked)
				})
			}
		}
	}
}

// TestTrialPassesSoundLocks checks that the fault-free trial run finds nothing wrong with sound locks.
func TestTrialPassesSoundLocks(t *testing.T) {
	for i, l := range SoundLocks() {
		for _, d := range dressesOf(i) {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				testkit.OneIn(t, 4)
				if l.Late {
					t.Skip("in the trial run a release comes late")
				}
				c := l.Config(d, Plain)
				c.Laws = l.Promises[0].Laws
				locktest.RunTrial(t, c)
			})
		}
	}
}

// inside is an environment variable that is set in the process running TestTrialOfABrokenLock.
const inside = "FENCEPOST_HOMEMADE_TRIAL"

// TestTrialOfABrokenLock fails on purpose. TestTrialReportsMistakes checks its output.
func TestTrialOfABrokenLock(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("TestTrialReportsMistakes runs it")
	}
	for i, l := range BrokenLocks() {
		for _, d := range dressesOf(i) {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				c := l.Config(d, Plain)
				c.Laws = checker.Laws
				locktest.RunTrial(t, c)
			})
		}
	}
}

// TestTrialReportsMistakes checks the first line of the report on the fault-free trial run. The line must name the
// mistake if it has an effect without faults. Locks with other mistakes pass the trial.
func TestTrialReportsMistakes(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run", "^TestTrialOfABrokenLock$", "-test.v")
	command.Env = append(os.Environ(), inside+"=1")
	out, _ := command.CombinedOutput() // the error can be ignored, because the test is expected to fail
	first := map[string]string{}
	name := ""
	for _, line := range strings.Split(string(out), "\n") {
		if after, ok := strings.CutPrefix(line, "=== RUN   TestTrialOfABrokenLock/"); ok {
			name, first[after] = after, ""
		} else if _, text, ok := strings.Cut(line, ".go:"); ok && first[name] == "" {
			_, first[name], _ = strings.Cut(text, ": ")
		}
	}
	for i, l := range BrokenLocks() {
		for _, d := range dressesOf(i) {
			t.Run(l.Name+"/"+d.Name, func(t *testing.T) {
				said, ran := first[l.Name+"/"+d.Name]
				if !ran || l.Trial == "" && said != "" ||
					l.Trial != "" && !regexp.MustCompile("^"+l.Trial).MatchString(said) {
					t.Errorf("%q, want %q: %s", said, l.Trial, l.Mistake)
				}
			})
		}
	}
}

// TestEachLockIsStated checks that each lock has a unique name and all the necessary explanations.
func TestEachLockIsStated(t *testing.T) {
	sound, broken := map[string]bool{}, map[string]bool{}
	for _, l := range SoundLocks() {
		if sound[l.Name] || l.Why == "" || len(l.Promises) == 0 {
			t.Errorf("%s: %s", l.Name, l.Why)
		}
		sound[l.Name] = true
	}
	for _, l := range BrokenLocks() {
		if sound[l.Name] || broken[l.Name] || !sound[l.Of] || l.Mistake == "" || len(l.Shows) == 0 {
			t.Errorf("%s, of %s: %s", l.Name, l.Of, l.Mistake)
		}
		for _, s := range l.Shows {
			if s.Why == "" {
				t.Errorf("%s: %s without a reason", l.Name, s.Law)
			}
		}
		broken[l.Name] = true
	}
}
