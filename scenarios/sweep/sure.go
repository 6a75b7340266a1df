package sweep

import (
	"context"
	"slices"
)

// makeSure adds runs to grid points. If the outcome for a law changes between two neighboring points, makeSure gives
// both points enough runs for a reliable outcome.
func (s *Sweep) makeSure(ctx context.Context) error {
	for round := 0; ; round++ {
		var unsure []*Point
		for _, e := range s.sides() {
			for _, law := range s.Laws {
				for _, p := range []*Point{s.Points[e.a], s.Points[e.b]} {
					if flips(s.Points[e.a], s.Points[e.b], law) && !s.sure(p, law) && !slices.Contains(unsure, p) {
						unsure = append(unsure, p)
					}
				}
			}
		}
		if len(unsure) == 0 || ctx.Err() != nil {
			s.Interrupted = s.Interrupted || ctx.Err() != nil
			return nil
		}
		if err := s.complete(ctx, "points beside edges", round, unsure); err != nil {
			return err
		}
	}
}

// complete executes each point's missing runs, up to Options.Sure.
func (s *Sweep) complete(ctx context.Context, what string, round int, points []*Point) error {
	var jobs []job
	for _, p := range points {
		jobs = append(jobs, job{A: p, Runs: s.Sure})
	}
	_, err := s.perform(ctx, what, round, jobs, func(i int, o outcome) error {
		*points[i] = *o.Points[0]
		return nil
	})
	s.Interrupted = s.Interrupted || ctx.Err() != nil
	return err
}

// sample looks for stretches (ranges of values) where a law is broken in only some runs. For each of them, it executes
// all runs for a point in the middle.
func (s *Sweep) sample(ctx context.Context) error {
	var points []*Point
	for _, law := range s.Laws {
		for _, l := range s.lines(law) {
			for i := range l.Stretches {
				p := s.middle(&l, &l.Stretches[i])
				same := func(other *Point) bool { return slices.Equal(other.Levels, p.Levels) }
				if p != nil && !slices.ContainsFunc(points, same) {
					points = append(points, p)
				}
			}
		}
	}
	if err := s.complete(ctx, "points between edges", 0, points); err != nil {
		return err
	}
	for _, p := range points {
		if p.Runs > 0 && !slices.Contains(s.Points, p) && !slices.Contains(s.Between, p) {
			s.Between = append(s.Between, p)
		}
	}
	return nil
}

// middle returns the point in the middle of a stretch where the law is broken in only some runs, or nil for any other
// stretch. If that point has not been tried yet, middle returns a new one.
func (s *Sweep) middle(l *Line, of *Stretch) *Point {
	if of.State != Chance {
		return nil
	}
	levels := slices.Clone(of.shown.Levels)
	step := s.resolution(l.Axis)
	levels[l.Axis] = s.Axes[l.Axis].Keys[0].number(of.From.N + (of.To.N-of.From.N)/2/step*step)
	for _, p := range slices.Concat(s.Points, s.Between) {
		if slices.Equal(p.Levels, levels) {
			return p
		}
	}
	return &Point{Levels: levels}
}
