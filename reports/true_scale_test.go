package reports

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func drawn(run *Run) *chart { return newChart(Arrange(run.History), witnesses(run)) }

// The lease of the pause that outlives it is as long in the picture as it is in time.
func TestAPauseIsDrawnAtTrueScale(t *testing.T) {
	c := drawn(kleppmann())
	if !c.Linear {
		t.Fatal("folded")
	}
	for _, s := range c.Shapes {
		if s.Class != "lease" || s.A != int64(seconds(0.012)) {
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

// section is a run of 15 s in which client-1 waits to the given instant and client-2 is inside for a while.
func section(until, inside float64) *Run {
	x := newTale(2, 1)
	x.at(0).client("client-1", history.Acquire, history.Invoke, "client-1/1")
	x.acquire(0.001, 0.012, 0.012+inside, "client-2/1", 0, 1)
	x.release(0.012+inside, 0.013+inside, "client-2/1", 1)
	x.at(until).client("client-1", history.Acquire, history.Fail, "client-1/1")
	x.h.Header.End = seconds(15)
	return &Run{History: &x.h}
}

func TestTrueScaleIsChosenWhereItHidesNothing(t *testing.T) {
	crowd := section(14, 1)
	for range 8 {
		e := crowd.History.Events[0]
		e.Index = len(crowd.History.Events)
		e.Time = seconds(14)
		crowd.History.Events = append(crowd.History.Events, e)
	}
	crowded := map[int]bool{}
	for pos := len(crowd.History.Events) - 8; pos < len(crowd.History.Events); pos++ {
		crowded[pos] = true
	}
	for _, c := range []struct {
		what string
		is   *chart
		want bool
	}{
		{"all is wide enough", drawn(section(14, 1)), true},
		{"a section of 5.3 pixels", drawn(section(14, 0.080)), true},
		{"a section of 4 pixels", drawn(section(14, 0.060)), false},
		{"two thirds of the picture are empty", drawn(section(5, 1)), false},
		{"eight numbers at one instant", newChart(Arrange(crowd.History), crowded), false},
	} {
		if c.is.Linear != c.want {
			t.Errorf("%s: true scale %v", c.what, c.is.Linear)
		}
	}
}

// Whatever the run: on a true scale no section, lease or pause is too narrow to be seen, nothing is marked as shortened,
// and the page can still fold it.
func TestTrueScaleKeepsItsRule(t *testing.T) {
	linear := 0
	for _, r := range runs {
		run := r.run()
		c := drawn(run)
		page := render(t, run)
		if want := `data-linear="` + strconv.FormatBool(c.Linear) + `"`; !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %s", r.name, want)
		}
		if len(c.folded.knots) < 3 {
			t.Errorf("%s: nothing to fold by", r.name)
		}
		if !c.Linear {
			continue
		}
		linear++
		for _, s := range c.Shapes {
			width, _ := strconv.ParseFloat(s.Width, 64)
			if word, _, _ := strings.Cut(s.Class, " "); (word == "section" || word == "lease" || word == "pause") && width < leastVisible-0.1 {
				t.Errorf("%s: %s of %.1f pixels: %s", r.name, s.Class, width, s.Tip)
			}
		}
		for _, b := range c.Breaks {
			if b.Shown {
				t.Errorf("%s: %s is marked as shortened", r.name, b.Label)
			}
		}
	}
	if linear == 0 || linear == len(runs) {
		t.Errorf("%d of %d runs at true scale show nothing", linear, len(runs))
	}
}

// Round instants are few, in order, and multiples of one round step.
func TestRoundInstants(t *testing.T) {
	for _, end := range []history.Time{1, 7, 1000, 15_132_000_000, 60e9, 3.2e12, 1 << 60} {
		c := &chart{to: end}
		list := c.rounds()
		if len(list) > mostMarks {
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
