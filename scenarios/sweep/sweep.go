// Package sweep varies a scenario's settings (keys) and finds the edges: the values at which a law starts to hold or to
// break.
//
// Goals: an edge is located to within its key's resolution, and runs on both sides show it; an assertion is also tried
// where its condition becomes true; a point without judged runs is never called safe; the result does not depend on the
// number of workers; a report distinguishes values that were tried from those in between; signs differ in shape as well
// as color, for readers who cannot tell all colors apart; identical sweeps produce identical bytes.
//
// Non-goals: faults other than the scenario's own (see search, verify), and how a diagram is drawn (see plot).
//
// Conditions have a hand-written parser because github.com/expr-lang/expr computes in float64 (0.1 + 0.2 == 0.3 is
// false), rejects 2ms, parses the key append-fsync as a subtraction, and adds 3 MB to the program.
package sweep

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Sweep is the result of a sweep: each law's outcome at the points of a grid of values, and the edges where it changes.
type Sweep struct {
	subject *Subject
	Options
	// Points are the grid points. The index along the first axis changes fastest: if that axis has n levels, the point
	// at level i of the first axis and level k of the second is Points[i+k*n].
	Points []*Point
	// Between are the points tried between grid points. First come those where an assertion's condition becomes true,
	// then those tried while bisecting, then those in the middle of a range in which a law is broken in some runs. A
	// point tried while bisecting may have fewer runs: its runs stop early if, by then, each law being bisected was
	// broken in one run and not broken in another.
	Between  []*Point
	Edges    []Edge
	Asserted []Asserted
	// Interrupted is set if ctx was done before everything had been tried. Points that are incomplete for this reason
	// are marked Stopped and never count as safe.
	Interrupted bool
}

// Options determine what is varied, and which laws and assertions are judged.
type Options struct {
	Axes       []Axis // one or two
	Laws       []checker.Law
	Assertions []*Assertion
	From       uint64 // the first seed
	Seeds      int    // number of runs of each point, with consecutive seeds; at least 1
	Sure       int    // minimum number of runs of a point beside an edge or a change of a condition; at least Seeds
	// Resolution is, for each unit, how far apart the values on the two sides of a bisected edge may be. Zero means the
	// default: 1 ms, 1, or 1 ppm.
	Resolution [Rates + 1]int64
	// Crew performs the runs. Its Hands are workers created by NewWorker. Its Progress function is called with the
	// number of points or edges done so far.
	campaign.Crew
}

// check returns an error if the options are invalid, and sets the default resolutions.
func (o *Options) check(b *Subject) error {
	points := 1
	for i := range o.Axes {
		points *= len(o.Axes[i].Levels)
		for _, k := range o.Axes[i].Keys {
			if slices.ContainsFunc(b.given, func(g given) bool { return g.path == k.Path }) {
				return fmt.Errorf("%s is both set and varied", k.Path)
			}
			for n := range i {
				for _, other := range o.Axes[n].Keys {
					if other.Path == k.Path {
						return fmt.Errorf("%s is varied twice", k.Path)
					}
				}
			}
		}
	}
	switch {
	case len(o.Axes) < 1 || len(o.Axes) > 2:
		return fmt.Errorf("a sweep has one axis or two, not %d; keys that vary together are joined by a comma",
			len(o.Axes))
	case points > maxPoints:
		return fmt.Errorf("the grid has %d points, but a sweep has at most %d: "+
			"use larger steps, since edges between points are bisected", points, maxPoints)
	case o.Workers < 0:
		return fmt.Errorf("the number of workers cannot be negative: %d", o.Workers)
	case o.Seeds < 1 || uint64(o.Seeds-1) > math.MaxUint64-o.From:
		return fmt.Errorf("there are fewer than %d seeds from seed %d on", o.Seeds, o.From)
	}
	for unit, standard := range map[Unit]int64{Durations: 1_000_000, Counts: 1, Rates: 1} {
		if o.Resolution[unit] == 0 {
			o.Resolution[unit] = standard
		}
	}
	return nil
}

func (o *Options) resolution(axis int) int64 { return o.Resolution[o.Axes[axis].unit()] }

// Resolve parses a resolution such as "10ms", "2" or "100ppm", and sets it for all axes with that unit. The axes must
// already be set.
func (o *Options) Resolve(text string) error {
	for i := range o.Axes {
		k := o.Axes[i].Keys[0]
		if n, err := k.parseNumber(text); err == nil && o.Axes[i].unit() != Words {
			if n <= 0 {
				return fmt.Errorf("%s is not above zero", text)
			}
			o.Resolution[k.Unit] = n
			return nil
		}
	}
	return fmt.Errorf("no axis has the unit of %q", text)
}

