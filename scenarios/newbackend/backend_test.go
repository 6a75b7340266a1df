package newbackend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// TestABackendIsOneFile checks that lockd works in every way that the program uses lock servers.
func TestABackendIsOneFile(t *testing.T) {
	t.Run("scenario", testScenarios)
	t.Run("library", testLibrary)
	t.Run("real time", testRealTime)
	t.Run("comparison", testComparison)
}

func scenario(t testing.TB, ttl, faults string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("lockd.yaml", []byte("name: lockd\nservers: {lockd: 3}\nclients: 2\nlock: {protocol: "+
		"lockd, ttl: "+ttl+", timeout: 300ms}\nwork: {hold: 3s, writes: 2}\nfaults: ["+faults+"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// others matches words that must appear only in reports about other kinds of servers.
var others = regexp.MustCompile(`(?i)redis|etcd|zookeeper|kubernetes|consul|appendfsync|fsync|replica|sentinel|znode`)

// testScenarios checks scenarios that use lockd, under all kinds of faults that can strike it. All runs must have a
// verdict, and no report may mention another kind of server.
func testScenarios(t *testing.T) {
	for faults, want := range map[string]string{
		"": "holds",
		`"pause client-1 for 10s after before-write"`: "holder outlived its lease (pause)",
		`"crash lockd-1 losing everything at 1s, restart after 10ms", "crash lockd-2 losing everything at 1s, ` +
			`restart after 10ms"`: "lost in crash (no persistence)",
		"expire session of client-1 at 1s":              "session expired",
		"jump lockd-1 clock by +1h at 1s":               "holds",
		"drift lockd-1 clock by +300000ppm from 0s":     "holds",
		`"crash lockd-1 losing unsynced writes at 1s"`:  "holds",
		`"cut client-1 | lockd-1 lockd-2 at 1s for 9s"`: "holds",
	} {
		s := scenario(t, "4s", faults)
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		explained, err := single.Explain(s, r, s.Judge(r))
		if err != nil {
			t.Fatal(err)
		}
		f := explained.Verdict.Of(checker.MutualExclusion)
		if got := f.Outcome.String() + " " + f.Cause.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s: %s", faults, got, want, f.Explanation)
		}
		var said bytes.Buffer
		if err := explained.Document().Text(&said, document.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if word := others.FindString(said.String()); word != "" {
			t.Errorf("%s: the report says %q\n%s", faults, word, &said)
		}
	}
	for _, impossible := range []string{"flush lockd-1 at 1s", "client pause on lockd-1 for 1s at 1s",
		"fail over lockd-1 to lockd-2 at 1s", "cut lockd-1 | lockd-2 at 1s"} {
		if _, err := scenarios.Parse("f.yaml", []byte(
			"name: f\nservers: {lockd: 3}\nlock: {protocol: lockd}\nfaults: ["+impossible+"]\n")); err == nil {
			t.Errorf("%s: it is accepted", impossible)
		}
	}
}

// testLibrary tests a Go library for lockd under random faults.
func testLibrary(t *testing.T) {
	locktest.Run(t, locktest.Config{New: newClient, Scenario: "testdata/library.yaml", Seeds: 40})
}

// testRealTime checks that a program that speaks lockd's protocol finds the servers through their environment variable.
// The servers must have recorded the same grants as the program, and a session must end as it does in virtual time.
func testRealTime(t *testing.T) {
	for faults, want := range map[string]string{
		"": "holds ",
		"pause client-1 for 2s after before-write": "violated holder outlived its lease (pause)",
	} {
		testkit.Undisturbed(t, func(t testing.TB) { checkRealTime(t, faults, want) })
	}
}

func checkRealTime(t testing.TB, faults, want string) {
	s := scenario(t, "1s", faults)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := live.Run(live.Options{Scenario: s, Command: fmt.Sprintf("%s=yes exec '%s'", asProgram, self),
		Host: "127.0.0.1", Fleet: live.Simulated{}, Keeper: fleettest.Keeper(t), Context: context.Background(),
		Patience: live.Patience}, s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	f := checker.Check(r.History).Of(checker.MutualExclusion)
	if got := f.Outcome.String() + " " + f.Cause.String(); got != want {
		t.Errorf("%q, want %q: %s\n%q", got, want, f.Explanation, r.Notes)
	}
	if strings.Contains(strings.Join(r.Notes, " "), "grant") {
		t.Errorf("%q", r.Notes)
	}
}

// testComparison checks that the comparison has a row for lockd.
func testComparison(t *testing.T) {
	c, err := compare.Locks(context.Background(), compare.Options{Runs: 1, Crew: campaign.Crew{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	l := c.Locks[len(c.Locks)-1]
	var failed []string
	for _, s := range l.Survival {
		if data := s.Laws.Of(checker.ResourceSafety); s.Absent == "" && data.Violated > 0 {
			failed = append(failed, s.Trouble)
		}
	}
	if got := strings.Join(failed, " "); l.Name != lockd || got != "pause" {
		t.Errorf("%s loses data under %s", l.Name, got)
	}
}
