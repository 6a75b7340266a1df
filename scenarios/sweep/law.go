package sweep

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Law is how one law came out in a sweep.
type Law struct {
	Law   checker.Law
	Cells []Cell // of the grid; the first axis runs fastest
	Lines []Line
	Edges []*Edge
}

// Cell is the outcome of a law at a point of the grid.
type Cell struct {
	*Point
	State State
	campaign.Counts
	Causes []campaign.Finding // the ways in which it was broken
}

// sign shows the cell in one sign: that of its counts, or – for what is no valid scenario.
func (c *Cell) sign() string {
	if c.Problem != "" {
		return "–"
	}
	return c.Counts.Sign()
}

// LawOf is how a law came out in a sweep.
func LawOf(s *Sweep, law checker.Law) *Law {
	l := &Law{Law: law, Lines: s.lines(law)}
	for _, p := range s.Points {
		l.Cells = append(l.Cells, Cell{p, p.State(law), s.tally(p, law), Causes(p, law)})
	}
	for i := range s.Edges {
		if e := &s.Edges[i]; e.Law == law {
			l.Edges = append(l.Edges, e)
		}
	}
	return l
}

// Causes are the ways in which a law was broken at a point.
func Causes(p *Point, law checker.Law) (all []campaign.Finding) {
	for _, f := range p.Findings {
		if f.Law == law {
			all = append(all, f)
		}
	}
	return all
}
