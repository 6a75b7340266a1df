package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Judgement is what a run comes to, held against what its scenario expects.
type Judgement struct {
	Verdict    checker.Verdict
	Metrics    checker.Metrics
	Mismatches []Mismatch
	Undecided  bool // a law named in the expectation could not be told
}

// Standing says how a run stands to its scenario's expectation.
type Standing uint8

// The zero Standing is no pass.
const (
	NotJudged    Standing = iota
	AsExpected            // everything came out as the scenario expects
	Otherwise             // something did not
	NotDecidable          // nothing came out otherwise, but something named could not be told
)

// Standing sums the judgement up.
func (j *Judgement) Standing() Standing {
	switch {
	case len(j.Mismatches) > 0:
		return Otherwise
	case j.Undecided:
		return NotDecidable
	case len(j.Verdict.Findings) == 0:
		return NotJudged
	}
	return AsExpected
}

// Judge judges what a run of s has left behind.
func (s *Scenario) Judge(r Result) Judgement {
	j := Judgement{Verdict: checker.Check(r.History), Metrics: checker.Measure(r.History)}
	j.Mismatches, j.Undecided = s.Expect.Match(j.Verdict, j.Metrics)
	return j
}

// Targets are the processes that faults can strike in runs of s.
func (s *Scenario) Targets() nemesis.Names {
	names := s.Servers.targets()
	for i := range s.Clients {
		names.Clients = append(names.Clients, s.Clients[i].ID)
	}
	return names
}

// Campaign counts how the runs of many seeds came out. Campaigns of different seeds of one scenario add up.
type Campaign struct {
	Seeds      int
	AsExpected int
	Otherwise  int
	Undecided  int
	Groups     []Group // of the runs that came out otherwise, by what did, most frequent first
	digests    map[sim.Digest]struct{}
}

// Group is what came out otherwise in a number of runs.
type Group struct {
	Mismatch        // of a metric without Got, which differs from run to run
	Runs     int    // in which it did; one run may be in several groups
	First    uint64 // the lowest seed of them
}

// Digests is the number of runs that differ from all others.
func (c *Campaign) Digests() int { return len(c.digests) }

// Add counts one run.
func (c *Campaign) Add(r Result, j Judgement) {
	if c.digests == nil {
		c.digests = map[sim.Digest]struct{}{}
	}
	c.digests[r.Digest] = struct{}{}
	c.Seeds++
	switch j.Standing() {
	case AsExpected:
		c.AsExpected++
	case Otherwise:
		c.Otherwise++
	default:
		c.Undecided++
	}
	for _, m := range j.Mismatches {
		if !slices.Contains(checker.Laws, checker.Law(m.Name)) {
			m.Got = ""
		}
		c.count(m, r.Plan.Seed)
	}
}

func (c *Campaign) count(m Mismatch, seed uint64) {
	for i := range c.Groups {
		if g := &c.Groups[i]; g.Mismatch == m {
			g.Runs++
			g.First = min(g.First, seed)
			for ; i > 0 && c.Groups[i-1].Runs < c.Groups[i].Runs; i-- {
				c.Groups[i-1], c.Groups[i] = c.Groups[i], c.Groups[i-1]
			}
			return
		}
	}
	c.Groups = append(c.Groups, Group{Mismatch: m, Runs: 1, First: seed})
}

// Standing sums the campaign up: one run that came out otherwise is enough, and so is one that is undecided.
func (c *Campaign) Standing() Standing {
	switch {
	case c.Otherwise > 0:
		return Otherwise
	case c.Undecided > 0:
		return NotDecidable
	case c.Seeds == 0:
		return NotJudged
	}
	return AsExpected
}
