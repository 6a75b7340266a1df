package scenarios_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// seeds is the number of runs in which each scenario must have the outcome stated in its row.
const seeds = 5

var (
	runs    = regexp.MustCompile("`fencepost run ([a-z0-9-]+)`")
	odds    = regexp.MustCompile("`fencepost odds --chance ([0-9]+)%`")
	outcome = regexp.MustCompile(`^([a-z-]+) (holds|violated)$`)
	chance  = regexp.MustCompile(`^(held ([0-9])|k\^N): ([0-9.e-]+)$`)
	given   = regexp.MustCompile("`([a-z-]+(?:\\.[a-z-]+)+): ([^`]+)`")
)

// TestTheDebateIsDecidedAsItSays checks the table of arguments in DEBATE.md. Most rows name laws and their
// outcomes: runs with a few seeds must come out in this way. The others state probabilities (see checkOdds).
func TestTheDebateIsDecidedAsItSays(t *testing.T) {
	rows := table(t, "DEBATE.md", "argument")
	for _, row := range rows {
		switch {
		case odds.MatchString(row["decided by"]):
			checkOdds(t, row)
		default:
			checkRuns(t, scenarioOf(t, row["decided by"]), row["outcome"])
		}
		if who := row["who"]; who != "Kleppmann" && who != "Sanfilippo" && who != "both" && who != "Alibaba" {
			t.Errorf("%s: who is %q?", row["argument"], who)
		}
		if row["judgment"] == "" {
			t.Errorf("%s: nobody is judged", row["argument"])
		}
	}
	if len(rows) < 25 {
		t.Errorf("only %d arguments", len(rows))
	}
	for _, topic := range []string{"Pauses", "Clocks", "Fencing", "Restarts", "Majority",
		"Efficiency and correctness"} {
		if !strings.Contains(read(t, "DEBATE.md"), "| **"+topic+".** ") {
			t.Errorf("no argument about %s", topic)
		}
	}
}

// TestTheGuideHoldsWithItsSettings checks the guide in DEBATE.md, which recommends a lock and a scenario in each row.
// With the row's settings, the lock must behave in that scenario as the row says.
func TestTheGuideHoldsWithItsSettings(t *testing.T) {
	rows := table(t, "DEBATE.md", "I need the lock")
	for _, row := range rows {
		name := runs.FindStringSubmatch(row["keep this test"])
		if name == nil {
			t.Errorf("%s: no test to keep", row["I need the lock"])
			continue
		}
		s := scenarioOf(t, row["keep this test"])
		for _, protocol := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(row["use"], -1) {
			if p := string(s.Clients[0].Lock.Protocol); p != protocol[1] && !strings.Contains(row["use"], "`"+p+"`") {
				t.Errorf("%s: %s is about %s", row["I need the lock"], s.Name, p)
			}
		}
		doc, err := format.ParseDocument("kept.yaml", s.Text())
		if err != nil {
			t.Fatal(err)
		}
		for _, setting := range given.FindAllStringSubmatch(row["with these settings"], -1) {
			doc.Set(setting[1], setting[2])
		}
		with, err := scenarios.Parse("kept.yaml", []byte(doc.String()))
		if err != nil {
			t.Errorf("%s: %v", row["I need the lock"], err)
			continue
		}
		checkRuns(t, with, row["outcome"])
	}
	if len(rows) < 10 {
		t.Errorf("only %d needs", len(rows))
	}
}

func scenarioOf(t *testing.T, command string) *scenarios.Scenario {
	t.Helper()
	found := runs.FindStringSubmatch(command)
	if found == nil {
		t.Fatalf("%q runs no scenario", command)
	}
	s, err := scenarios.Named(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkRuns runs a scenario and compares the laws' outcomes with those stated in the row.
func checkRuns(t *testing.T, s *scenarios.Scenario, says string) {
	t.Helper()
	r := scenarios.NewRunner(s)
	for seed := range uint64(seeds) {
		result, err := r.Run(s.Plan(seed + 1))
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		for _, part := range strings.Split(says, "; ") {
			want := outcome.FindStringSubmatch(part)
			if want == nil {
				t.Fatalf("%s: %q is no outcome of a law", s.Name, part)
			}
			if got := v.Of(checker.Law(want[1])).Outcome.String(); got != want[2] {
				t.Errorf("%s, seed %d: %s: %s, says %s", s.Name, seed+1, want[1], got, want[2])
			}
		}
	}
}

// checkOdds compares a row's probabilities with the formula. Other tests compare the formula with measurements.
func checkOdds(t *testing.T, row map[string]string) {
	t.Helper()
	percent, err := strconv.Atoi(odds.FindStringSubmatch(row["decided by"])[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(row["outcome"], "; ") {
		want := chance.FindStringSubmatch(part)
		if want == nil {
			t.Fatalf("%q is no chance", part)
		}
		o := compare.Odds{Servers: 5, Quorum: 3, Chance: float64(percent) / 100}
		got := fmt.Sprintf("%.0e", o.Article())
		if want[2] != "" {
			if o.Held, err = strconv.Atoi(want[2]); err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprintf("%.1e", o.Formula())
		}
		if got != want[3] {
			t.Errorf("%s, not %s", part, got)
		}
	}
}
