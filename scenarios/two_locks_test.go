package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// twoLocks is a scenario in which three clients acquire two locks each. One client acquires them in the opposite order.
// A client that waits too long gives up, releases what it holds, and starts over.
const twoLocks = `
clients: 3
work: {cycles: 3, writes: 1, hold: 500ms, locks: [alpha, beta]}
overrides: {client-2: {work: {locks: [beta, alpha]}}}
`

func withTwoLocks(t *testing.T, d *locks.Definition) *format.Document {
	doc := documentOf(t, minimal[d.Name]+twoLocks)
	doc.Set("lock.retry.patience", "2s")
	if d.Name == locks.LeaseObject { // the leader never releases, so others must wait until its lease ends
		doc.Set("lock.retry.patience", "20s")
	}
	return doc
}

// TestGivingUpALockDoesNotEndAnother checks that each client keeps its first lock until it calls release, even though
// it fails to acquire a second one. There are no faults. If one of the lock's settings has a list of allowed values,
// the test tries all of them.
func TestGivingUpALockDoesNotEndAnother(t *testing.T) {
	for _, d := range locks.Definitions() {
		t.Run(string(d.Name), func(t *testing.T) {
			testkit.OneIn(t, 4)
			t.Parallel()
			docs := []*format.Document{withTwoLocks(t, d)}
			for _, s := range d.Settings {
				if s.Path == "retry.patience" {
					continue // without a patience limit, nobody would give up
				}
				for _, word := range s.Form.Words {
					if word == string(locks.Fixed) {
						continue // clients that share an identity take each other's locks
					}
					doc := withTwoLocks(t, d)
					doc.Set("lock."+s.Path, word)
					docs = append(docs, doc)
				}
			}
			failed := 0
			for _, doc := range docs {
				s, err := Parse("x.yaml", []byte(doc.String()))
				if err != nil {
					continue // the value requires other settings
				}
				r := NewRunner(s)
				for seed := range uint64(testkit.Size(1, 1, 8)) {
					result, err := r.Run(nemesis.Plan{Seed: seed})
					if err != nil {
						t.Fatal(err)
					}
					failed += failedAcquires(result.History)
					mustKeep(t, s, nemesis.Plan{Seed: seed}, checker.Check(result.History), checker.LeaseExclusion,
						checker.MutualExclusion, checker.Ownership)
				}
			}
			if failed == 0 {
				t.Error("nobody gave up a lock")
			}
		})
	}
}

// TestWhoGivesUpALockLeavesNothingBehind checks that a client that gives up a lock does not leave anything behind that
// makes another client wait, and that no holder loses its lock. Clients that hold one lock fail to acquire another,
// under random process and link faults. The locks are kept alive in the background.
func TestWhoGivesUpALockLeavesNothingBehind(t *testing.T) {
	for _, lock := range []string{"etcd", "etcd line one-key", "zookeeper", "zookeeper watch lowest", "lease-object"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(lock)
			doc := withTwoLocks(t, locks.Define(locks.Protocol(words[0])))
			if len(words) > 1 {
				doc.Set("lock."+words[1], words[2])
			}
			s, err := Parse("x.yaml", []byte(doc.String()))
			if err != nil {
				t.Fatal(err)
			}
			mix := draw.For(5 * time.Second)
			for _, line := range []string{"jump", "drift", "expire session", "slow fsync", "crash of clients",
				"cut, no end", "crash, no restart", "shut down, no restart", "crash losing everything of servers"} {
				x, err := nemesis.ParseExclusion(line)
				if err != nil {
					t.Fatal(err)
				}
				mix.Without = append(mix.Without, x)
			}
			random, err := draw.NewGenerator(mix, s.Targets(), 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r, failed := NewRunner(s), 0
			for seed := range uint64(testkit.Size(2, 25, 1000)) {
				p := nemesis.Plan{Seed: seed, Faults: random.Draw(seed)}
				result, err := r.Run(p)
				if err != nil {
					t.Fatal(err)
				}
				failed += failedAcquires(result.History)
				mustKeep(t, s, p, checker.Check(result.History), checker.LeaseExclusion, checker.Ownership,
					checker.DeadlockFreedom)
			}
			if failed == 0 {
				t.Error("nobody gave up a lock")
			}
		})
	}
}

func failedAcquires(h *history.History) (n int) {
	for _, e := range h.Events {
		if e.F == history.Acquire && e.Type == history.Fail {
			n++
		}
	}
	return n
}

// mustKeep reports an error for each of the given laws that a run violates.
func mustKeep(t *testing.T, s *Scenario, p nemesis.Plan, v checker.Verdict, laws ...checker.Law) {
	t.Helper()
	for _, law := range laws {
		if f := v.Of(law); f.Outcome == checker.Violated {
			t.Errorf("%s%s\n%s is violated by %s: %s", s.Text(), p, law, f.Cause, f.Explanation)
		}
	}
}

// TestAnAttemptBelongsToOneLock checks that an attempt's name identifies it in runs with several locks. The search for
// close calls and the faults that it aims at them know attempts by their names alone.
func TestAnAttemptBelongsToOneLock(t *testing.T) {
	several := 0
	for _, name := range Names() {
		s, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.History.Header.Locks) > 1 {
			several++
		}
		of := map[history.Attempt]history.Lock{}
		for i := range r.History.Events {
			e := &r.History.Events[i]
			if e.F != history.Acquire && e.F != history.Extend && e.F != history.Release || e.Attempt == "" {
				continue
			}
			if lock, known := of[e.Attempt]; known && lock != e.Lock {
				t.Errorf("%s: %s is an attempt at %s and at %s", name, e.Attempt, lock, e.Lock)
			}
			of[e.Attempt] = e.Lock
		}
	}
	if several < 3 {
		t.Errorf("only %d scenarios have several locks", several)
	}
}
