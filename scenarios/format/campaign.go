package format

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/sim"
)

// Campaign counts the outcomes of running a scenario with many seeds. Campaigns with different seeds can be merged.
type Campaign struct {
	Seeds      int
	AsExpected int
	Otherwise  int
	Undecided  int
	// FirstUndecided is the lowest seed of an undecided run, if there is one.
	FirstUndecided uint64
	Groups         []Group // differences from the expectation, most frequent first
	digests        map[sim.Digest]struct{}
}

// Group is a set of runs that differ from the expectation in the same way.
type Group struct {
	Mismatch        // Mismatch without Got if it concerns a metric, since its value differs from run to run
	Runs     int    // runs with this difference; one run may be in several groups
	First    uint64 // lowest seed among these runs
}

// Digests returns the number of distinct runs. Runs with the same digest are identical.
func (c *Campaign) Digests() int { return len(c.digests) }

// Add counts the run with the given seed. The seed must not have been counted before.
func (c *Campaign) Add(seed uint64, digest sim.Digest, j Judgment) {
	if c.digests == nil {
		c.digests = map[sim.Digest]struct{}{}
	}
	c.digests[digest] = struct{}{}
	c.Seeds++
	switch j.Standing() {
	case document.Passed:
		c.AsExpected++
	case document.Failed:
		c.Otherwise++
	default:
		c.undecided(seed, 1)
	}
	for _, m := range j.Mismatches {
		if !slices.Contains(checker.Laws, checker.Law(m.Name)) {
			m.Got = ""
		}
		c.count(Group{Mismatch: m, Runs: 1, First: seed})
	}
	c.sort()
}

func (c *Campaign) undecided(first uint64, n int) {
	if c.Undecided == 0 || first < c.FirstUndecided {
		c.FirstUndecided = first
	}
	c.Undecided += n
}

// Merge adds the counts of another campaign, which must have different seeds.
func (c *Campaign) Merge(other *Campaign) {
	if c.digests == nil {
		c.digests = map[sim.Digest]struct{}{}
	}
	maps.Copy(c.digests, other.digests)
	c.Seeds += other.Seeds
	c.AsExpected += other.AsExpected
	c.Otherwise += other.Otherwise
	if other.Undecided > 0 {
		c.undecided(other.FirstUndecided, other.Undecided)
	}
	for _, g := range other.Groups {
		c.count(g)
	}
	c.sort()
}

func (c *Campaign) count(add Group) {
	for i := range c.Groups {
		if g := &c.Groups[i]; g.Mismatch == add.Mismatch {
			g.Runs += add.Runs
			g.First = min(g.First, add.First)
			return
		}
	}
	c.Groups = append(c.Groups, add)
}

// sort sorts groups, the most frequent first. It sorts equally frequent groups by their lowest seed, so that the result
// does not depend on the order in which runs were added.
func (c *Campaign) sort() {
	slices.SortFunc(c.Groups, func(a, b Group) int {
		return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.First, b.First), cmp.Compare(a.String(), b.String()))
	})
}

// tallies is a campaign's JSON form.
type tallies struct {
	Seeds          int      `json:"seeds"`
	AsExpected     int      `json:"as_expected"`
	Otherwise      int      `json:"otherwise"`
	Undecided      int      `json:"undecided"`
	FirstUndecided uint64   `json:"first_undecided"`
	Groups         []Group  `json:"groups"`
	Digests        []string `json:"digests"` // in ascending order
}

// MarshalJSON encodes the campaign, including everything that Merge needs.
func (c *Campaign) MarshalJSON() ([]byte, error) {
	t := tallies{c.Seeds, c.AsExpected, c.Otherwise, c.Undecided, c.FirstUndecided, c.Groups, nil}
	for _, d := range slices.Sorted(maps.Keys(c.digests)) {
		t.Digests = append(t.Digests, strconv.FormatUint(uint64(d), 16))
	}
	return json.Marshal(t)
}

// UnmarshalJSON decodes a campaign encoded by MarshalJSON.
func (c *Campaign) UnmarshalJSON(b []byte) error {
	var t tallies
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	*c = Campaign{t.Seeds, t.AsExpected, t.Otherwise, t.Undecided, t.FirstUndecided, t.Groups,
		map[sim.Digest]struct{}{}}
	for _, text := range t.Digests {
		d, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return err
		}
		c.digests[sim.Digest(d)] = struct{}{}
	}
	return nil
}

// Standing returns the overall result of the campaign. It is Failed if at least one run differs from the expectation.
// Otherwise it is Undecided if at least one run is undecided. It is NotJudged if there are no runs.
func (c *Campaign) Standing() document.Result {
	switch {
	case c.Otherwise > 0:
		return document.Failed
	case c.Undecided > 0:
		return document.Undecided
	case c.Seeds == 0:
		return document.NotJudged
	}
	return document.Passed
}
