package checker

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// advised lists the safety measures that advice may depend on.
func advised() (all []history.Measure) {
	for _, list := range remedies {
		for _, a := range list {
			for _, m := range []history.Measure{a.unless, a.given} {
				if m != "" && !slices.Contains(all, m) {
					all = append(all, m)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestNoRemedyPresumesWhatIsNotKnown checks that remedies obey five rules, whatever is known about a lock:
//   - No remedy recommends a safety measure that is already applied.
//   - Advice that may already be followed is marked as such.
//   - Advice that depends on a measure appears only for locks for which this measure is known to be applied.
//   - The first piece of advice does not begin with "Or".
//   - No advice appears twice.
func TestNoRemedyPresumesWhatIsNotKnown(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all := advised()
	sure, unsure := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(remedies)) {
		list := remedies[kind]
		for range 300 {
			s := &situation{Header: &history.Header{Service: history.Redis}, cause: Cause{Kind: kind},
				facts: facts{waiting: waiting{silent: r.IntN(2) == 0, turnedAway: r.IntN(2) == 0,
					earlierTry: r.IntN(2) == 0, everlasting: r.IntN(2) == 0},
					refused: r.IntN(2) == 0, endless: r.IntN(2) == 0, extending: r.IntN(2) == 0,
					gaveUp: r.IntN(2) == 0, stood: r.IntN(2) == 0, went: r.IntN(2) == 0},
				confused: r.IntN(2) == 0, extends: r.IntN(2) == 0}
			details := []string{"", Overwritten, LateTry, GoneKey, DiskLost, SessionLives, KeptProlonged, TurnNotTaken,
				ServerClock, Unsynced}
			s.cause.Detail = details[r.IntN(len(details))]
			for _, m := range all {
				switch r.IntN(3) {
				case 0:
					s.Measures = append(s.Measures, m)
				case 1:
					s.Unknown = append(s.Unknown, m)
				}
			}
			if r.IntN(3) == 0 {
				s.Lapses = []history.Lapse{history.PartOfOwner}
			}
			plain, tentative, _ := strings.Cut(remedy(s), unlessDone)
			for _, a := range list {
				if strings.Count(plain+tentative, a.text) > 1 {
					t.Errorf("%s: %q", s.cause, remedy(s))
				}
			}
			if strings.HasPrefix(plain, "Or ") || strings.HasPrefix(tentative, "Or ") {
				t.Errorf("%s: %q", s.cause, remedy(s))
			}
			for _, a := range list {
				plainly, tentatively := strings.Contains(plain, a.text), strings.Contains(tentative, a.text)
				switch {
				case plainly && (s.Applies(a.unless) || s.Unsure(a.unless)), tentatively && !s.Unsure(a.unless),
					(plainly || tentatively) && a.given != "" && !s.Applies(a.given):
					t.Errorf("%s: %q is advised with %v, not known: %v", s.cause, a.text, s.Measures, s.Unknown)
				case plainly:
					sure++
				case tentatively:
					unsure++
				}
			}
		}
	}
	if sure < 1000 || unsure < 1000 {
		t.Errorf("%d pieces of advice, and %d that may be followed already", sure, unsure)
	}
}

// TestOfAWatchedKeyTheTransactionIsAdvised checks the advice for a client that watches a key but changes it outside of
// a transaction. Since the client watches the key, it is already trying to compare the value. So the advice must be to
// use a transaction.
func TestOfAWatchedKeyTheTransactionIsAdvised(t *testing.T) {
	for _, cause := range []Cause{{Kind: RemovedByNonOwner}, {RemovedByNonOwner, Overwritten},
		{Kind: ProlongedByNonOwner}} {
		for _, watched := range []bool{true, false} {
			s := &situation{Header: &history.Header{Service: history.Redis}, cause: cause,
				facts: facts{watched: watched, extending: true}}
			got := remedy(s)
			first := strings.HasPrefix(got, inTransaction[0].text)
			if first != watched || strings.Contains(got, "one step") == watched {
				t.Errorf("%v, watched %v: %s", cause, watched, got)
			}
		}
	}
}
