package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/plot"
)

// TestAStripShowsSharesStretchesAndEdges checks that a strip shows the share of runs that broke the law at each value,
// on a background of stretches that end at the edges. If a sweep was interrupted before it bisected the edges, the
// strip must not show edges.
func TestAStripShowsSharesStretchesAndEdges(t *testing.T) {
	s := stripSweep()
	s.Asserted[0].Turns = []Turn{{Point: 1, At: Level{Unit: Durations, N: 9_500_000_000, Text: "9.5s"}}}
	d := firstMap(s).diagram(false)
	var lines, marks, areas []string
	for _, l := range d.Lines {
		lines = append(lines, fmt.Sprintf("%s at %.6g: %s", l.Name, l.Points[0].X, l.Value))
	}
	for _, m := range d.Marks {
		marks = append(marks, fmt.Sprintf("%s at %g: %g", m.Name, m.At.X, m.At.Y))
	}
	for _, a := range d.Areas {
		from, to := a.Points[0].X, a.Points[2].X
		areas = append(areas, fmt.Sprintf("%s (%s) from %.6g to %.6g", a.Name, a.Ink.Name, from, to))
	}
	for _, c := range []struct{ got, want []string }{
		{lines, []string{"edge, bisected at 8.4005: 8.4s", "edge, bisected at 9.8905: 9.891s",
			"limit of the condition in an assertion at 9.5: 9.5s"}},
		{marks, []string{"broken in all at 8: 1", "broken in some at 9: 0.05", "held in all runs at 10: 0",
			"held in all runs at 11: 0"}},
		{areas, []string{"broken (broken-field) from 8 to 8.4005",
			"broken in some (chance-field) from 8.4005 to 9.8905", "safe (safe-field) from 9.8905 to 11"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q\nwant %q", c.got, c.want)
		}
	}
	s = stripSweep()
	s.Edges = nil
	if d := firstMap(s).diagram(false); len(d.Areas) != 3 ||
		slices.ContainsFunc(d.Lines, func(l plot.Line) bool { return l.Name == edgeLine.Name }) {
		t.Errorf("without edges: %+v", d)
	}
}

// TestMapsOfExchangedAxesAreTheSame checks that swapping the axes swaps X and Y on the map and changes nothing else.
func TestMapsOfExchangedAxesAreTheSame(t *testing.T) {
	time, rate := delayedAxis("restart=1s..3s/1s"), delayedAxis("ppm=-1000ppm,0ppm,1000ppm")
	policy, fencing := delayedAxis("append-fsync=always,everysec,no"), delayedAxis("resource.fencing=on,off,1")
	for _, axes := range [][2]Axis{{time, rate}, {time, policy}, {policy, fencing}} {
		one := firstMap(mapSweep(axes[0], axes[1], "✓✓✓", "±✓✓", "✗?–")).diagram(true)
		// The rows of the first map, from bottom to top, are the columns of the second, from left to right.
		other := firstMap(mapSweep(axes[1], axes[0], "–✓✓", "?✓✓", "✗±✓")).diagram(true)
		if got, want := shown(other, true), shown(one, false); !slices.Equal(got, want) {
			t.Errorf("%s by %s:\n%q\nwant\n%q", axes[0].Name, axes[1].Name, got, want)
		}
	}
}

// shown returns the marks of a diagram and the corners of its areas as text, in a fixed order.
func shown(d *plot.Diagram, exchanged bool) (all []string) {
	place := func(p plot.Point) string {
		if exchanged {
			p.X, p.Y = p.Y, p.X
		}
		return fmt.Sprintf("%.6f %.6f", p.X, p.Y)
	}
	for _, m := range d.Marks {
		all = append(all, m.Name+" "+place(m.At))
	}
	for _, a := range d.Areas {
		var corners []string
		for _, p := range a.Points {
			corners = append(corners, place(p))
		}
		slices.Sort(corners)
		all = append(all, a.Ink.Name+" "+strings.Join(corners, ", "))
	}
	slices.Sort(all)
	return all
}
