package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// The table fits the screen with up to six broken laws: each row ends with the number of servers.
func TestAdviceFitsTheScreen(t *testing.T) {
	for _, width := range []int{80, 100, 160} {
		for n := 1; n <= 6; n++ {
			a := &Advice{Scenario: "mine", Changes: []AdvisedChange{{Changes: []string{"servers.persistence.append-fsync: always"},
				Keeps: true, Cost: AdvisedCost{Acquire: 11 * time.Millisecond, Requests: 10, Servers: 7}}}}
			for _, law := range checker.Laws[:n] {
				a.Broken = append(a.Broken, AdvisedLaw{Law: string(law), Causes: []string{"some cause"}})
			}
			var b bytes.Buffer
			if err := AdviseText(&b, a, TextOptions{Width: width}); err != nil {
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
