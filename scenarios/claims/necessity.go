package claims

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Necessity checks the faults that explanations name by running the plans again without them.
//
// A fault is named in vain (unnecessarily) if the same law is violated for the same cause when the fault is left out,
// possibly by other processes. The law must still be violated when the faults that strike after the violation are left
// out as well. A fault is not named in vain if it belongs to a minimal group of named faults without which the law
// holds.
//
// A fault is missing if the explanation names no fault, but the law holds without this one with the story's seed, and
// is violated far less often without it with other seeds.
type Necessity struct {
	Stories, Named int // number of stories, and number of named faults, that were tried

	t      testing.TB
	wrongs *Wrongs
	again  *single.Trials // performs runs of the story's scenario
}

// NewNecessity returns a Necessity that adds false statements to wrongs. A statement's kind begins with "in vain" if it
// names a fault unnecessarily, and with "missing" if it fails to name one.
func NewNecessity(t testing.TB, wrongs *Wrongs) *Necessity { return &Necessity{t: t, wrongs: wrongs} }

// Story checks the faults that a story's explanation names. It also adds trials to the story, as a report would.
func (n *Necessity) Story(s *Story) {
	n.again = single.NewTrials(s.Scenario)
	n.Stories++
	v := checker.Verdict{Findings: []checker.Finding{s.Finding}}
	if err := n.again.Try(s.Plan, s.History, &v); err != nil {
		n.t.Fatal(err)
	}
	s.Finding = v.Findings[0]
	named := n.names(s)
	later := single.Later(s.Plan, s.History, &s.Finding)
	whose := ""                       // whether the latest run showed "the same" violation or one "between others"
	stays := func(drop ...int) bool { // whether the violation does not occur without the given faults
		same := func(drop ...int) bool {
			f := n.judgeWithout(s, s.Plan.Seed, drop...)
			b := f.By(s.Cause)
			if whose = "the same"; b != nil && !checker.SameViolation(*b, s.Finding) {
				whose = "between others"
			}
			return b != nil
		}
		return !same(drop...) || len(later) > 0 && !same(append(slices.Clone(drop), later...)...)
	}
	all := slices.Concat(named...)
	for _, places := range named {
		n.Named++
		if !slices.ContainsFunc(places, func(i int) bool { return stays(i) || neededTogether(i, all, stays) }) {
			f := s.Plan.Faults[places[0]]
			stays(places[0])
			n.wrongs.Add(fmt.Sprintf("in vain (%s): the explanation of %s by %s names an unnecessary %s", whose,
				s.Law, s.Cause, f.Kind), s, "%s", f)
		}
	}
	if len(named) == 0 {
		n.unnamed(s, later)
	}
	n.trials(s, all)
}

// trials checks an explanation against its story's trials, which are runs with some faults left out. If a trial found a
// single fault unnecessary, the explanation must not name that fault. If a trial found a single fault necessary, the
// explanation must name some fault. If a trial found faults necessary but the law was violated even without them, that
// violation must have a different cause.
func (n *Necessity) trials(s *Story, named []int) {
	names := func(line string) bool {
		return slices.ContainsFunc(named, func(i int) bool { return s.Plan.Faults[i].String() == line })
	}
	for _, gap := range []string{"  ", "()", "with together", "without.", "of ,", "Without,"} {
		if strings.Contains(s.Explanation, gap) {
			n.wrongs.Add("something is left out", s, "%q", gap)
		}
	}
	if m := aloneSentence.FindStringSubmatch(s.Explanation); m != nil {
		for i := range s.Plan.Faults {
			same := m[1] == s.Plan.Faults[i].Recorded()
			if f := n.judgeWithout(s, s.Plan.Seed, i); same && f.By(s.Cause) != nil && !n.repeated(s, i) {
				n.wrongs.Add("the violation occurs even without the fault that it is said to need", s, "%s", m[1])
			}
		}
	}
	for _, t := range s.Trials {
		switch {
		case t.Needed && t.Outcome == checker.Violated && t.Cause == s.Cause && len(t.Others) == 0:
			n.wrongs.Add("a trial calls the violation another one, although it has the same cause", s, "%s", t)
		case len(t.Faults) != 1:
		case t.Needed && t.Outcome != checker.Violated && len(named) == 0:
			n.wrongs.Add("a trial found the fault necessary, but the explanation names no fault", s, "%s", t)
		case !t.Needed && names(t.Faults[0]):
			n.wrongs.Add(fmt.Sprintf("%s by %s: the explanation names a fault that its trial found unnecessary",
				s.Law, s.Cause), s, "%s", t)
		}
	}
}

