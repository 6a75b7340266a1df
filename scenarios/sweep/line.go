package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// Stretch is a range of values on an axis. The law had the same outcome at every value tried in the range.
type Stretch struct {
	State    State
	From, To Level // the first and the last value tried in the range
	// At is one of the values tried. If the law is broken in only some runs of the stretch, At is in the middle of the
	// stretch. Otherwise it is next to the edge. Runs is the number of runs with this value, and Violated is the number
	// of those that broke the law.
	At             Level
	Violated, Runs int
	shown          *Point // the point at At
}

// Line contains a law's outcomes along an axis.
type Line struct {
	Axis int
	// Other is the value on the other axis, or nil if the sweep has only one axis.
	Other *Level
	// Stretches (ranges of values with the same outcome) cover all tried values, in ascending order. Neighboring
	// stretches have different states.
	Stretches []Stretch
}

// Words says where the law is safe. If key is not empty, it precedes the first value. A law is called "safe from" a
// value only if it is not broken at any higher value. If the outcome depends on the seed, Words says in how many runs
// the law is broken.
func (l *Line) Words(key string) string {
	n := len(l.Stretches)
	if n == 0 {
		return ""
	}
	if key != "" {
		key += " "
	}
	first, last := &l.Stretches[0], &l.Stretches[n-1]
	switch {
	case n == 1 && first.State == Chance:
		return fmt.Sprintf("%s, in some runs at all values that were tried", first.chance(key))
	case n == 1:
		return fmt.Sprintf("%v at all values that were tried", first.State)
	case l.byChance():
		return l.shares(key)
	case n == 2 && first.State == Broken && last.State == Safe:
		return "safe from " + key + last.From.Text + "; broken up to " + first.To.Text
	case n == 2 && first.State == Safe && last.State == Broken:
		return "safe up to " + key + first.To.Text + "; broken from " + last.From.Text
	}
	var parts []string
	for i := range l.Stretches {
		s := &l.Stretches[i]
		switch {
		case s.State == Chance:
			parts = append(parts, s.chance(key))
		case s.From != s.To:
			parts = append(parts, s.State.String()+" from "+key+s.From.Text+" to "+s.To.Text)
		default:
			parts = append(parts, s.State.String()+" at "+key+s.From.Text)
		}
	}
	return strings.Join(parts, "; ")
}

// byChance reports whether the seed decides the outcome at some value: the law is broken in only some of the runs with
// this value. byChance returns false if there is a value on the line at which the law could not be judged.
func (l *Line) byChance() bool {
	is := func(states ...State) func(Stretch) bool {
		return func(s Stretch) bool { return slices.Contains(states, s.State) }
	}
	return slices.ContainsFunc(l.Stretches, is(Chance)) && !slices.ContainsFunc(l.Stretches, is(Unjudged, Invalid))
}

// shares says, for each stretch (a range of values), in how many runs the law is broken.
func (l *Line) shares(key string) string {
	runs := " runs"
	var parts []string
	for i := range l.Stretches {
		s := &l.Stretches[i]
		where := " from " + key + s.From.Text
		switch {
		case i == 0:
			where = " up to " + key + s.To.Text
		case i < len(l.Stretches)-1:
			where += " to " + s.To.Text
		}
		switch s.State {
		case Broken:
			parts = append(parts, "always"+where)
		case Chance:
			parts = append(parts, fmt.Sprintf("in %d of %d%s at %s%s", s.Violated, s.Runs, runs, key, s.At.Text))
			runs = ""
		case Safe:
			parts = append(parts, fmt.Sprintf("in none of %d%s%s", s.Runs, runs, where))
			runs = ""
		}
		key = ""
	}
	return "broken " + strings.Join(parts, ", ")
}

// chance says in how many runs the law is broken if the key has the value At.
func (s *Stretch) chance(key string) string {
	return fmt.Sprintf("broken in %d of %d runs at %s%s", s.Violated, s.Runs, key, s.At.Text)
}

