package sweep

import (
	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// Law contains a sweep's results for one law.
type Law struct {
	Law   checker.Law
	Cells []Cell // one for each point of the grid; the index along the first axis changes fastest
	Lines []Line
	Edges []*Edge
}

// Cell is a law's outcome at a grid point.
type Cell struct {
	*Point
	State State
	campaign.Counts
	Causes []campaign.Finding // causes of violations of the law
}

// sign returns the outcome's symbol. It returns "–" if the point is not a valid scenario.
func (c *Cell) sign() string {
	if c.Problem != "" {
		return "–"
	}
	return c.Counts.Sign()
}

// LawOf returns a sweep's results for the given law.
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

// Causes returns a law's violations at a point, one for each cause.
func Causes(p *Point, law checker.Law) (all []campaign.Finding) {
	for _, f := range p.Findings {
		if f.Law == law {
			all = append(all, f)
		}
	}
	return all
}
