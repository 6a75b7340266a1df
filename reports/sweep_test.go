package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
)

func secondLevels(list ...int) (levels []SweepLevel) {
	for _, n := range list {
		levels = append(levels, SweepLevel{fmt.Sprintf("%ds", n), int64(n) * 1e9})
	}
	return levels
}

func wordLevels(list ...string) (levels []SweepLevel) {
	for _, text := range list {
		levels = append(levels, SweepLevel{Text: text})
	}
	return levels
}

// cellOf is a point that came out as the sign says.
func cellOf(sign rune) SweepCell {
	switch sign {
	case '✓':
		return SweepCell{Tally: LawTally{Holds: 20}}
	case '✗':
		return SweepCell{Tally: LawTally{Violated: 20}, Causes: []SweepCause{{"lost in crash (no persistence)", 20, 1}}}
	case '±':
		return SweepCell{Tally: LawTally{Holds: 19, Violated: 1}, Causes: []SweepCause{{"lost in crash (no persistence)", 1, 7}}}
	case '?':
		return SweepCell{Tally: LawTally{Unchecked: 20}}
	}
	return SweepCell{Problem: "the quorum is 6, but there are only 5 servers"}
}

// strip is a sweep of one axis, safe from 9.891 s on.
func stripSweep() *Sweep {
	axis := SweepAxis{Name: "restart", Title: "restart delay after the crash of redis-3", Unit: SweepDurations, Levels: secondLevels(8, 9, 10, 11)}
	law := SweepLaw{Law: checker.LeaseExclusion}
	for _, sign := range "✗±✓✓" {
		law.Cells = append(law.Cells, cellOf(sign))
	}
	last, first := SweepLevel{"9.89s", 9_890_000_000}, SweepLevel{"9.891s", 9_891_000_000}
	law.Edges = []SweepEdge{{Cell: 1, Last: []SweepLevel{last}, First: []SweepLevel{first}, Before: SweepBroken, After: SweepSafe, Exact: true,
		Cause: SweepCause{"lost in crash (no persistence)", 1, 8}}}
	law.Lines = []SweepLine{{Stretches: []SweepStretch{{SweepBroken, axis.Levels[0], last}, {SweepSafe, first, axis.Levels[3]}}}}
	return &Sweep{Scenario: "delayed-restart", Summary: "A <summary> & more.", Seeds: 20, From: 1, Axes: []SweepAxis{axis}, At: "lock.ttl 10s",
		Faults: []string{"crash redis-3 losing everything at 1s, restart after 11s"}, Laws: []SweepLaw{law}, Points: 14, Runs: 200, Bound: .139,
		Assertions: []SweepAssertion{
			{Text: "lease-exclusion holds when restart >= ttl", Law: checker.LeaseExclusion, Result: Passed, Points: 3,
				True: []bool{false, false, true, true}, Turns: []SweepTurn{{Cell: 1, At: axis.Levels[2]}}},
			{Text: "lease-exclusion holds when restart > 20s", Law: checker.LeaseExclusion, Result: Undecided, Why: "the condition was true at no point",
				True: make([]bool, 4)}},
		Notes: []string{"fault 2 struck in no run of any point"}, Files: "_runs/x", Repeat: "fencepost sweep delayed-restart --vary 'restart=8s..11s/1s'"}
}

// mapSweep is a sweep of two axes; rows are given the highest first, as they are shown.
func mapSweep(across, up SweepAxis, rows ...string) *Sweep {
	s := stripSweep()
	s.Axes, s.Assertions = []SweepAxis{across, up}, nil
	law := SweepLaw{Law: checker.LeaseExclusion}
	for i := len(rows) - 1; i >= 0; i-- {
		for _, sign := range rows[i] {
			law.Cells = append(law.Cells, cellOf(sign))
		}
	}
	s.Laws = []SweepLaw{law}
	return s
}

