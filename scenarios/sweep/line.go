package sweep

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// Stretch is a part of an axis on which a law came out alike at every value that was tried.
type Stretch struct {
	State    State
	From, To Level // the first and the last value tried
}

// Line is how a law came out along an axis.
type Line struct {
	Axis int
	// Other is the value of the other axis; nil if there is none.
	Other *Level
	// Stretches cover all values tried, the lowest first; neighbours differ.
	Stretches []Stretch
}

// Words say where the law is safe; key, if not empty, stands before the first value of each stretch. It is said to be
// safe from somewhere on only if it is not broken behind it.
func (l *Line) Words(key string) string {
	n := len(l.Stretches)
	if n == 0 {
		return ""
	}
	if key != "" {
		key += " "
	}
	first, last := l.Stretches[0], l.Stretches[n-1]
	switch {
	case n == 1:
		return first.State.String() + " at all values tried"
	case n == 2 && first.State == Broken && last.State == Safe:
		return "safe from " + key + last.From.Text + "; broken up to " + first.To.Text
	case n == 2 && first.State == Safe && last.State == Broken:
		return "safe up to " + key + first.To.Text + "; broken from " + last.From.Text
	}
	var parts []string
	for _, s := range l.Stretches {
		where := " at " + key + s.From.Text
		if s.From != s.To {
			where = " from " + key + s.From.Text + " to " + s.To.Text
		}
		parts = append(parts, s.State.String()+where)
	}
	return strings.Join(parts, "; ")
}

// Monotone reports whether the law goes from broken to safe, or back, at most once.
func (l *Line) Monotone() bool {
	changes, before := 0, Untold
	for _, s := range l.Stretches {
		if s.State != Safe && s.State != Broken {
			continue
		}
		if before != Untold && s.State != before {
			changes++
		}
		before = s.State
	}
	return changes <= 1
}

// Lines tell how a law came out along the first axis that has something between its levels, for each level of the other
// axis; none if there is no such axis.
func (s *Sweep) Lines(law checker.Law) []Line {
	for axis := range s.Axes {
		if !s.Axes[axis].Ordered() {
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

// rows are the indexes of the points along an axis, for each level of the other one.
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

// stretches puts the points of a row and the edges between them together.
func (s *Sweep) stretches(law checker.Law, axis int, points []int) []Stretch {
	var all []Stretch
	add := func(state State, l Level) {
		if n := len(all); n > 0 && all[n-1].State == state {
			all[n-1].To = l
			return
		}
		all = append(all, Stretch{state, l, l})
	}
	for i, at := range points {
		p := s.Points[at]
		add(p.State(law), p.Levels[axis])
		if i == len(points)-1 {
			break
		}
		next := s.Points[points[i+1]]
		for _, e := range s.Edges {
			if e.Law == law && e.Axis == axis && e.within(p, next, axis) {
				add(e.Before, e.Last.Levels[axis])
				add(e.After, e.First.Levels[axis])
			}
		}
	}
	return all
}

// within reports whether the edge lies between two neighbours along the axis.
func (e *Edge) within(a, b *Point, axis int) bool {
	for i := range a.Levels {
		if i != axis && e.Last.Levels[i] != a.Levels[i] {
			return false
		}
	}
	return a.Levels[axis].N <= e.Last.Levels[axis].N && e.First.Levels[axis].N <= b.Levels[axis].N
}
