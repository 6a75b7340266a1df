package zookeeper_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

func membersExcept(id sim.ProcessID) []sim.ProcessID {
	return slices.DeleteFunc(slices.Clone(members), func(m sim.ProcessID) bool { return m == id })
}

// disturbed runs three clients that stop working when they are SUSPENDED. It injects up to four random faults: a member
// is cut off, is paused or loses power, or a client is cut off from some of the members.
func disturbed(s *service, seed uint64) *history.History {
	s.rerun(seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range 3 {
		s.locker(n+1, time.Duration(n)*300*ms, func(k *worker) {
			k.hold, k.listens, k.cycles = time.Duration(r.IntN(10_000))*ms, true, 2
		})
	}
	for range 1 + r.IntN(4) {
		id := members[r.IntN(3)]
		at, d := time.Duration(r.IntN(15_000))*ms, time.Duration(r.IntN(15_000))*ms
		switch r.IntN(4) {
		case 0:
			s.isolate(id, membersExcept(id), at, d)
		case 1:
			s.pause(id, at, d)
		case 2:
			s.isolate("client-1", members[:1+r.IntN(3)], at, d)
		case 3:
			s.losePower(id, at, d)
		}
	}
	return s.run(5 * time.Minute)
}

// TestCarefulClientsExcludeEachOtherUnderFaults checks that if clients stop working when they are SUSPENDED and no
// client is paused, no two clients are in the critical section at the same time.
func TestCarefulClientsExcludeEachOtherUnderFaults(t *testing.T) {
	s := newService(t, 1)
	var c checker.Checker
	lost, held := 0, 0
	for seed := range uint64(300) {
		h := disturbed(s, seed)
		for _, f := range c.Check(h).Findings {
			if f.Outcome == checker.Violated && f.Law != checker.FaultTolerance {
				t.Errorf("seed %d: %s %s\n%s", seed, f.Law, f.Cause, f.Explanation)
			}
			if f.Law == checker.LeaseExclusion && f.Outcome == checker.Holds {
				held++
			}
		}
		for i := range h.Events {
			if h.Events[i].F == history.Lost {
				lost++
			}
		}
	}
	if lost < 50 || held < 250 {
		t.Errorf("the faults hardly struck: %d holders stopped, lease-exclusion was judged in %d runs", lost, held)
	}
}

func TestEqualSeedsGiveEqualRuns(t *testing.T) {
	reused := newService(t, 1)
	digests := map[sim.Digest]bool{}
	seeds := testkit.Size(6, 25, 100)
	for seed := range uint64(seeds) {
		first := written(t, disturbed(reused, seed))
		digest := reused.Digest()
		for range 2 {
			disturbed(reused, seed+1000) // an earlier run with the same members must not change the result
			fresh := newService(t, 1)
			for _, s := range []*service{reused, fresh} {
				if again := written(t, disturbed(s, seed)); again != first || s.Digest() != digest {
					t.Fatalf("seed %d: digest %x, then %x", seed, digest, s.Digest())
				}
			}
		}
		digests[digest] = true
	}
	if len(digests) != seeds {
		t.Errorf("%d seeds gave %d different runs", seeds, len(digests))
	}
}

// written returns a history as the text of a history file.
func written(t *testing.T, h *history.History) string {
	t.Helper()
	var b strings.Builder
	if err := history.Encode(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