// aloneSentence matches the sentence in an explanation that names a fault without which the violation does not occur.
var aloneSentence = regexp.MustCompile(`The violation does not occur without "([^"]*)"\.`)

// repeated reports whether another fault in the plan looks the same in a history as the ith fault.
func (n *Necessity) repeated(s *Story, i int) bool {
	return slices.ContainsFunc(slices.Delete(slices.Clone(s.Plan.Faults), i, i+1),
		func(f nemesis.Fault) bool { return f.Recorded() == s.Plan.Faults[i].Recorded() })
}

// names returns the plan indices of each fault that an explanation names. It reports an error for a fault in the text
// that the finding does not list, and for a listed fault that is not in the plan.
func (n *Necessity) names(s *Story) [][]int {
	named := single.NamedIn(s.Plan, s.History, &s.Finding)
	rest := s.Explanation
	for _, at := range s.Faults {
		line := s.History.Events[at].Value
		if rest = strings.ReplaceAll(rest, line, ""); !slices.ContainsFunc(s.Plan.Faults,
			func(f nemesis.Fault) bool { return f.Recorded() == line }) {
			n.wrongs.Add(fmt.Sprintf("%s by %s: the finding lists a fault that is not in the plan",
				s.Law, s.Cause), s, "%s", line)
		}
	}
	for _, i := range longestFirst(s.Plan.Faults) {
		if line := s.Plan.Faults[i].Recorded(); strings.Contains(rest, line) {
			rest = strings.ReplaceAll(rest, line, "")
			named = append(named, []int{i})
			n.wrongs.Add(fmt.Sprintf("%s by %s: the explanation names a fault that the finding does not list",
				s.Law, s.Cause), s, "%s", line)
		}
	}
	return named
}

// longestFirst returns the faults' indices, ordered such that if one fault's line contains another's, the longer one
// comes first.
func longestFirst(faults []nemesis.Fault) []int {
	places := make([]int, len(faults))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Compare(len(faults[b].Recorded()), len(faults[a].Recorded()))
	})
	return places
}

// A fault counts as missing from an explanation only if it makes a difference with other seeds too: of otherSeeds runs
// with other seeds, at least leastDifference more must violate the law with the fault than without it.
const otherSeeds, leastDifference = 10, 5

// unnamed checks a story whose explanation does not name a fault. It looks for one that the explanation should have
// named.
func (n *Necessity) unnamed(s *Story, later []int) {
	broken := func(seed uint64, drop ...int) int {
		if n.judgeWithout(s, seed, append(drop, later...)...).Outcome == checker.Violated {
			return 1
		}
		return 0
	}
	for i, f := range s.Plan.Faults {
		if slices.Contains(later, i) || broken(s.Plan.Seed, i) > 0 {
			continue
		}
		with, without := 0, 0
		for seed := range uint64(otherSeeds) {
			with, without = with+broken(s.Plan.Seed+1+seed), without+broken(s.Plan.Seed+1+seed, i)
		}
		if with >= without+leastDifference {
			n.wrongs.Add(fmt.Sprintf("missing: the explanation of %s by %s does not name the necessary %s", s.Law,
				s.Cause, f.Kind), s, "%s: the law is broken in %d of %d runs with this fault, and in %d without it", f,
				with, otherSeeds, without)
			return
		}
	}
}

// judgeWithout judges the law in a run of the plan with the given seed. drop lists the indices of the faults to leave
// out.
func (n *Necessity) judgeWithout(s *Story, seed uint64, drop ...int) checker.Finding {
	p := s.Plan
	p.Seed = seed
	v, err := n.again.Without(p, []checker.Law{s.Law}, drop...)
	if err != nil {
		n.t.Fatalf("%v\n%s", err, p)
	}
	return v.Of(s.Law)
}

// neededTogether reports whether fault i belongs to a minimal group of named faults that matter together: the violation
// does not occur if the whole group is left out, but still occurs if only part of the group is left out.
func neededTogether(i int, named []int, without func(...int) bool) bool {
	if !without(named...) {
		return false
	}
	drop := named
	for _, o := range named {
		if fewer := slices.DeleteFunc(slices.Clone(drop), func(d int) bool { return d == o }); o != i &&
			without(fewer...) {
			drop = fewer
		}
	}
	return !without(slices.DeleteFunc(slices.Clone(drop), func(d int) bool { return d == i })...)
}
