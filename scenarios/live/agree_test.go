//go:build linux && amd64

package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
)

// placed lists faults for runs of two clients that use redis-py's lock on one server, with a TTL of 2 s. Each run has
// one of these faults; "" means no fault.
var placed = []string{
	"pause client-1 for 3s after before-write",
	"",
	"crash client-1 after before-write",
	"cut client-1 | redis-1 after acquired for 3s",
	"delay the answer to the 1st SET of client-1 to redis-1 by 3s",
	"pause client-1 for 3s after acquired",
	"pause client-1 for 500ms after acquired",
	"pause client-2 for 3s after acquired",
	"pause client-1 for 3s after before-release",
	"crash client-1 after acquired",
	"crash client-2 after acquire-start",
	"cut client-1 | resource after acquired for 3s",
	"cut client-1 | resource after acquired for 500ms",
	"cut client-2 | redis-1 after acquire-start for 3s",
	"delay client-1 -> resource by 3s after acquired",
	"delay redis-1 -> client-1 by 500ms after acquired for 1s",
	"jump redis-1 clock by +3s after acquired by client-1",
	"jump redis-1 clock by -3s after acquired by client-1",
	"pause redis-1 for 1s after acquired by client-1",
	"break client-1 | redis-1 before the answer to the EVALSHA",
}

// TestAProgramComesOutAlikeInRealAndInVirtualTime checks that, under the faults in placed, the same program violates
// the same laws in real time as in virtual time, with the same causes. If a real-time run has another outcome, it is
// repeated, at most twice, because a host stall may be the reason.
func TestAProgramComesOutAlikeInRealAndInVirtualTime(t *testing.T) {
	testkit.ThoroughOnly(t)
	const text = "name: alike\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 2s}\n" +
		"work: {hold: 300ms}\nlimit: 30s\n"
	command := redisPy(t)
	for _, line := range placed[:testkit.Size(1, 1, len(placed))] {
		t.Run(strings.ReplaceAll(line, " ", "-"), func(t *testing.T) {
			plain, err := scenarios.Parse("alike.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s := inVirtualTimeOf(t, plain, command)
			plan := nemesis.Plan{Scenario: s.Name, Seed: 1}
			if line != "" {
				f, err := nemesis.ParseFor(line, s.Targets())
				if err != nil {
					t.Fatal(err)
				}
				plan.Faults = []nemesis.Fault{f}
			}
			r, err := scenarios.NewRunner(s).Run(plan)
			if err != nil {
				t.Fatal(err)
			}
			virtual := laws(s.Judge(r).Verdict)
			t.Log(virtual)
			for try := range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				real, err := Run(Options{Scenario: plain, Host: "127.0.0.1", Fleet: Simulated{},
					Keeper:  fleettest.Keeper(t),
					Context: ctx, Patience: Patience, Command: "exec " + command}, plan)
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if real.Partial {
					real.EndedEarly = "a client ended early"
				}
				got := laws(plain.Judge(real.Result).Verdict)
				if got == virtual {
					return
				}
				if try == 2 {
					t.Errorf("in real time:\n%s\nin virtual time:\n%s", got, virtual)
				}
			}
		})
	}
}

// laws returns each law's outcome and causes.
func laws(v checker.Verdict) string {
	var lines []string
	for _, f := range v.Findings {
		line := fmt.Sprintf("%s %s", f.Law, f.Outcome)
		if f.Outcome == checker.Violated {
			line += " by " + f.Cause.String()
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