// Sweep runs the scenario at all points, bisects the edges between them, and judges the assertions. The result does not
// depend on the number of workers. When ctx is done, Sweep returns what it has found so far. It returns an error if an
// option is invalid, if no point is a valid scenario, if a condition cannot be evaluated at a point, or if a run fails.
func (b *Subject) Sweep(ctx context.Context, o Options) (*Sweep, error) {
	s, err := b.begin(o)
	if err != nil {
		return nil, err
	}
	for i := range s.size() {
		s.Points = append(s.Points, &Point{Levels: s.levels(i)})
	}
	turns, err := s.findTurns()
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx, turns); err != nil {
		return nil, err
	}
	for _, find := range []func(context.Context) error{s.makeSure, s.findEdges, s.sample} {
		if err := find(ctx); err != nil {
			return nil, err
		}
	}
	return s, s.judge()
}

// begin returns a sweep without points.
func (b *Subject) begin(o Options) (*Sweep, error) {
	if err := o.check(b); err != nil {
		return nil, err
	}
	o.Sure = max(o.Sure, o.Seeds)
	return &Sweep{subject: b, Options: o}, nil
}

// size returns the number of grid points.
func (o *Options) size() int {
	n := 1
	for i := range o.Axes {
		n *= len(o.Axes[i].Levels)
	}
	return n
}

// levels returns the values at the ith grid point.
func (o *Options) levels(i int) []Level {
	var levels []Level
	for k := range o.Axes {
		of := o.Axes[k].Levels
		levels = append(levels, of[i%len(of)])
		i /= len(of)
	}
	return levels
}

// words describes a point, for example "lock.ttl 10s, restart 5s".
func (o *Options) words(levels []Level) string {
	var parts []string
	for i, l := range levels {
		parts = append(parts, o.Axes[i].Name+" "+l.Text)
	}
	return strings.Join(parts, ", ")
}