// monotone reports whether the outcomes only get better, or only get worse, along the line.
func (l *Line) monotone() bool {
	before, way := Unjudged, 0
	for _, s := range l.Stretches {
		if s.State == Unjudged || s.State == Invalid {
			continue
		}
		if before != Unjudged && s.State != before {
			turn := 1
			if s.State < before {
				turn = -1
			}
			if turn == -way {
				return false
			}
			way = turn
		}
		before = s.State
	}
	return true
}

// lines returns a law's outcomes along the first ordered axis, one line for each level of the other axis. It returns
// nil if no axis is ordered.
func (s *Sweep) lines(law checker.Law) []Line {
	for axis := range s.Axes {
		if !s.Axes[axis].ordered() {
			continue
		}
		var lines []Line
		for _, points := range s.rows(axis) {
			l := Line{Axis: axis, Stretches: s.stretches(law, axis, points)}
			if len(s.Axes) == 2 {
				l.Other = &s.Points[points[0]].Levels[1-axis]
			}
			lines = append(lines, l)
		}
		return lines
	}
	return nil
}

// rows returns the indices of the points along an axis, one row for each level of the other axis.
func (s *Sweep) rows(axis int) [][]int {
	n := len(s.Axes[axis].Levels)
	rows := make([][]int, len(s.Points)/n)
	for i := range s.Points {
		row := 0
		if len(s.Axes) == 2 {
			row = i % len(s.Axes[0].Levels)
			if axis == 0 {
				row = i / n
			}
		}
		rows[row] = append(rows[row], i)
	}
	return rows
}

// stretches merges the points along an axis, and the edges between them, into ranges of values with the same outcome.
func (s *Sweep) stretches(law checker.Law, axis int, points []int) []Stretch {
	var all []Stretch
	add := func(state State, p *Point) {
		l := p.Levels[axis]
		switch n := len(all); {
		case n == 0 || all[n-1].State != state:
			all = append(all, Stretch{State: state, From: l, To: l, shown: p})
		case n == 1 && state != Chance: // At is then next to the following edge
			all[0].To, all[0].shown = l, p
		default:
			all[n-1].To = l
		}
	}
	for i, at := range points {
		p := s.Points[at]
		add(p.State(law), p)
		if i == len(points)-1 {
			break
		}
		next := s.Points[points[i+1]]
		for _, e := range s.Edges {
			if e.Law == law && e.Axis == axis && e.within(p, next, axis) {
				add(e.Before, e.Last)
				add(e.After, e.First)
			}
		}
	}
	for i := range all {
		st := &all[i]
		if st.State == Chance {
			st.shown = s.inMiddle(axis, st)
		}
		st.At, st.Violated, st.Runs = st.shown.Levels[axis], st.shown.Laws.Of(law).Violated, st.shown.Runs
	}
	return all
}

// inMiddle returns the point nearest to the middle of a stretch (a range of values), among the tried points with the
// most runs.
func (s *Sweep) inMiddle(axis int, of *Stretch) *Point {
	best := of.shown
	for _, p := range slices.Concat(s.Points, s.Between) {
		on := p.Levels[axis].N >= of.From.N && p.Levels[axis].N <= of.To.N
		for i := range p.Levels {
			on = on && (i == axis || p.Levels[i] == best.Levels[i])
		}
		off := func(p *Point) int64 { d := 2*p.Levels[axis].N - of.From.N - of.To.N; return max(d, -d) }
		if on && (p.Runs > best.Runs || p.Runs == best.Runs && off(p) < off(best)) {
			best = p
		}
	}
	return best
}

// within reports whether the edge lies between the neighbors a and b on the axis.
func (e *Edge) within(a, b *Point, axis int) bool {
	for i := range a.Levels {
		if i != axis && e.Last.Levels[i] != a.Levels[i] {
			return false
		}
	}
	return a.Levels[axis].N <= e.Last.Levels[axis].N && e.First.Levels[axis].N <= b.Levels[axis].N
}