func TestLinesSayWhereALawIsSafe(t *testing.T) {
	for want, states := range map[string][]SweepState{
		"safe at all values tried":             {SweepSafe},
		"not told at all values tried":         {SweepUntold},
		"safe from k 1s; broken up to 0s":      {SweepBroken, SweepSafe},
		"safe up to k 0s; broken from 1s":      {SweepSafe, SweepBroken},
		"broken at k 0s; not told at k 1s":     {SweepBroken, SweepUntold},
		"safe at k 0s; no valid scenario at k": {SweepSafe, SweepInvalid},
		// Never "safe from" where it is broken again behind.
		"broken at k 0s; safe at k 1s; broken at k 2s":               {SweepBroken, SweepSafe, SweepBroken},
		"safe at k 0s; broken at k 1s; safe at k 2s":                 {SweepSafe, SweepBroken, SweepSafe},
		"broken at k 0s; not told at k 1s; safe at k 2s":             {SweepBroken, SweepUntold, SweepSafe},
		"no valid scenario at k 0s; broken at k 1s; safe at k 2s":    {SweepInvalid, SweepBroken, SweepSafe},
		"broken at k 0s; safe at k 1s; broken at k 2s; safe at k 3s": {SweepBroken, SweepSafe, SweepBroken, SweepSafe},
	} {
		var l SweepLine
		turns, before := 0, SweepUntold
		for i, state := range states {
			l.Stretches = append(l.Stretches, SweepStretch{state, secondLevels(i)[0], secondLevels(i)[0]})
			if state == SweepSafe || state == SweepBroken {
				if before != SweepUntold && before != state {
					turns++
				}
				before = state
			}
		}
		if got := l.words("k"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", states, got, want)
		}
		if got := l.monotone(); got != (turns <= 1) {
			t.Errorf("%v: monotone %v", states, got)
		}
	}
	long := SweepLine{Stretches: []SweepStretch{{SweepBroken, secondLevels(1)[0], secondLevels(4)[0]}, {SweepSafe, secondLevels(5)[0], secondLevels(6)[0]}, {SweepBroken, secondLevels(7)[0], secondLevels(9)[0]}}}
	if got, want := long.words(""), "broken from 1s to 4s; safe from 5s to 6s; broken from 7s to 9s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// samples are a sweep of every shape.
func samples() map[string]*Sweep {
	time := SweepAxis{Name: "restart", Title: "restart", Unit: SweepDurations, Levels: secondLevels(1, 2, 3)}
	rate := SweepAxis{Name: "ppm", Title: "drift", Unit: SweepRates, Levels: []SweepLevel{{"-1000ppm", -1000}, {"0ppm", 0}, {"1000ppm", 1000}}}
	policy := SweepAxis{Name: "append-fsync", Title: "append-fsync", Levels: wordLevels("always", "everysec", "no")}
	single := SweepAxis{Name: "clients", Title: "clients", Unit: SweepCounts, Levels: []SweepLevel{{"2", 2}}}
	all := map[string]*Sweep{
		"strip": stripSweep(), "numbers": mapSweep(time, rate, "✓✓✓", "±✓✓", "✗✗–"), "words": mapSweep(policy, policy, "✓?–", "±✓✓", "✗✗✗"),
		"numbers by words": mapSweep(time, policy, "✗✓✓", "✗✓✓", "✗✗✓"), "words by numbers": mapSweep(policy, time, "✗✓✓", "✗✓✓", "✗✗✓"),
		"one point": mapSweep(single, single, "✓"), "a row": mapSweep(time, single, "✗✓?"),
	}
	middle := SweepLevel{"1.5s", 1_500_000_000}
	for name, axis := range map[string]int{"numbers by words": 0, "words by numbers": 1} {
		for range 3 {
			l := &all[name].Laws[0]
			l.Lines = append(l.Lines, SweepLine{Axis: axis, Other: "x", Stretches: []SweepStretch{{SweepBroken, time.Levels[0], middle}, {SweepSafe, middle, time.Levels[2]}}})
		}
	}
	words := stripSweep()
	words.Axes, words.Assertions = []SweepAxis{policy}, nil
	words.Laws[0].Cells, words.Laws[0].Lines, words.Laws[0].Edges = words.Laws[0].Cells[:3], nil, nil
	all["a strip of words"] = words
	return all
}

// Each point shows once, whatever the width, and no line is wider than the screen.
func TestSweepsFitTheScreen(t *testing.T) {
	wide := SweepAxis{Name: "servers.redis", Title: "servers.redis", Unit: SweepCounts}
	row := ""
	for i := range 200 {
		wide.Levels = append(wide.Levels, SweepLevel{fmt.Sprint(i), int64(i)})
		row += string([]rune("✓✗±?–")[i%5])
	}
	all := samples()
	all["two hundred points"] = mapSweep(wide, SweepAxis{Name: "ttl", Title: "ttl", Unit: SweepDurations, Levels: secondLevels(1, 2)}, row, row)
	for name, s := range all {
		for width := 60; width <= 160; width += 10 {
			var b bytes.Buffer
			if err := SweepText(&b, s, TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			for _, line := range strings.Split(text, "\n") {
				if utf8.RuneCountInString(line) > width {
					t.Errorf("%s: wider than %d: %q", name, width, line)
				}
			}
			before, _, _ := strings.Cut(text, "✓ held in all runs") // the legend
			_, drawn, _ := strings.Cut(before, string(checker.LeaseExclusion))
			signs := 0
			for _, line := range strings.Split(drawn, "\n") {
				if !strings.Contains(line, ": in ") && !strings.Contains(line, ": at ") && !strings.Contains(line, "servers") {
					signs += len(regexp.MustCompile("[✓✗±?–]").FindAllString(line, -1))
				}
			}
			if cells := len(s.Laws[0].Cells); signs != cells {
				t.Errorf("%s, %d wide: %d signs for %d points\n%s", name, width, signs, cells, text)
			}
		}
	}
}

func TestSweepInWords(t *testing.T) {
	var b bytes.Buffer
	if err := SweepText(&b, stripSweep(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"delayed-restart  14 points, 20 seeds each", "undecided\n",
		"varied  restart, 8s to 11s, 4 values: restart delay after the crash of redis-3\n",
		"with    lock.ttl 10s\n", "faults  1 crash redis-3",
		"lease-exclusion  safe from restart 9.891s; broken up to 9.89s, at lock.ttl 10s\n  ✗   ±   ✓   ✓\n  8s  9s  10s 11s\n",
		"edge  9.89s broken, 9.891s safe: lost in crash (no persistence), first with\n        seed 8\n",
		"lost in crash (no persistence): in 21 runs at 2 points", "a chance of 13.9 % in one",
		" ✓ lease-exclusion holds when restart >= ttl\n   met at 3 points\n",
		" ? lease-exclusion holds when restart > 20s\n   the condition was true at no point\n",
		"note    fault 2 struck in no run of any point\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// Equal sweeps give equal bytes, and pictures are what they say.
func TestMapsAreRepeatable(t *testing.T) {
	for name, s := range samples() {
		var svg, svg2, page bytes.Buffer
		if err := errors.Join(SweepSVG(&svg, s, &s.Laws[0]), SweepSVG(&svg2, s, &s.Laws[0]), SweepHTML(&page, s)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(svg.Bytes(), svg2.Bytes()) {
			t.Errorf("%s: drawn twice, the pictures differ", name)
		}
		for d := xml.NewDecoder(&svg); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
		if strings.Contains(svg2.String(), "NaN") || !strings.Contains(svg2.String(), "lease-exclusion") {
			t.Errorf("%s: %s", name, svg2.String())
		}
		text := page.String()
		if loads := regexp.MustCompile(`(src|href)="?[^"#]`).FindString(text); loads != "" || strings.Contains(text, "<summary>") || strings.Count(text, "<svg") != 2 {
			t.Errorf("%s: the page is not self-contained, or not safe: %q", name, loads)
		}
	}
}

func TestPixelsAreRepeatable(t *testing.T) {
	s := samples()["numbers"]
	var raw, again bytes.Buffer
	if err := errors.Join(SweepPNG(&raw, s, &s.Laws[0]), SweepPNG(&again, s, &s.Laws[0])); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw.Bytes(), again.Bytes()) {
		t.Error("drawn twice, the pictures differ")
	}
	if p, err := png.DecodeConfig(&raw); err != nil || p.Width != 1920 || p.Height != 1080 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSweepAsJSON(t *testing.T) {
	text, err := SweepJSON(stripSweep())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Scenario string
		Axes     []struct{ Levels []string }
		Points   []struct {
			At   map[string]string
			Laws map[string]struct {
				State    string
				Violated int
				Causes   []struct{ First_seed uint64 }
			}
		}
		Laws map[string]struct {
			Edges []struct {
				Last, First map[string]string
				After       string
			}
			Lines []struct{ Monotone bool }
		}
		Assertions []struct{ Result string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := got.Points[1]
	if len(got.Points) != 4 || p.At["restart"] != "9s" || p.Laws["lease-exclusion"].State != "broken" || p.Laws["lease-exclusion"].Violated != 1 ||
		p.Laws["lease-exclusion"].Causes[0].First_seed != 7 {
		t.Errorf("%+v", p)
	}
	law := got.Laws["lease-exclusion"]
	if e := law.Edges[0]; e.Last["restart"] != "9.89s" || e.First["restart"] != "9.891s" || e.After != "safe" || !law.Lines[0].Monotone {
		t.Errorf("%+v", got.Laws)
	}
	if got.Assertions[0].Result != "met" || got.Assertions[1].Result != "undecided" {
		t.Errorf("%+v", got.Assertions)
	}
}

// A law of which nothing is told is no passed case.
func TestSweepAsCases(t *testing.T) {
	s := stripSweep()
	if c := s.Laws[0].Case(s); c.Result != Passed || c.Message != "safe from restart 9.891s; broken up to 9.89s" {
		t.Errorf("%+v", c)
	}
	for i := range s.Laws[0].Cells {
		s.Laws[0].Cells[i] = cellOf([]rune("?–")[i%2])
	}
	if c := s.Laws[0].Case(s); c.Result != NotRun {
		t.Errorf("%+v", c)
	}
	if c := s.Assertions[1].Case(s); c.Result != Undecided || c.Message != "the condition was true at no point" {
		t.Errorf("%+v", c)
	}
	if c := s.Assertions[0].Case(s); c.Result != Passed || c.Message != "met at 3 points" {
		t.Errorf("%+v", c)
	}
}
