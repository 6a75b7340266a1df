package single

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Trials finds out which faults are needed for a violation, by removing faults from a plan and running the plan again.
// It is not safe for concurrent use.
type Trials struct {
	runner   *scenarios.Runner
	checker  checker.Checker
	violated []checker.Law              // laws violated by the original run
	tried    map[string]checker.Verdict // verdicts on those laws, keyed by the indexes of the removed faults
}

// NewTrials returns Trials for runs of s.
func NewTrials(s *scenarios.Scenario) *Trials { return &Trials{runner: scenarios.NewRunner(s)} }

// mostTried is the maximum number of faults in a plan that are removed one by one. In a longer plan, only the faults
// named in the explanation are removed, first one by one and then all at once. Finally, all the plan's faults are
// removed at once.
const mostTried = 64

// Try adds trials to each breach in v. v is the verdict on h, and h is the history of a run of p. A trial says what
// happens without certain faults in the plan. Each fault that is necessary by itself gets a trial. If there is none, a
// smallest set of faults that are necessary together gets one. Each fault that the explanation names also gets a trial,
// even if it is unnecessary. If the violation needs no fault at all, Try says so.
func (r *Trials) Try(p nemesis.Plan, h *history.History, v *checker.Verdict) error {
	r.violated, r.tried = nil, map[string]checker.Verdict{}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Outcome == checker.Violated {
			r.violated = append(r.violated, f.Law)
		}
	}
	if len(p.Faults) == 0 {
		return nil
	}
	for b := range v.Breaches() {
		if err := r.try(p, h, b); err != nil {
			return err
		}
	}
	return nil
}

func (r *Trials) try(p nemesis.Plan, h *history.History, f *checker.Finding) error {
	named := slices.Concat(NamedIn(p, h, f)...)
	rest := slices.DeleteFunc(upTo(len(p.Faults)), func(i int) bool { return slices.Contains(named, i) })
	later := Later(p, h, f)
	var needed, idle []int // indexes of faults in the plan
	var vain []checker.Trial
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
		if t.Needed {
			needed, f.Trials = append(needed, i), append(f.Trials, t)
			continue
		}
		if idle = append(idle, i); slices.Contains(named, i) {
			vain = append(vain, t)
		}
	}
	together := len(needed) == 0
	if together {
		t, places, err := r.together(p, f, named, rest)
		if err != nil {
			return err
		}
		if t.Needed {
			f.Trials = append(f.Trials, t)
		} else {
			vain = append(vain, t)
		}
		needed = places
		vain = slices.DeleteFunc(vain, func(t checker.Trial) bool { // these faults matter only together
			return slices.ContainsFunc(places,
				func(i int) bool { return slices.Contains(t.Faults, p.Faults[i].String()) })
		})
		idle = slices.DeleteFunc(idle, func(i int) bool { return slices.Contains(places, i) })
	}
	r.settle(p, h, f, needed, idle, together)
	lines := linesOf(p)
	f.Trials = append(f.Trials, slices.DeleteFunc(vain, func(t checker.Trial) bool {
		return len(t.Faults) == 1 && !slices.ContainsFunc(f.Faults, func(at int) bool {
			return slices.ContainsFunc(lines.struckBy(h.Events[at].Value),
				func(i int) bool { return p.Faults[i].String() == t.Faults[0] })
		})
	})...)
	f.Trials = distinct(f.Trials)
	return nil
}

// distinct returns the trials without duplicates. A plan can contain the same fault several times, so two trials may be
// equal.
func distinct(trials []checker.Trial) (all []checker.Trial) {
	said := map[string]bool{}
	for _, t := range trials {
		if text := t.String(); !said[text] {
			said[text], all = true, append(all, t)
		}
	}
	return all
}

