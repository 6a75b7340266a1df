package libraries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// searched is a scenario for finding a library's defects. Its two formatting verbs stand for the number of servers and
// a mix; an empty mix means the default one.
const searched = `name: searched
servers: {redis: %d, persistence: {append-fsync: always}}
clients: 3
lock: {protocol: library, ttl: 8s, timeout: 500ms}
work: {cycles: 3, hold: 1ms, think: 0s..500ms, writes: 1, compute: 4s, check-validity: on, stop-when-lost: on}
%s`

// unaimed is the default mix without aimed faults: each fault strikes at a random time or message.
const unaimed = "mix: {aimed: 0%}\n"

// starts is the number of searches, each of which begins with a different seed. searchLength is the maximum number of
// schedules in a search.
const starts, searchLength = 5, 2000

// rare maps libraries to findings that random faults rarely or never show.
var rare = map[string]struct {
	servers int
	law     checker.Law
	cause   checker.CauseKind
}{
	"redsync-1": {1, checker.LeaseExclusion, checker.RemovedByOwner},
}

// TestAimedFaultsFindWhatRandomOnesSeldomMeet searches from five start seeds. It checks that each search with the
// default mix shows the rare finding, and that all these searches together show it in more schedules than the searches
// with random faults do. It logs all other findings. The test runs only if FENCEPOST_FULL=1 is set.
func TestAimedFaultsFindWhatRandomOnesSeldomMeet(t *testing.T) {
	testkit.FullOnly(t)
	for _, l := range All {
		x, is := rare[l.Name]
		if !is {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			runs, here := map[string]int{}, false
			for _, mix := range []string{unaimed, ""} {
				r, ok := search(t, &l, fmt.Sprintf(searched, x.servers, mix), starts*searchLength)
				if here = ok; !here {
					continue
				}
				t.Logf("%q: %d schedules, %.1f ms each, %d stopped, %d differed", mix, r.Runs,
					r.CPU.Seconds()*1000/float64(r.Runs), r.Ignored, r.DifferingSeeds)
				for _, b := range r.Breaches {
					found := firsts(r.Seeds(b))
					t.Logf("%s: %s in %d; from each start after %d", b.Law, b.Cause, b.Runs, found)
					if b.Law != x.law || b.Cause.Kind != x.cause {
						continue
					}
					if runs[mix] += b.Runs; mix == "" && slices.Contains(found[:], 0) {
						t.Errorf("%s: %s: not found from each start: %d", b.Law, b.Cause, found)
					}
				}
			}
			if here && runs[""] <= runs[unaimed] {
				t.Errorf("%s: %s: found in %d schedules, and in %d without aim", x.law, x.cause, runs[""],
					runs[unaimed])
			}
		})
	}
}

// search explores a scenario with a library for the given number of schedules.
func search(t *testing.T, l *Library, scenario string, schedules int) (*locktest.Report, bool) {
	file := filepath.Join(t.TempDir(), "searched.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	return locktest.Explore(t, locktest.Config{Scenario: file, Keys: l.Keys,
		Seeds: schedules, Laws: checker.Laws,
		New: func(c *locktest.Client) (locktest.Lock, error) { return l.New(c, false) }})
}

// firsts returns, for each search, the number of schedules until one of the seeds first occurs; 0 means never.
func firsts(seeds []uint64) (all [starts]int) {
	for _, seed := range slices.Backward(seeds) {
		all[(seed-1)/searchLength] = int((seed-1)%searchLength) + 1
	}
	return all
}

func TestSearchesAreCountedFromTheirStarts(t *testing.T) {
	if got, want := firsts([]uint64{7, 9, 2000, 2001, 7500}), [starts]int{7, 1, 0, 1500, 0}; got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
