package locktest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// open is a lock that all clients can hold at the same time.
type open struct{}

func (open) Lock(context.Context) error   { return nil }
func (open) Unlock(context.Context) error { return nil }

func newCareless(c *Client) (Lock, error) { return &careless{plain{c: c, ttl: 8 * time.Second}}, nil }

// TestWhatIsExploredIsCutDownAndReplayed shrinks one breach for each of two locks. The shrunk run must show that
// breach, and no other breach of the same law. If the breach does not need any faults, the shrunk run must not have
// any.
func TestWhatIsExploredIsCutDownAndReplayed(t *testing.T) {
	for name, test := range map[string]struct {
		lock   constructor
		law    checker.Law
		cause  checker.CauseKind
		faults bool
	}{
		"a lock that deletes whoever holds it": {newCareless, checker.Ownership, checker.RemovedByNonOwner, true},
		"a lock that everybody has": {making(func(*Client) Lock { return open{} }), checker.LeaseExclusion,
			checker.GrantedByNone,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 2)
			folder := filepath.Join("_runs", scenarioName(t.Name()))
			laws := []checker.Law{test.law}
			r, ok := Explore(t, Config{New: test.lock, Seeds: 20, Faults: Pauses, Laws: laws, SkipTrial: true})
			if ok {
				at := slices.IndexFunc(r.Breaches, func(b Breach) bool { return b.Cause.Kind == test.cause })
				if r.Runs != 20 || at < 0 || len(r.Failures) > 0 || len(r.Digests()) != 20 || r.CPU <= 0 {
					t.Fatalf("%+v", r)
				}
				b := r.Breaches[at]
				if b.Law != test.law || b.Runs > r.Violated(b.Law) || r.Violated(b.Law)+r.Held(b.Law) > 20 ||
					b.Story == "" {
					t.Errorf("violated in %d, held in %d: %+v", r.Violated(b.Law), r.Held(b.Law), b)
				}
				if seeds := r.Seeds(b); len(seeds) != b.Runs || seeds[0] != b.Seed || !slices.IsSorted(seeds) {
					t.Errorf("seeds %d of %+v", seeds, b)
				}
				small, err := r.Shrink(b)
				if err != nil {
					t.Fatal(err)
				}
				if faults := strings.Count(strings.TrimSpace(small.Plan), "\n") > 2; !small.Minimal ||
					faults != test.faults {
					t.Errorf("minimal: %v\n%s", small.Minimal, small.Plan)
				}
				if err := small.Save(folder); err != nil {
					t.Fatal(err)
				}
				saved, err := os.ReadFile(filepath.Join(folder, search.PlanFile))
				if command := ReplayCommand(t.Name(), folder); err != nil || !strings.Contains(string(saved), command) {
					t.Errorf("the saved plan does not say %q (%v):\n%s", command, err, saved)
				}
			}
			again, ok := Explore(t, Config{New: test.lock, Replay: filepath.Join(folder, search.PlanFile), Laws: laws})
			if !ok {
				return
			}
			if again.Runs != 1 || len(again.Breaches) != 1 || again.Breaches[0].Law != test.law ||
				again.Breaches[0].Cause.Kind != test.cause {
				t.Errorf("replayed: %+v", again)
			}
		})
	}
}

// TestASavedPlanNamesTheTestThatReplaysIt checks that the command in a saved plan names the test that was chosen after
// shrinking, and the plan's path. Nothing else in the plan differs from Plan.
func TestASavedPlanNamesTheTestThatReplaysIt(t *testing.T) {
	parts := search.PlanParts{About: "ownership is violated by " + ReplayCommand("TestFound", "") + "; ", Digest: "12",
		Plan: "scenario ./scenario.yaml\nseed 1\n"}
	for _, folder := range []string{"", "a folder", "two\nlines"} {
		folder = filepath.Join(t.TempDir(), folder)
		s := ShrunkRun{Test: "TestOther", parts: parts, Plan: parts.Text(ReplayCommand("TestFound", ""))}
		if err := s.Save(folder); err != nil {
			t.Fatal(err)
		}
		saved, err := os.ReadFile(filepath.Join(folder, search.PlanFile))
		want := search.PlanComment(parts.About, ReplayCommand("TestOther", folder), "12") + parts.Plan
		if err != nil || string(saved) != want {
			t.Errorf("%v: saved\n%s\nwant\n%s", err, saved, want)
		}
		if _, err := nemesis.ParsePlan(search.PlanFile, saved); err != nil {
			t.Error(err)
		}
	}
}

func TestABreachThatIsNoneIsNotCutDown(t *testing.T) {
	r, ok := Explore(t, Config{New: newPlain, Seeds: 1, Plan: []string{"pause client-1 for 1ms at 1s"}})
	if !ok {
		return
	}
	_, err := r.Shrink(Breach{Law: checker.Ownership, Cause: checker.Cause{Kind: checker.RemovedByNonOwner}, Seed: 1})
	if err == nil {
		t.Error("it was")
	}
}

// opened is a lock that keeps a goroutine running until its Close method is called.
type opened struct {
	plain
	end chan struct{}
}

func (l *opened) Close() error {
	close(l.end)
	return l.plain.Close()
}

// TestALockWhoseClientCrashedIsClosed checks that if a client crashes without closing its lock, this is not reported as
// a leak in the library.
func TestALockWhoseClientCrashedIsClosed(t *testing.T) {
	r, ok := Explore(t, Config{Seeds: 4,
		Plan: []string{"crash client-1 at 1s", "crash redis-1 losing everything at 20s"},
		New: func(c *Client) (Lock, error) {
			l := &opened{plain{c: c, ttl: 8 * time.Second}, make(chan struct{})}
			go func() { <-l.end }()
			return l, nil
		}})
	if ok && (r.Runs != 4 || len(r.Failures) > 0) {
		t.Errorf("%+v", r)
	}
}

// extended is a lock with an Extend method.
type extended struct {
	plain
}

func (l *extended) Extend(ctx context.Context) error {
	asked := time.Now()
	said, err := l.do(ctx, "PEXPIRE", l.c.Key, "8000")
	if err == nil && said != ":1" {
		err = errNotHeld
	}
	if err == nil {
		l.until = asked.Add(l.ttl)
	}
	return err
}

var errNotHeld = errors.New("not held")

// TestALockIsExtendedForAsLongAsItsWorkLasts checks that if a lock's work takes twice the TTL, the lock breaks unless
// it is extended.
func TestALockIsExtendedForAsLongAsItsWorkLasts(t *testing.T) {
	for every, violated := range map[time.Duration]int{0: 3, 3 * time.Second: 0} {
		t.Run(every.String(), func(t *testing.T) {
			r, ok := Explore(t, Config{
				New: making(func(c *Client) Lock {
					return &extended{plain: plain{c: c, ttl: 8 * time.Second}}
				}),
				Compute: 16 * time.Second, Seeds: 3, Plan: []string{"pause client-1 for 1ms at 1s"},
				Precautions: Precautions{ExtendEvery: every}})
			if ok && (r.Runs != 3 || r.Violated(checker.MutualExclusion) != violated ||
				r.Violated(checker.ResourceSafety) != violated) {
				t.Errorf("%+v", r)
			}
		})
	}
}
