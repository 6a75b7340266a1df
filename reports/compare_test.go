package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/reports/term"
)

func TestALawIsMarkedKeptOnlyIfItHeldInEveryRun(t *testing.T) {
	for code := range 16 {
		tally := LawTally{Holds: code & 1, Violated: code >> 1 & 1, Undecided: code >> 2 & 1, Unchecked: code >> 3 & 1}
		want := "?"
		switch {
		case tally == LawTally{Holds: 1}:
			want = "✓"
		case tally == LawTally{Violated: 1}:
			want = "✗"
		case tally.Violated == 1:
			want = "±"
		}
		if got, _ := tally.mark(); got != want {
			t.Errorf("%+v is marked %s, want %s", tally, got, want)
		}
		if c := (ComparedCell{Data: tally}); c.Survives() != (want == "✓") {
			t.Errorf("%+v: survives %v", tally, c.Survives())
		}
	}
	if c := (ComparedCell{Absent: "gives no token", Data: LawTally{Holds: 1}}); c.Survives() {
		t.Error("a cell that was not run survives")
	}
}

// threeLocks is a comparison with each kind of cell.
func threeLocks() *Comparison {
	c := &Comparison{Seeds: 10, Delay: "1ms", Retry: "5ms", Clients: 8, Model: []string{"Time is what it is."}, Repeat: "fencepost compare"}
	all, none, some := LawTally{Holds: 10}, LawTally{Violated: 10}, LawTally{Holds: 7, Violated: 2, Undecided: 1}
	for _, name := range []string{"pause", "jump", "power", "failover", "partition", "flood"} {
		c.Troubles = append(c.Troubles,
			Trouble{Name: name, Title: name, Text: "What " + name + " does.", Liveness: name == "flood"})
	}
	timing := ComparedTiming{Acquires: 10, P50: 2200 * time.Microsecond, P99: 106 * time.Millisecond, First: time.Millisecond, PerSecond: 228.4, Requests: 2}
	for i, title := range []string{"Redis", "Redlock, at once", "etcd"} {
		l := ComparedLock{Name: title, Title: title, Text: "A lock.", Alone: timing, Together: timing}
		if i > 0 {
			l.ClaimLatency, l.ClaimThroughput = "5-20 ms", "1-5K ops/s"
		}
		for _, trouble := range c.Troubles {
			off := ComparedCell{Trouble: trouble.Name, Scenario: "s", Text: "name: s\n", Data: none, Sections: some, Leases: all, Progress: all}
			on := ComparedCell{Trouble: trouble.Name, Fencing: true, Absent: "gives no token"}
			if i == 2 {
				on = ComparedCell{Trouble: trouble.Name, Fencing: true, Data: all, Sections: none, Leases: all, Progress: some}
			}
			l.Cells = append(l.Cells, off, on)
		}
		c.Locks = append(c.Locks, l)
	}
	return c
}

func TestNoWidthLosesAMarkOfTheComparison(t *testing.T) {
	for _, width := range []int{60, 70, 75, 76, 80, 100, 137, 138, 160} {
		var b bytes.Buffer
		if err := CompareText(&b, threeLocks(), TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		marks := 0
		for _, ln := range strings.Split(b.String(), "\n") {
			if term.Cells(ln) > width {
				t.Errorf("width %d: %q", width, ln)
			}
			for _, triple := range []string{"✗ ± ✓", "✓ ✗ ✓!", "✓ ✗ ±"} {
				marks += strings.Count(ln, triple) - strings.Count(ln, triple+" ?") // which is the legend's
			}
		}
		if want := 4 * 6; marks != want {
			t.Errorf("width %d shows %d cells, want %d", width, marks, want)
		}
		if shown := strings.Contains(b.String(), "5-20 ms, 1-5K"); !shown {
			t.Errorf("width %d does not show what the article says", width)
		}
	}
}

func TestTheComparisonTellsWhatDiffersFromSeedToSeed(t *testing.T) {
	var b bytes.Buffer
	if err := CompareText(&b, threeLocks(), TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Redis, pause, fence off: mutual-exclusion broken in 2 of 10 runs, and could not be told in 1\n",
		"etcd, jump, fence on: deadlock-freedom broken in 2 of 10 runs, and could not be told in 1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q:\n%s", want, b.String())
		}
	}
}

func TestTheComparisonIsOneJSONObject(t *testing.T) {
	c := threeLocks()
	c.Files = "cells"
	text, err := CompareJSON(c)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Locks []struct {
			Cells []struct {
				Survives *bool
				Absent   string
				Repeat   string
				Laws     map[string]map[string]int
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Locks) != 3 || len(got.Locks[0].Cells) != 12 {
		t.Fatalf("%s", text)
	}
	off, on := got.Locks[0].Cells[0], got.Locks[0].Cells[1]
	if off.Survives == nil || *off.Survives || off.Laws["resource-safety"]["violated"] != 10 || off.Repeat != "fencepost run cells/s.yaml --seeds 10" {
		t.Errorf("a cell that was run: %+v", off)
	}
	if on.Survives != nil || on.Absent == "" {
		t.Errorf("a cell that was not run: %+v", on)
	}
}
