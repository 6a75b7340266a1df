package sweep

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// State is the outcome for a law at a point.
type State uint8

// The states of a law at a point. The zero State is Unjudged, not Safe.
const (
	Unjudged State = iota // none of the other states: some runs are unchecked, undecided or missing
	Safe                  // held in all runs, and no run is missing
	Chance                // violated in some runs but not in others
	Broken                // violated in all runs that were performed
	Invalid               // the values are not a valid scenario, so nothing was run
)

// String returns the words that reports use for the state.
func (s State) String() string {
	return [...]string{"not judged", "safe", "broken in some", "broken", "no valid scenario"}[s]
}

// Point is a combination of values, along with the outcomes of its runs.
type Point struct {
	Levels  []Level       // one for each axis
	Problem string        // why this is not a valid scenario; if set, nothing was run
	Laws    campaign.Laws // in the order of checker.Laws
	// Findings are the violations, one for each cause, in the order in which they were found.
	Findings campaign.Findings
	// Struck says, for each of the scenario's faults, in how many runs it struck. The number is -1 for a fault that is
	// omitted at this point.
	Struck []int
	Runs   int
	// Stopped is set if the sweep was interrupted before Options.Seeds runs had been performed at the point.
	Stopped bool
	Cut     bool // the runs ended early, because each law of interest was already broken in some but not all of them
	// Runs 0 to First-1 and the runs in Others have been performed. Run n uses the seed Options.From + n.
	First  int
	Others []int
}

// State returns the outcome for a law at the point.
func (p *Point) State(law checker.Law) State {
	if p.Problem != "" {
		return Invalid
	}
	switch t := p.Laws.Of(law); {
	case t.Violated > 0 && t.Violated < p.Runs:
		return Chance
	case p.Cut:
	case t.Violated > 0:
		return Broken
	case t.Holds > 0 && t.Undecided+t.Unchecked == 0 && !p.Stopped:
		return Safe
	}
	return Unjudged
}

// sure reports whether a point next to an edge, where a law's outcome changes, has had enough runs for its outcome to
// be reliable.
func (o *Options) sure(p *Point, law checker.Law) bool {
	state := p.State(law)
	return p.Runs >= o.Sure || state != Safe && state != Broken
}

// tally counts the outcomes for a law at a point. Runs that did not take place because of an interruption count as
// NotRun.
func (s *Sweep) tally(p *Point, law checker.Law) campaign.Counts {
	t := p.Laws.Of(law)
	if p.Stopped {
		t.NotRun = s.Seeds - p.Runs
	}
	return t
}

// varied is the scenario with one combination of the axes' values.
type varied struct {
	doc      *format.Document // does not contain mix, promise and expect
	faults   []variedFault    // all faults; doc contains only those that are not void
	given    map[string]Level // values set by the axes, keyed by path
	listed   []int            // indices of the faults in doc
	scenario *scenarios.Scenario
	common   *scenarios.Scenario // the same scenario without overrides; nil until needed
	problem  string              // why there is no valid scenario
}

// vary returns the scenario with the given values of the axes.
func (b *Subject) vary(axes []Axis, levels []Level) *varied {
	v := &varied{doc: b.doc.Clone(), faults: slices.Clone(b.faults), given: map[string]Level{}}
	for i, a := range axes {
		for _, k := range a.Keys {
			v.given[k.Path] = levels[i]
			if k.fault > 0 {
				k.set(v.faults, levels[i].N)
			} else {
				v.doc.Set(k.Path, levels[i].Text)
			}
		}
	}
	for _, key := range []string{"mix", "promise", "expect"} {
		v.doc.Remove(key)
	}
	lines, problem := faultLines(v.faults)
	if problem != "" {
		v.problem = problem
		return v
	}
	for i := range v.faults {
		if !v.faults[i].void {
			v.listed = append(v.listed, i)
		}
	}
	v.doc.Remove("faults")
	if len(lines) > 0 {
		v.doc.SetList("faults", lines)
	}
	v.scenario, v.problem = asScenario(v.doc)
	return v
}

// asScenario parses a document as a scenario. If the document is not valid, problem is a sentence that says why.
func asScenario(d *format.Document) (s *scenarios.Scenario, problem string) {
	s, err := scenarios.Parse("scenario", []byte(d.String()))
	var bad *format.Error
	switch {
	case errors.As(err, &bad) && len(bad.Problems) > 0:
		return nil, meaning(bad.Problems[0].Message, bad.Problems[0].Nearest).Error()
	case err != nil:
		return nil, err.Error()
	}
	return s, ""
}