// run performs the runs for the grid points, and for the points in beside, which lie between them.
func (s *Sweep) run(ctx context.Context, beside [][]Level) error {
	var jobs []job
	for _, p := range s.Points {
		jobs = append(jobs, job{A: &Point{Levels: p.Levels}, Runs: s.Seeds})
	}
	for _, levels := range beside {
		jobs = append(jobs, job{A: &Point{Levels: levels}, Runs: s.Sure})
	}
	grid := make([]*Point, 0, len(s.Points))
	valid := 0
	_, err := s.perform(ctx, "points", 0, jobs, func(i int, o outcome) error {
		p := o.Points[0]
		if i < len(s.Points) {
			grid = append(grid, p)
		} else {
			s.Between = append(s.Between, p)
		}
		if p.Problem == "" {
			valid++
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		s.Interrupted = true
		for _, left := range s.Points[len(grid):] {
			left.Stopped = true
			grid = append(grid, left)
		}
	case valid == 0:
		return fmt.Errorf("no combination of the values gives a valid scenario; at %s: %s", s.words(grid[0].Levels),
			grid[0].Problem)
	}
	s.Points = grid
	return nil
}

// findEdges bisects every side of the grid (the interval between two neighboring points) on which a law's outcome
// changes. Once ctx is done, it records the remaining sides as edges without bisecting them.
func (s *Sweep) findEdges(ctx context.Context) error {
	var flipped []side
	var jobs []job
	for _, e := range s.sides() {
		if slices.ContainsFunc(s.Laws, func(l checker.Law) bool { return flips(s.Points[e.a], s.Points[e.b], l) }) {
			flipped = append(flipped, e)
			jobs = append(jobs, job{A: s.Points[e.a], B: s.Points[e.b], Axis: e.axis})
		}
	}
	w := &sweeper{Sweep: s, ctx: ctx}
	done, err := s.perform(ctx, "edges", 0, jobs, func(i int, o outcome) error {
		c := w.crossing(&jobs[i])
		c.add(o)
		s.Edges = append(s.Edges, c.edges(flipped[i].a)...)
		s.Between = append(s.Between, c.tried...)
		return nil
	})
	s.Interrupted = s.Interrupted || ctx.Err() != nil
	if err != nil {
		return err
	}
	for i := done; i < len(jobs); i++ {
		s.Edges = append(s.Edges, w.crossing(&jobs[i]).edges(flipped[i].a)...)
	}
	return nil
}

// findTurns determines, for each assertion, where its condition is true: at which grid points, and between which values
// it becomes true or false. It stores both in s.Asserted. If such a value lies between two grid points, the point with
// that value must also be run; findTurns returns these points.
func (s *Sweep) findTurns() (beside [][]Level, err error) {
	seen := map[string]bool{}
	for _, a := range s.Assertions {
		j := Asserted{Assertion: a}
		truths := make([]truth, len(s.Points))
		for i, p := range s.Points {
			if truths[i], err = s.truth(a, p.Levels); err != nil {
				return nil, err
			}
			j.True = append(j.True, truths[i] == yes)
		}
		for _, e := range s.sides() {
			n, ok, err := s.turnOn(a, e, truths[e.a], truths[e.b])
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			levels := s.levelsOn(e, n)
			j.Turns = append(j.Turns, Turn{e.a, e.axis, levels[e.axis]})
			inside := n != s.Points[e.a].Levels[e.axis].N && n != s.Points[e.b].Levels[e.axis].N
			if key := fmt.Sprint(levels); inside && !seen[key] {
				seen[key] = true
				beside = append(beside, levels)
			}
		}
		s.Asserted = append(s.Asserted, j)
	}
	return beside, nil
}

// truth says whether a condition is true at a point. The zero value, none, means that the point is not a valid
// scenario.
type truth uint8

const (
	none truth = iota
	yes
	no
)

func (s *Sweep) truth(a *Assertion, levels []Level) (truth, error) {
	v := s.subject.vary(s.Axes, levels)
	if v.scenario == nil {
		return none, nil
	}
	applies, err := a.applies(v)
	switch {
	case err != nil:
		return none, fmt.Errorf("at %s: %w", s.words(levels), err)
	case applies:
		return yes, nil
	}
	return no, nil
}

// turnOn finds where a condition becomes true or false on a side of the grid (the interval between two neighboring
// points). It returns the value next to the change for which the condition is true. If the condition does not change,
// ok is false.
func (s *Sweep) turnOn(a *Assertion, e side, from, to truth) (n int64, ok bool, err error) {
	if from == none || to == none {
		return 0, false, nil
	}
	lo, hi := s.Points[e.a].Levels[e.axis].N, s.Points[e.b].Levels[e.axis].N
	flips := bisect(lo, hi, from, to, s.resolution(e.axis), func(n int64) (truth, bool) {
		t, failed := s.truth(a, s.levelsOn(e, n))
		if failed != nil {
			err = failed
		}
		return t, t != none
	})
	switch {
	case err != nil || len(flips) == 0:
		return 0, false, err
	case flips[0].before == yes:
		return flips[0].last, true, nil
	}
	return flips[0].first, true, nil
}

// judge checks the assertions at all points.
func (s *Sweep) judge() error {
	for i := range s.Asserted {
		a := &s.Asserted[i]
		for n, p := range s.Points {
			if a.True[n] {
				a.count(p, s.From)
			}
		}
		for _, p := range s.Between {
			t, err := s.truth(a.Assertion, p.Levels)
			if err != nil {
				return err
			}
			if t == yes {
				a.count(p, s.From)
			}
		}
		if s.Interrupted && a.Standing != document.Failed {
			a.Standing = document.Undecided
		}
	}
	return nil
}

// fixed returns a key's value at the first valid point. ok is false if the key is being varied, or if its value is not
// a single number.
func (s *Sweep) fixed(path string) (Level, bool) {
	k, err := s.subject.key(path)
	if err != nil {
		return Level{}, false
	}
	for _, p := range s.Points {
		if p.Problem != "" {
			continue
		}
		v := s.subject.vary(s.Axes, p.Levels)
		n, ok := v.read(k)
		if _, varied := v.given[k.Path]; varied || !ok {
			return Level{}, false
		}
		return k.number(n), true
	}
	return Level{}, false
}

// faults returns the scenario's faults, one line each and in order, before they are varied.
func (s *Sweep) faults() []string { return s.subject.faultLines() }

// title says what an axis varies.
func (s *Sweep) title(axis int) string { return s.Axes[axis].Title(s.subject) }

// at returns the lock's TTL as text, such as "lock.ttl 10s". Reports show it next to edges, which depend on the TTL. If
// the TTL is being varied, at returns "".
func (s *Sweep) at() string {
	ttl, ok := s.fixed("lock.ttl")
	if !ok {
		return ""
	}
	return "lock.ttl " + ttl.Text
}

// sharedSettings describes the settings that have the same value at all points: first the TTL, then the settings that
// were passed to Set.
func (s *Sweep) sharedSettings() []string {
	at := s.at()
	if at == "" {
		return s.subject.givenTexts()
	}
	return append([]string{at}, slices.DeleteFunc(s.subject.givenTexts(),
		func(given string) bool { return given == at })...)
}

// made returns how many runs were performed and how many points were tried, including those between grid points.
func (s *Sweep) made() (runs, points int) {
	for _, all := range [][]*Point{s.Points, s.Between} {
		for _, p := range all {
			runs += p.Runs
		}
	}
	return runs, len(s.Points) + len(s.Between)
}

// idle returns the numbers, counting from 1, of the faults that did not strike in any run at any grid point.
func (s *Sweep) idle() []int {
	var idle []int
	for i := range s.subject.faults {
		most := -1
		for _, p := range s.Points {
			if p.Runs > 0 {
				most = max(most, p.Struck[i])
			}
		}
		if most == 0 {
			idle = append(idle, i+1)
		}
	}
	return idle
}

// Standing returns the overall result of the assertions. It is Failed if one of them failed. Otherwise it is Undecided
// if the sweep was interrupted, if an assertion is undecided, or if there was no point at which an assertion's
// condition was true. In all other cases it is Passed, even without assertions.
func (s *Sweep) Standing() document.Result {
	sum := document.Passed
	if s.Interrupted {
		sum = document.Undecided
	}
	for _, a := range s.Asserted {
		switch a.Standing {
		case document.Failed:
			return document.Failed
		case document.Passed:
		default:
			sum = document.Undecided
		}
	}
	return sum
}
