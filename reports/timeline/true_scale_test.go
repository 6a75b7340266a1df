package timeline

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

func drawn(s reporttest.Story) *chart { return arranged(s).chart() }

// In the picture, the lengths of a lease and of the pause that outlives it are proportional to their durations.
func TestAPauseIsDrawnAtTrueScale(t *testing.T) {
	c := drawn(reporttest.Kleppmann())
	if !c.Linear {
		t.Fatal("folded")
	}
	for _, s := range c.Shapes {
		if s.Class != "lease" || s.A != int64(reporttest.Seconds(0.012)) {
			continue
		}
		width, err := strconv.ParseFloat(s.Width, 64)
		if want := float64(c.Right-c.Left) * 9.877 / 15.121; err != nil || math.Abs(width-want) > 1 {
			t.Errorf("the lease is %s pixels wide, want %.1f", s.Width, want)
		}
		return
	}
	t.Error("no lease")
}

// turn returns a 15-second run. client-1 waits for the lock until the first given time. client-2 stays in its section
// for as long as the second.
func turn(until, inside float64) reporttest.Story {
	x := reporttest.NewHistory(2, 1)
	x.At(0).Client("client-1", history.Acquire, history.Invoke, "client-1/1")
	x.Acquire(0.001, 0.012, 0.012+inside, "client-2/1", 0, 1)
	x.Release(0.012+inside, 0.013+inside, "client-2/1", 1)
	x.At(until).Client("client-1", history.Acquire, history.Fail, "client-1/1")
	x.H.Header.End = reporttest.Seconds(15)
	return reporttest.Story{History: &x.H}
}

func TestTrueScaleIsChosenWhereItHidesNothing(t *testing.T) {
	crowd := turn(14, 1)
	for range 8 {
		e := crowd.History.Events[0]
		e.Index = len(crowd.History.Events)
		e.Time = reporttest.Seconds(14)
		crowd.History.Events = append(crowd.History.Events, e)
	}
	crowded := checker.Finding{Outcome: checker.Violated}
	for pos := len(crowd.History.Events) - 8; pos < len(crowd.History.Events); pos++ {
		crowded.Witness = append(crowded.Witness, pos)
	}
	for _, c := range []struct {
		what string
		is   *chart
		want bool
	}{
		{"all is wide enough", drawn(turn(14, 1)), true},
		{"a section of 5.3 pixels", drawn(turn(14, 0.080)), true},
		{"a section of 4 pixels", drawn(turn(14, 0.060)), false},
		{"two thirds of the picture are empty", drawn(turn(5, 1)), false},
		{"eight numbers at one instant", Arrange(crowd.History, []checker.Finding{crowded}).chart(), false},
	} {
		if c.is.Linear != c.want {
			t.Errorf("%s: true scale %v", c.what, c.is.Linear)
		}
	}
}

// In every story that is drawn at true scale, each section, lease and pause is wide enough to be seen, and no period is
// shortened. The page of every story says at which scale it begins, and there is a folded scale to switch to.
func TestTrueScaleKeepsItsRule(t *testing.T) {
	linear := 0
	for _, r := range reporttest.Stories {
		c := drawn(r.Make())
		page := picture(r.Make())
		if want := `data-linear="` + strconv.FormatBool(c.Linear) + `"`; !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %s", r.Name, want)
		}
		if len(c.folded.knots) < 3 {
			t.Errorf("%s: nothing to fold by", r.Name)
		}
		if !c.Linear {
			continue
		}
		linear++
		for _, s := range c.Shapes {
			width, _ := strconv.ParseFloat(s.Width, 64)
			if word, _, _ := strings.Cut(s.Class, " "); (word == "section" || word == "lease" || word == "pause") &&
				width < leastVisible-0.1 {
				t.Errorf("%s: %s of %.1f pixels: %s", r.Name, s.Class, width, s.Tip)
			}
		}
		for _, b := range c.Breaks {
			if b.Shown {
				t.Errorf("%s: %s is marked as shortened", r.Name, b.Label)
			}
		}
	}
	if linear == 0 || linear == len(reporttest.Stories) {
		t.Errorf("%d of %d runs at true scale show nothing", linear, len(reporttest.Stories))
	}
}

// A true scale marks only a few round times, in ascending order, all of them multiples of one round interval.
func TestRoundInstants(t *testing.T) {
	for _, end := range []history.Time{1, 7, 1000, 15_132_000_000, 60e9, 3.2e12, 1 << 60} {
		c := &chart{to: end}
		list := c.rounds()
		if len(list) > mostMarks || end >= 1000 && len(list) < 2 {
			t.Errorf("%d: %d marks", end, len(list))
		}
		for i, at := range list {
			if at != list[0]*history.Time(i+1) || at <= 0 || at >= end {
				t.Errorf("%d: mark %d at %d", end, i, at)
			}
		}
		digits := strings.TrimRight(strconv.FormatInt(int64(append(list, 1)[0]), 10), "0")
		if !strings.Contains("1 2 5", digits) {
			t.Errorf("%d: a step of %d", end, list[0])
		}
	}
}
