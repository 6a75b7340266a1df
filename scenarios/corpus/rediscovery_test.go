package corpus

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// stated is a violation that one of the catalog's scenarios expects.
type stated struct {
	scenario string
	law      checker.Law
	cause    checker.Cause // if it has no kind, any cause matches
}

// matches reports whether b is the stated violation.
func (s stated) matches(b *checker.Finding) bool {
	return b.Law == s.law && (s.cause.Kind == "" || b.Cause == s.cause ||
		b.Cause.Kind == s.cause.Kind && s.cause.Detail == "")
}

// statedBy returns the violations that a scenario expects.
func statedBy(s *scenarios.Scenario) (all []stated) {
	for _, law := range checker.Laws {
		if e := s.Expect.Laws[law]; e.Outcome == checker.Violated {
			all = append(all, stated{s.Name, law, e.Cause})
		}
	}
	return all
}

const (
	rediscoveryFile   = "REDISCOVERY.md"
	rediscoveryBegin  = "<!-- rediscovery: begin -->\n"
	rediscoveryEnd    = "<!-- rediscovery: end -->"
	rediscoveryStarts = 8
	rediscoveryLimit  = 2000
	// rediscoveryFirst is the first start seed. The others follow at intervals of a million.
	rediscoveryFirst = 910_000_000
)

// alsoTuned lists more scenarios that were used to tune the search, because it took too long to find their violations.
var alsoTuned = []string{"etcd-leader-change-late-renewal-fenced", "fenced-everysec", "printed-setnx-constant-id"}

// tuned reports whether a scenario was used to tune the search. About half of the scenarios were used, chosen by a hash
// of the name, along with those in alsoTuned.
func tuned(scenario string) bool {
	sum := sha256.Sum256([]byte(scenario))
	return sum[0]%2 == 0 || slices.Contains(alsoTuned, scenario)
}

// rediscover searches a scenario without its own faults, from each start seed, until all violations that the scenario
// expects have occurred. The result contains one search for each combination of violation and start seed.
func rediscover(ctx context.Context, s *scenarios.Scenario, starts int) (found [][]*search.FirstViolation, err error) {
	all := statedBy(s)
	found = make([][]*search.FirstViolation, len(all))
	for start := range uint64(starts) {
		missing := len(all)
		here := make([]search.FirstViolation, len(all))
		runs := 0
		from := rediscoveryFirst + start*seedDistance
		_, err := search.Each(ctx, s, from, rediscoveryLimit, func(_ *nemesis.Plan, v *checker.Verdict) bool {
			runs++
			for b := range v.Breaches() {
				for i := range all {
					if h := &here[i]; !h.Found && all[i].matches(b) {
						*h = search.FirstViolation{Found: true, Runs: runs, Law: b.Law, Cause: b.Cause}
						missing--
					}
				}
			}
			return missing > 0
		})
		if err != nil {
			return nil, err
		}
		for i := range here {
			if !here[i].Found {
				here[i].Runs = rediscoveryLimit
			}
			found[i] = append(found[i], &here[i])
		}
	}
	return found, nil
}

// cells returns the first cells of a table row, which identify the violation.
func (s stated) cells() string {
	cause := s.cause.String()
	if s.cause.Kind == "" {
		cause = "any"
	}
	return fmt.Sprintf("| %s | %s | %s | ", s.scenario, s.law, cause)
}

// rediscoveryRow returns a row for the table in REDISCOVERY.md.
func rediscoveryRow(s stated, e estimate) string {
	on := ""
	if tuned(s.scenario) {
		on = "yes"
	}
	return fmt.Sprintf("%s%d of %d | %s | %s | %s |", s.cells(), e.Caught, e.Searches, e.mean(), e.interval(), on)
}