// settle revises the explanation in f so that it names the needed faults and omits the idle ones, which the violation
// does not need. If the new explanation has a different kind of cause, settle keeps the old one. either is set if each
// of the needed faults alone is enough.
func (r *Trials) settle(p nemesis.Plan, h *history.History, f *checker.Finding, needed, idle []int, either bool) {
	lines := linesOf(p)
	strikesOf := func(places []int) (strikes []int) {
		for i := range h.Events[:f.At+1] {
			e := &h.Events[i]
			if e.Process == history.Nemesis && e.Type == history.Invoke &&
				slices.ContainsFunc(lines.struckBy(e.Value), func(n int) bool { return slices.Contains(places, n) }) {
				strikes = append(strikes, e.Index)
			}
		}
		return strikes
	}
	names := func(places ...int) bool {
		return slices.ContainsFunc(strikesOf(places), func(at int) bool { return slices.Contains(f.Faults, at) })
	}
	if !names(idle...) && (len(f.Faults) > 0 || len(needed) == 0) {
		return
	}
	known := checker.Known{Idle: strikesOf(idle), Needed: strikesOf(needed), Either: either}
	known.Idle = slices.DeleteFunc(known.Idle, // a fault is not idle if its strike may be that of a needed fault
		func(at int) bool { return slices.Contains(known.Needed, at) })
	known.Later = slices.ContainsFunc(f.Trials, func(t checker.Trial) bool { return t.Needed && t.Later })
	if g := r.checker.CheckKnowing(h, f, known); g.Cause.Kind == f.Cause.Kind {
		g.Cause, g.Judges, g.Trials, g.Further = f.Cause, f.Judges, f.Trials, f.Further
		*f = g
	}
}

// Later returns the plan indexes of the faults that had not struck yet when the finding's law was broken. They did not
// cause the breach, but might cause a similar one if its cause were removed.
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

// together looks for a smallest set of faults without which the violation disappears, and returns their indexes. It
// prefers the named faults. In a long plan, it searches only the named faults; if they are not enough, it tries
// removing all faults at once.
func (r *Trials) together(p nemesis.Plan, f *checker.Finding, named, rest []int) (checker.Trial, []int, error) {
	order := append(rest, named...)
	if len(p.Faults) > mostTried && len(named) > 1 {
		t, err := r.trial(p, f, named...)
		if err != nil {
			return t, nil, err
		}
		if t.Needed {
			order = named
		}
	}
	t, err := r.trial(p, f, order...)
	if err != nil || !t.Needed || len(order) > mostTried { // finding a smallest set would take a run for each fault
		t.Faults = nil
		return t, nil, err
	}
	drop := order
	for _, i := range order {
		fewer := slices.DeleteFunc(slices.Clone(drop), func(o int) bool { return o == i })
		less, err := r.trial(p, f, fewer...)
		if err != nil {
			return less, nil, err
		}
		if less.Needed {
			drop, t = fewer, less
		}
	}
	return t, drop, nil
}

// trial runs p without the faults at the given indexes.
func (r *Trials) trial(p nemesis.Plan, f *checker.Finding, drop ...int) (checker.Trial, error) {
	drop = slices.Sorted(slices.Values(drop))
	dropped := fmt.Sprint(drop)
	v, known := r.tried[dropped]
	if !known {
		var err error
		if v, err = r.Without(p, r.violated, drop...); err != nil {
			return checker.Trial{}, err
		}
		r.tried[dropped] = v
	}
	g := v.Of(f.Law)
	t := checker.Trial{Needed: true, Outcome: g.Outcome, Cause: g.Cause}
	if b := g.By(f.Cause); b != nil {
		t.Needed, t.Cause = false, b.Cause
		if !checker.SameViolation(*f, *b) {
			t.Others = b.Holders
		}
	}
	for _, i := range drop {
		t.Faults = append(t.Faults, p.Faults[i].String())
	}
	return t, nil
}

// Without runs p without the faults at the given indexes, and returns the verdict on the given laws.
func (r *Trials) Without(p nemesis.Plan, laws []checker.Law, drop ...int) (checker.Verdict, error) {
	var left []nemesis.Fault
	for i := range p.Faults {
		if !slices.Contains(drop, i) {
			left = append(left, p.Faults[i])
		}
	}
	p.Faults = left
	result, err := r.runner.Run(p)
	if err != nil {
		return checker.Verdict{}, err
	}
	return r.checker.CheckOnly(result.History, laws), nil
}

// NamedIn returns the faults that a finding names. Each element is a list of indexes in the plan, which belongs to an
// event at which a fault struck. Usually, it contains one fault. If the history does not show which of several faults
// struck, it contains all of them: faults may have equal lines, and the record of a failover does not say what
// triggered it. A failover that a Sentinel initiated on its own is not in the plan, so there is no list for it.
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

// planLines contains the lines of a plan's faults as they are recorded in a history.
type planLines []string

func linesOf(p nemesis.Plan) planLines {
	lines := make(planLines, len(p.Faults))
	for i, f := range p.Faults {
		lines[i] = f.Recorded()
	}
	return lines
}

// struckBy returns the indexes of the faults that a history records with the given line.
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
