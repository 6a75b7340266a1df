package plot

// Grid is a map of points in rows and columns. Each point has a rank. Marching squares divide the area between the
// points into regions of equal rank. A crossing is the place on a side of a square at which the rank changes. In each
// square, the borders of regions are straight lines between crossings.
type Grid struct {
	X, Y []float64 // coordinates of the columns and of the rows
	Rank []int     // ranks of the points, row by row; where several ranks meet, the middle has the highest
	// the coordinate of the crossing on each side; if a crossing is not listed, it is in the middle of its side
	Cross map[Side]float64
}

// Side is a side of a square. It connects the point with index Point to its next neighbor in the direction of Axis (0
// is X, 1 is Y).
type Side struct{ Point, Axis int }

// corner is a corner of a square or, if cross is set, a crossing (see Grid).
type corner struct {
	Point
	rank  int
	cross bool
}

// squares calls visit for each square of the grid. around contains the square's corners and crossings, in order around
// the square.
func (g *Grid) squares(visit func(around []corner)) {
	n := len(g.X)
	point := func(i int) Point { return Point{g.X[i%n], g.Y[i/n]} }
	for i := range max(len(g.Y)-1, 0) * n {
		if i%n == n-1 {
			continue
		}
		var around []corner
		corners, sides := [4]int{i, i + 1, i + n + 1, i + n}, [4]Side{{i, 0}, {i + 1, 1}, {i + n, 0}, {i, 1}}
		for s, at := range corners {
			next := corners[(s+1)%4]
			a, b := point(at), point(next)
			around = append(around, corner{a, g.Rank[at], false})
			if g.Rank[at] == g.Rank[next] {
				continue
			}
			cross := Point{(a.X + b.X) / 2, (a.Y + b.Y) / 2}
			if known, ok := g.Cross[sides[s]]; ok && sides[s].Axis == 0 {
				cross.X = known
			} else if ok {
				cross.Y = known
			}
			around = append(around, corner{cross, g.Rank[at], true})
		}
		visit(around)
	}
}

// parts divides the boundary of a square into the parts between one crossing and the next. Each part begins and ends
// with a crossing. If there are corners in between, all of them have the same rank, which is that of the part's second
// element.
func parts(around []corner) (all [][]corner) {
	for i, c := range around {
		if !c.cross {
			continue
		}
		part := []corner{c}
		for n := i + 1; len(part) == 1 || !part[len(part)-1].cross; n++ {
			part = append(part, around[n%len(around)])
		}
		all = append(all, part)
	}
	return all
}

// Areas returns polygons that fill all regions of the grid. The color of a region is inks[r], where r is the rank of
// its points.
func (g *Grid) Areas(inks []Ink) (areas []Area) {
	add := func(rank int, around []corner) {
		area := Area{Ink: inks[rank]}
		for _, c := range around {
			area.Points = append(area.Points, c.Point)
		}
		areas = append(areas, area)
	}
	g.squares(func(around []corner) {
		rest := 0
		for _, c := range around {
			rest = max(rest, c.rank)
		}
		add(rest, around)
		for _, part := range parts(around) {
			if part[1].rank != rest {
				add(part[1].rank, part)
			}
		}
	})
	return areas
}

// Border returns the line around the regions of a rank, as line segments.
func (g *Grid) Border(rank int) (pieces [][]Point) {
	g.squares(func(around []corner) {
		for _, part := range parts(around) {
			if part[1].rank == rank {
				pieces = append(pieces, []Point{part[0].Point, part[len(part)-1].Point})
			}
		}
	})
	return pieces
}
