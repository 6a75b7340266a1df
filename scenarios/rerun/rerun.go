// Package rerun learns which faults of a plan a violation needs: it takes them away and runs the plan again.
//
// Goals: what is called needed was tried. Non-goals: the smallest plan (search), what would mend the lock (advise).
package rerun

import (
	"errors"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Trials takes faults away from plans and runs them again, to learn which of them a violation needs. It is not safe for
// concurrent use.
type Trials struct {
	runner  *scenarios.Runner
	checker checker.Checker
}

// New prepares to run s again.
func New(s *scenarios.Scenario) *Trials { return &Trials{runner: scenarios.NewRunner(s)} }

// mostTried is how many faults of a plan are taken away one by one. Plans are short; of one that is not, those that the
// explanation names are tried, one by one and together, and then all faults together.
const mostTried = 64

// Try adds to each violation of v, found in h, the run of p, what becomes of it without the faults of the plan: each
// fault that is necessary; where none is, the fewest that are so together; and each that the explanation names although
// it is not. Where the violation needs no fault at all, it says that.
func (r *Trials) Try(p nemesis.Plan, h *history.History, v *checker.Verdict) error {
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Outcome == checker.Violated && len(p.Faults) > 0 {
			if err := r.try(p, h, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Trials) try(p nemesis.Plan, h *history.History, f *checker.Finding) error {
	named := slices.Concat(NamedIn(p, h, f)...)
	rest := slices.DeleteFunc(upTo(len(p.Faults)), func(i int) bool { return slices.Contains(named, i) })
	later := Later(p, h, f)
	alone := false
	var idle []checker.Trial
	tried := named
	if len(p.Faults) <= mostTried {
		tried = slices.Concat(named, rest)
	}
	for _, i := range tried {
		t, err := r.trial(p, f, i)
		if err != nil {
			return err
		}
		if !t.Needed && len(later) > 0 && !slices.Contains(later, i) {
			if t, err = r.trial(p, f, append([]int{i}, later...)...); err != nil {
				return err
			}
			t.Faults, t.Later = []string{p.Faults[i].String()}, true
		}
		if alone = alone || t.Needed; t.Needed {
			f.Trials = append(f.Trials, t)
		} else if slices.Contains(named, i) {
			idle = append(idle, t)
		}
	}
	if alone {
		f.Trials = append(f.Trials, idle...)
		return nil
	}
	if len(p.Faults) > mostTried && len(named) > 1 {
		if t, err := r.trial(p, f, named...); err != nil || t.Needed {
			return errors.Join(err, r.together(p, f, named, idle))
		}
	}
	return r.together(p, f, append(rest, named...), idle)
}

// Later gives the places in a plan of the faults that had not struck when a finding's law was broken: they are no
// reason of it, but might bring about its like.
func Later(p nemesis.Plan, h *history.History, f *checker.Finding) []int {
	var struck []int
	lines := linesOf(p)
	for i := range h.Events {
		if e := &h.Events[i]; e.Index <= f.At && e.Process == history.Nemesis && e.Type == history.Invoke {
			struck = append(struck, lines.struckBy(e.Value)...)
		}
	}
	return slices.DeleteFunc(upTo(len(p.Faults)), func(i int) bool { return slices.Contains(struck, i) })
}

// together looks for the fewest faults that make the difference between them. Those that come last in order are kept.
func (r *Trials) together(p nemesis.Plan, f *checker.Finding, order []int, idle []checker.Trial) error {
	t, err := r.trial(p, f, order...)
	if err != nil {
		return err
	}
	if !t.Needed {
		t.Faults = nil
		f.Trials = append(idle, t)
		return nil
	}
	if len(order) > mostTried {
		t.Faults = nil // to find the fewest would take a run for each
		f.Trials = append(f.Trials, t)
		return nil
	}
	drop := order
	for _, i := range order {
		fewer := slices.DeleteFunc(slices.Clone(drop), func(o int) bool { return o == i })
		less, err := r.trial(p, f, fewer...)
		if err != nil {
			return err
		}
		if less.Needed {
			drop, t = fewer, less
		}
	}
	f.Trials = append(f.Trials, t)
	return nil
}

// trial runs p without the faults at the given places.
func (r *Trials) trial(p nemesis.Plan, f *checker.Finding, drop ...int) (checker.Trial, error) {
	g, err := r.Without(p, f.Law, drop...)
	if err != nil {
		return checker.Trial{}, err
	}
	t := checker.Trial{Needed: !checker.SameViolation(*f, g), Outcome: g.Outcome, Cause: g.Cause}
	for _, i := range slices.Sorted(slices.Values(drop)) {
		t.Faults = append(t.Faults, p.Faults[i].String())
	}
	return t, nil
}

// Without judges one law on the run of p without some of its faults, given by their places in the plan.
func (r *Trials) Without(p nemesis.Plan, law checker.Law, drop ...int) (checker.Finding, error) {
	var left []nemesis.Fault
	for i := range p.Faults {
		if !slices.Contains(drop, i) {
			left = append(left, p.Faults[i])
		}
	}
	p.Faults = left
	result, err := r.runner.Run(p)
	if err != nil {
		return checker.Finding{}, err
	}
	return r.checker.CheckOnly(result.History, []checker.Law{law}).Findings[0], nil
}

// NamedIn gives the places in a plan of the faults that a finding names, for each the one that struck, or all that may
// have struck at that event: their lines are the same, or they are failovers, whose record does not say what set them
// off. A failover that a Sentinel decided is none of the plan.
func NamedIn(p nemesis.Plan, h *history.History, f *checker.Finding) [][]int {
	var named [][]int
	lines := linesOf(p)
	for _, at := range f.Faults {
		places := lines.struckBy(h.Events[at].Value)
		if len(places) > 0 && !slices.ContainsFunc(named, func(o []int) bool { return slices.Equal(o, places) }) {
			named = append(named, places)
		}
	}
	return named
}

// planLines are the faults of a plan as a history records them.
type planLines []string

func linesOf(p nemesis.Plan) planLines {
	lines := make(planLines, len(p.Faults))
	for i, f := range p.Faults {
		lines[i] = f.Recorded()
	}
	return lines
}

// struckBy gives the places of the faults whose line a history records.
func (l planLines) struckBy(line string) []int {
	return slices.DeleteFunc(upTo(len(l)), func(i int) bool { return l[i] != line })
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
