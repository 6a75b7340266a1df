package search

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// careless is a lock that breaks its promises, because its release deletes the key no matter who owns it.
const careless = `name: careless
servers: {redis: 1, persistence: {append-fsync: always}}
clients: 3
lock: {protocol: set-nx-px, ttl: 2s, release: del}
work: {cycles: 3, hold: validity, check-validity: on}
mix: {without: [jump of servers, drift, crash losing everything]}
`

func TestTheFirstSeedThatBreaksAPromiseIsFound(t *testing.T) {
	s := parsed(t, careless+"promise: [ownership]\n")
	got, err := FindFirst(context.Background(), s, 0, together-1)
	if err != nil || !got.Found || got.Law != checker.Ownership || got.Cause.Kind != checker.RemovedByNonOwner {
		t.Fatalf("%+v, %v", got, err)
	}
	e := explored(t, s, 0, got.Runs, Whole, 2)
	i := slices.IndexFunc(e.Findings, func(f campaign.Finding) bool { return f.Law == checker.Ownership })
	if i < 0 || e.Findings[i].First != uint64(got.Runs-1) || e.Findings[i].Runs != 1 {
		t.Errorf("found after %d runs, but these show %+v", got.Runs, e.Findings)
	}
	if before, err := FindFirst(context.Background(), s, 0, got.Runs-1); err != nil ||
		before != (FirstViolation{Runs: got.Runs - 1}) {
		t.Errorf("one seed less: %+v, %v", before, err)
	}
}

// TestASearchBeginsAtItsFirstSeed checks that a search and an exploration that begin at the same seed find the same
// violation, whichever seed that is.
func TestASearchBeginsAtItsFirstSeed(t *testing.T) {
	s := parsed(t, careless+"promise: [ownership]\n")
	for from := uint64(0); from < uint64(testkit.Size(60, 300, 300)); {
		got, err := FindFirst(context.Background(), s, from, together-1)
		if err != nil || !got.Found {
			t.Fatalf("from seed %d: %+v, %v", from, got, err)
		}
		found := from + uint64(got.Runs) - 1
		if e := explored(t, s, from, got.Runs, Whole, 2); !slices.ContainsFunc(e.Findings,
			func(f campaign.Finding) bool {
				return f.Law == checker.Ownership && f.First == found && f.Runs == 1
			}) {
			t.Errorf("from seed %d: found by seed %d, but the seeds up to it show %+v", from, found, e.Findings)
		}
		from = found + 1
	}
}

// TestAViolationOfWhatIsNotPromisedIsPassedOver checks that the search continues after a violation of a law that the
// scenario does not promise.
func TestAViolationOfWhatIsNotPromisedIsPassedOver(t *testing.T) {
	got, err := FindFirst(context.Background(), parsed(t, careless+"promise: [token-order]\n"), 0, 100)
	if err != nil || got.Found || got.Runs != 100 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAMixThatDrawsNothingFindsNothing(t *testing.T) {
	s := parsed(t, careless+"promise: [ownership]\n")
	s.Mix.Weights = draw.Weights{}
	s.Mix.Weights[nemesis.FailOver] = 1
	if got, err := FindFirst(context.Background(), s, 0, 60); !errors.Is(err, draw.ErrNothing) {
		t.Errorf("%+v, %v", got, err)
	}
}
