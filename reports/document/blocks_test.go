package document

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// TestACommandAmongFactsPastesAsOneCommand checks that a shell reads the command exactly as it was given, no matter how
// wide the terminal is.
func TestACommandAmongFactsPastesAsOneCommand(t *testing.T) {
	const path = "_runs/explore-redlock-failover-loses-locks-76b4548b-1-1000/closest-ownership.txt"
	facts := Facts{{Name: "closest", Value: "ownership held. Its closest call was 1 ms away."},
		{Name: "see it", Value: "printf '%s|' fencepost replay " + path, Command: true}}
	for width := 40; width <= 160; width++ {
		var b strings.Builder
		facts.Text(text.New(&b, width, false))
		_, command, _ := strings.Cut(b.String(), "see it")
		if got, err := exec.Command("sh", "-c", command).Output(); err != nil ||
			string(got) != "fencepost|replay|"+path+"|" {
			t.Fatalf("at width %d a shell reads %q (%v) from\n%s", width, got, err, b.String())
		}
	}
}