// withoutOverrides returns the scenario without its overrides. It is used to read the values of keys that all clients
// share.
func (v *varied) withoutOverrides() *scenarios.Scenario {
	if v.common == nil {
		d := v.doc.Clone()
		d.Remove("overrides")
		v.common, _ = asScenario(d)
	}
	return v.common
}

// Claimed returns a scenario file for a point, in which the given outcome is expected for the law.
func (s *Sweep) Claimed(p *Point, law checker.Law, outcome checker.Outcome) string {
	v := s.subject.vary(s.Axes, p.Levels)
	v.doc.Set("expect."+string(law), outcome.String())
	return v.doc.String()
}

// Seen returns a scenario file for a point. The file expects each law to hold or to be violated as in the run with the
// given seed. It expects nothing of the laws that this run did not decide.
func (s *Sweep) Seen(p *Point, seed uint64) (string, error) {
	v := s.subject.vary(s.Axes, p.Levels)
	result, err := scenarios.NewRunner(v.scenario).Run(v.scenario.Plan(seed))
	if err != nil {
		return "", fmt.Errorf("%s, seed %d: %w", s.words(p.Levels), seed, err)
	}
	for _, f := range checker.Check(result.History).Findings {
		if f.Outcome == checker.Holds || f.Outcome == checker.Violated {
			v.doc.Set("expect."+string(f.Law), f.Outcome.String())
		}
	}
	return v.doc.String(), nil
}

// decided reports whether a law's state at the point is final, that is, whether the missing runs can no longer change
// it.
func (p *Point) decided(law checker.Law) bool {
	state := p.State(law)
	return state != Invalid && (state == Chance || !p.Stopped)
}

// sweeper performs the runs for points on behalf of one worker.
type sweeper struct {
	*Sweep
	ctx     context.Context
	checker checker.Checker
	strikes campaign.Strikes
}

// runMore performs those of the given runs that have not been performed at the point yet. It stops early when ctx is
// done. If until lists any laws, it also stops as soon as all of them are broken by chance, that is, have been violated
// in some runs but not in all. turned contains the runs after which one more of these laws was broken by chance.
func (w *sweeper) runMore(p *Point, runs iter.Seq[int], until []checker.Law) (turned []int, err error) {
	v := w.subject.vary(w.Axes, p.Levels)
	if p.Problem = v.problem; v.scenario == nil {
		return nil, nil
	}
	if p.Laws == nil {
		p.Laws = campaign.NewLaws(checker.Laws)
		p.Struck = slices.Repeat([]int{-1}, len(v.faults))
		for _, of := range v.listed {
			p.Struck[of] = 0
		}
	}
	p.Cut = false
	runner := scenarios.NewRunner(v.scenario)
	for n := range runs {
		if p.made(n) {
			continue
		}
		if w.ctx.Err() != nil {
			p.Stopped = p.Runs < w.Seeds
			break
		}
		before := p.byChance(until)
		if err := w.once(p, v, runner, n); err != nil {
			return nil, err
		}
		if after := p.byChance(until); after > before {
			turned = append(turned, n)
			if p.Cut = after == len(until); p.Cut {
				break
			}
		}
	}
	return turned, nil
}

// byChance counts the laws that have been violated in some runs but not in all.
func (p *Point) byChance(laws []checker.Law) (n int) {
	for _, law := range laws {
		if t := p.Laws.Of(law); t.Violated > 0 && t.Violated < p.Runs {
			n++
		}
	}
	return n
}

// once performs run number n of a point.
func (w *sweeper) once(p *Point, v *varied, runner *scenarios.Runner, n int) error {
	plan := v.scenario.Plan(w.From + uint64(n))
	result, err := runner.Run(plan)
	if err != nil {
		return fmt.Errorf("%s, seed %d: %w\n%s", w.words(p.Levels), plan.Seed, err, plan)
	}
	verdict := w.checker.Check(result.History)
	p.Laws.Count(verdict)
	p.Findings.Count(plan.Seed, verdict)
	w.strikes.Follow(plan.Faults, result.History)
	for k, of := range v.listed {
		if w.strikes.Struck(k) {
			p.Struck[of]++
		}
	}
	p.Runs++
	if n != p.First {
		p.Others = append(p.Others, n)
		return nil
	}
	for p.First++; slices.Contains(p.Others, p.First); p.First++ {
	}
	return nil
}

// made reports whether run number n has been performed.
func (p *Point) made(n int) bool { return n < p.First || slices.Contains(p.Others, n) }

// upTo yields the numbers in before, followed by 0 to n-1.
func upTo(n int, before ...int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range before {
			if !yield(i) {
				return
			}
		}
		for i := 0; i < n && yield(i); i++ {
		}
	}
}
