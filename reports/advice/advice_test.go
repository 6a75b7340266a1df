package advice

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/report"
	"github.com/fencepost-sim/fencepost/reports/term"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// The table fits the screen with up to six broken laws: each row ends with the number of servers.
func TestAdviceFitsTheScreen(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		for n := 1; n <= 6; n++ {
			best := &advise.Tried{Changes: []advise.Change{{Key: "servers.persistence.append-fsync", Value: "always"}},
				Cost: advise.Cost{Acquire: 11 * time.Millisecond, Requests: 10, Servers: 7}}
			base := &advise.Tried{}
			for _, law := range checker.Laws[:n] {
				base.Given.Findings = append(base.Given.Findings,
					tally.Finding{Law: law, Cause: checker.Cause{Kind: "some cause"}})
			}
			a := &Advice{Advice: &advise.Advice{Broken: checker.Laws[:n], Base: base, Mending: []*advise.Tried{best}},
				Scenario: &scenarios.Scenario{Name: "mine"}}
			var b bytes.Buffer
			if err := a.Text(&b, report.TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, line := range strings.Split(b.String(), "\n") {
				if strings.HasSuffix(line, "11.0      10.0        7") {
					rows++
				}
				if term.Cells(line) > width {
					t.Errorf("%d laws at %d: %q", n, width, line)
				}
			}
			if rows != 1 || !strings.Contains(b.String(), "requests  servers\n") {
				t.Errorf("%d laws at %d: no whole row\n%s", n, width, b.String())
			}
		}
	}
}
