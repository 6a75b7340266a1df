package search

import (
	"fmt"
	"image/color"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/plot"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/features"
)

// searches are the ways to draw whose curves the README shows.
var searches = []struct {
	name           string
	aimed, pursued int
	style          plot.Style
}{
	{"random", 0, 0, plot.Style{
		Ink: plot.Ink{Name: "random", RGB: color.NRGBA{0x8a, 0x8f, 0x98, 0xff}}, Width: 1.6}},
	{"half aimed", 50, 0, plot.Style{
		Ink: plot.Ink{Name: "aimed", RGB: color.NRGBA{0x1f, 0x6f, 0xb4, 0xff}}, Width: 1.6}},
	{"half aimed, 40 % pursuing", 50, 40, plot.Style{
		Ink: plot.Ink{Name: "pursued", RGB: color.NRGBA{0xc2, 0x41, 0x0c, 0xff}}, Width: 1.6, Dashed: true}},
}

// featuresMet counts the features that the first schedules have met, from none to all.
func featuresMet(t *testing.T, s *scenarios.Scenario, schedules int) []int {
	plans, err := NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	runner, reader := scenarios.NewRunner(s), features.Reader{}
	met := map[features.Feature]bool{}
	counts := []int{0}
	for seed := range uint64(schedules) {
		r, err := runner.Run(plans.Plan(seed))
		if err != nil {
			t.Fatal(err)
		}
		plans.Learn(seed, &r)
		for _, f := range reader.Read(r.History) {
			met[f] = true
		}
		counts = append(counts, len(met))
	}
	return counts
}

// TestFeaturesMet holds the README's diagrams to what schedules meet.
func TestFeaturesMet(t *testing.T) {
	testkit.FullOnly(t)
	const schedules = 10_000
	for _, name := range []string{"kleppmann-gc-pause", "failover-loses-lock", "etcd-keepalive-lost"} {
		t.Run(name, func(t *testing.T) {
			d := plot.Diagram{Title: name, Subtitle: "Features met, by the number of schedules from seed 0 on",
				Description: "Curves of the features met, by the number of schedules.",
				X:           plot.Axis{Label: "schedules", Max: schedules}, Y: plot.Axis{Label: "features met"}}
			for _, how := range searches {
				s := named(t, name)
				s.Mix.Aimed, s.Mix.Pursued = how.aimed, how.pursued
				counts := featuresMet(t, s, schedules)
				line := plot.Line{Style: how.style}
				for i := 0; i < len(counts); i += schedules / 200 {
					line.Points = append(line.Points, plot.Point{X: float64(i), Y: float64(counts[i])})
				}
				line.Name = fmt.Sprintf("%s: %d", how.name, counts[schedules])
				d.Lines = append(d.Lines, line)
				d.Y.Max = max(d.Y.Max, float64(counts[schedules]))
			}
			testkit.Golden(t, "features-"+name+".svg", d.SVG(420, 260))
		})
	}
}