// TestTheSearchFindsWhatTheCatalogueStates checks that the table in REDISCOVERY.md has a row for each violation that
// the catalog expects. A row contains the number of runs until the default search, without the scenario's own faults,
// finds the violation with its law and cause. The test repeats the searches for some violations that need few runs, and
// the results must agree with the table. With FENCEPOST_FULL=1, it repeats all searches, which takes half an hour of
// processor time. FENCEPOST_REDISCOVERY=1 with -update rewrites the table.
func TestTheSearchFindsWhatTheCatalogueStates(t *testing.T) {
	testkit.ThoroughOnly(t)
	file, err := os.ReadFile(rediscoveryFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(file), rediscoveryBegin)
	table, after, whole := strings.Cut(rest, rediscoveryEnd)
	if !whole {
		t.Fatalf("%s has no table", rediscoveryFile)
	}
	var catalogue []*scenarios.Scenario
	for _, name := range scenarios.Names() {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(statedBy(s)) > 0 {
			catalogue = append(catalogue, s)
		}
	}
	if os.Getenv("FENCEPOST_REDISCOVERY") != "" {
		testkit.Golden(t, rediscoveryFile, before+rediscoveryBegin+rediscovery(t, catalogue)+rediscoveryEnd+after)
		return
	}
	rows := strings.Split(table, "\n")
	made, easy := 0, 0
	for _, s := range catalogue {
		soon := true
		for _, v := range statedBy(s) {
			at := slices.IndexFunc(rows, func(r string) bool { return strings.HasPrefix(r, v.cells()) })
			if at < 0 {
				t.Fatalf("%s has no row of %s", rediscoveryFile, v.scenario)
			}
			mean := interval.FindString(rows[at])
			soon = soon && mean != "" && ends(mean)[1] < 20
		}
		if soon {
			easy++
		}
		if !testkit.Full() && (!soon || easy%testkit.Size(22, 11, 1) != 0) {
			continue
		}
		found, err := rediscover(t.Context(), s, rediscoveryStarts)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range statedBy(s) {
			made++
			now := rediscoveryRow(v, estimated(found[k]))
			agrees := func(row string) bool { return strings.HasPrefix(row, v.cells()) && near(row, now) }
			if !slices.ContainsFunc(rows, agrees) {
				t.Errorf("the row is now\n%s", now)
			}
		}
	}
	if made < testkit.Size(1, 2, 2) {
		t.Errorf("%d rows were made again", made)
	}
}

// rediscovery returns the table in REDISCOVERY.md, followed by its summary.
func rediscovery(t *testing.T, catalogue []*scenarios.Scenario) string {
	lines := []string{"| scenario | law | cause | found | mean schedules | 90% interval | tuned on |",
		"|---|---|---|---|---|---|---|"}
	sums := map[bool]*summary{true: {}, false: {}}
	_, err := campaign.InOrder(t.Context(), 0, len(catalogue), func() func(int) ([][]*search.FirstViolation, error) {
		return func(i int) ([][]*search.FirstViolation, error) {
			return rediscover(t.Context(), catalogue[i], rediscoveryStarts)
		}
	}, func(i int, found [][]*search.FirstViolation) error {
		for k, v := range statedBy(catalogue[i]) {
			e := estimated(found[k])
			lines = append(lines, rediscoveryRow(v, e))
			sums[tuned(v.scenario)].add(e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n\n" + sums[true].String("tuned on") + sums[false].String("not tuned on")
}

// summary summarizes rows of the table in REDISCOVERY.md.
type summary struct {
	rows, unmet, rare int
	logs              float64
}

func (s *summary) add(e estimate) {
	s.rows++
	mean := float64(e.Runs) / float64(max(e.Caught, 1))
	if s.logs += math.Log(mean); e.Caught < e.Searches {
		s.unmet++
	}
	if mean > 500 {
		s.rare++
	}
}

// String returns the summary as a sentence. group names the violations that the summary is about.
func (s *summary) String(group string) string {
	return fmt.Sprintf("Of the %d violations %s, %d were missed from some start seed, %d take more than 500 schedules "+
		"on average; the geometric mean is %.0f.\n", s.rows, group, s.unmet, s.rare, math.Exp(s.logs/float64(s.rows)))
}
