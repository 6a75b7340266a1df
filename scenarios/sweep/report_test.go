package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// delayed is a scenario with settings of every type. Its second fault strikes too late to have any effect.
var delayed = func() *Subject {
	scenario, err := scenarios.Parse("delayed-restart.yaml", []byte(`name: delayed-restart
summary: A <summary> & more.
servers: {redis: 5, persistence: {append-fsync: no}}
lock: {protocol: redlock, ttl: 10s}
faults:
  - crash redis-3 losing everything at 1s, restart after 11s
  - drift client-1 clock by +10ppm from 100s
`))
	if err != nil {
		panic(err)
	}
	subject, err := NewSubject(scenario)
	if err != nil {
		panic(err)
	}
	return subject
}()

func delayedAxis(text string) Axis {
	a, err := delayed.Axis(text)
	if err != nil {
		panic(err)
	}
	return a
}

// sweepOf returns a report on a sweep without edges. signs contains, for each point, the symbol for its outcome.
func sweepOf(axes []Axis, signs string, assertions ...string) *Report {
	o := Options{Axes: axes, Laws: []checker.Law{checker.LeaseExclusion}, From: 1, Seeds: 20,
		Crew: campaign.Crew{Workers: 1}}
	for _, text := range assertions {
		a, err := delayed.Assertion(axes, text)
		if err != nil {
			panic(err)
		}
		o.Assertions = append(o.Assertions, a)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	swept, err := delayed.Sweep(stopped, o)
	if err != nil {
		panic(err)
	}
	swept.Interrupted, swept.Edges = false, nil
	for i, sign := range []rune(signs) {
		swept.Points[i] = signed(swept.Points[i].Levels, sign)
	}
	return &Report{Sweep: swept, Scenario: &scenarios.Scenario{Name: "delayed-restart", Summary: "A <summary> & more."},
		Files: "_runs/x", Repeat: "fencepost sweep delayed-restart --vary 'restart=8s..11s/1s'"}
}

// signed returns a point with the given levels and an outcome that the report shows as the given symbol.
func signed(levels []Level, sign rune) *Point {
	p := &Point{Levels: levels, Runs: 20, Struck: []int{20, 0}}
	of := func(c campaign.Counts, seeds ...uint64) *Point {
		p.Laws = campaign.Laws{{Law: checker.LeaseExclusion, Counts: c}}
		for _, first := range seeds {
			p.Findings = append(p.Findings, campaign.Finding{Law: checker.LeaseExclusion, Runs: c.Violated,
				First: first, Cause: checker.Cause{Kind: checker.LostInCrash, Detail: "no persistence"}})
		}
		return p
	}
	switch sign {
	case '✓':
		return of(campaign.Counts{Holds: 20})
	case '✗':
		return of(campaign.Counts{Violated: 20}, 1)
	case '±':
		return of(campaign.Counts{Holds: 19, Violated: 1}, 7)
	case '?':
		return of(campaign.Counts{Unchecked: 20})
	}
	return &Point{Levels: levels, Problem: "the quorum is 6, but there are only 5 servers"}
}

// stripSweep returns a sweep with one axis. The law is always broken up to 8.4 s, and safe at 9.891 s and above.
func stripSweep() *Report {
	axis := delayedAxis("restart=8s..11s/1s")
	s := sweepOf([]Axis{axis}, "✗±✓✓", "lease-exclusion holds when restart >= ttl",
		"lease-exclusion holds when restart > 20s")
	s.Asserted[0].Standing, s.Asserted[0].Points = document.Passed, 3
	s.Asserted[1].Standing = document.NotJudged
	at := func(text string, n int64, sign rune) *Point {
		return signed([]Level{{Unit: Durations, N: n, Text: text}}, sign)
	}
	last, first := at("9.89s", 9_890_000_000, '±'), at("9.891s", 9_891_000_000, '✓')
	last.Findings[0].First = 8
	s.Edges = []Edge{{Law: checker.LeaseExclusion, Last: at("8.4s", 8_400_000_000, '✗'),
		First: at("8.401s", 8_401_000_000, '±'), Before: Broken, After: Chance, Exact: true},
		{Law: checker.LeaseExclusion, Point: 1, Last: last, First: first, Before: Chance, After: Safe,
			Exact: true}}
	s.Between = make([]*Point, 10)
	for i := range s.Between {
		s.Between[i] = first
	}
	return s
}

// mapSweep returns a sweep with two axes. The rows are in display order, highest first.
func mapSweep(across, up Axis, rows ...string) *Report {
	signs := ""
	for i := len(rows) - 1; i >= 0; i-- {
		signs += rows[i]
	}
	return sweepOf([]Axis{across, up}, signs)
}

// firstMap returns the first law's map.
func firstMap(s *Report) *Map {
	return s.Map(LawOf(s.Sweep, s.Laws[0]))
}

// samples returns one report for each kind of sweep.
func samples() map[string]*Report {
	time, rate := delayedAxis("restart=1s..3s/1s"), delayedAxis("ppm=-1000ppm,0ppm,1000ppm")
	policy, single := delayedAxis("append-fsync=always,everysec,no"), delayedAxis("clients=2")
	return map[string]*Report{
		"strip": stripSweep(), "numbers": mapSweep(time, rate, "✓✓✓", "±✓✓", "✗✗–"),
		"words":            mapSweep(policy, delayedAxis("resource.fencing=on,off,1"), "✓?–", "±✓✓", "✗✗✗"),
		"numbers by words": mapSweep(time, policy, "✗✓✓", "✗✓✓", "✗✗✓"),
		"words by numbers": mapSweep(policy, time, "✗✓✓", "✗✓✓", "✗✗✓"),
		"one point":        mapSweep(single, delayedAxis("ttl=2s"), "✓"), "a row": mapSweep(time, single, "✗✓?"),
		"a strip of words": sweepOf([]Axis{policy}, "✗±✓"),
	}
}

// TestSweepsFitTheScreen checks that each point is shown once and no line is wider than the screen, at any screen
// width.
func TestSweepsFitTheScreen(t *testing.T) {
	wide, row := delayedAxis("servers.redis=1..200/1"), ""
	for i := range wide.Levels {
		row += string([]rune("✓✗±?–")[i%5])
	}
	all := samples()
	all["two hundred points"] = mapSweep(wide, delayedAxis("ttl=1s,2s"), row, row)
	for name, s := range all {
		for width := 60; width <= 160; width += testkit.Size(50, 10, 10) {
			var b bytes.Buffer
			if err := s.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if utf8.RuneCountInString(line) > width {
					t.Errorf("%s: wider than %d: %q", name, width, line)
				}
			}
			b.Reset()
			firstMap(s).Text(text.New(&b, width, false))
			signs := len(regexp.MustCompile("[✓✗±?–]").FindAllString(b.String(), -1))
			if cells := len(s.Points); signs != cells {
				t.Errorf("%s, %d wide: %d signs for %d points\n%s", name, width, signs, cells, &b)
			}
		}
	}
}

func TestSweepInWords(t *testing.T) {
	var b bytes.Buffer
	if err := stripSweep().Document().Text(&b, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"delayed-restart  14 points, 20 seeds each", "undecided\n",
		"varied  restart, 8s to 11s, 4 values: restart delay after the crash of redis-3\n",
		"with    lock.ttl 10s\n", "faults  1 crash redis-3",
		"lease-exclusion\n  ✗   ±   ✓   ✓\n  8s  9s  10s 11s\n  broken always up to restart 8.4s, in 1 of 20 runs at " +
			"9s, in none of 20 from\n  9.891s, at lock.ttl 10s\n  edge    9.89s broken in some, 9.891s safe: lost in " +
			"crash (no persistence),\n          first with seed 8\n  ✗       lost in crash (no persistence): in 21 " +
			"runs at 2 points\n",
		"safe    A point is safe if no run broke the law there. Each point had 20 runs,\n" +
			"        so with 95% confidence, fewer than 14% of all runs break the law there.\n",
		" ✓ lease-exclusion holds when restart >= ttl\n     met at 3 points\n",
		" ? lease-exclusion holds when restart > 20s\n     the condition was not true at any point that was run, " +
			"so it was " +
			"not tested\n",
		"note    fault 2 did not strike in any run: drift client-1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// TestMapsAreRepeatable checks that identical sweeps produce the same pictures, byte for byte, and that the pictures
// are valid.
func TestMapsAreRepeatable(t *testing.T) {
	for name, s := range samples() {
		var svg, svg2, page bytes.Buffer
		err := errors.Join(firstMap(s).SVG(&svg), firstMap(s).SVG(&svg2), s.Document().HTML(&page, "sweep.html"))
		if err != nil {
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
		if err := reporttest.Page(text); err != nil || strings.Contains(text, "<summary>") ||
			strings.Count(text, "<svg") != 2 {
			t.Errorf("%s: the page is not self-contained, or not safe: %v", name, err)
		}
		for _, ink := range regexp.MustCompile(`var\((--plot-[a-z-]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Count(text, ink[1]+":") != 2 {
				t.Errorf("%s: %s is not defined for both themes", name, ink[1])
			}
		}
		if !strings.Contains(text, ` role="img" aria-label="lease-exclusion by `) {
			t.Errorf("%s: the picture says nothing to those who cannot see it", name)
		}
		if n, err := reporttest.Explained(text); err != nil || n != 1 {
			t.Errorf("%s explains %d laws: %v", name, n, err)
		}
	}
}

func TestPixelsAreRepeatable(t *testing.T) {
	s := samples()["numbers"]
	var raw, again bytes.Buffer
	if err := errors.Join(firstMap(s).PNG(&raw), firstMap(s).PNG(&again)); err != nil {
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
	text, err := stripSweep().Document().JSON("sweep")
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
			Lines []struct {
				Monotone  bool
				Stretches []struct {
					State, At      string
					Violated, Runs int
				}
			}
		}
		Assertions []struct{ Result string }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := got.Points[1]
	if len(got.Points) != 4 || p.At["restart"] != "9s" || p.Laws["lease-exclusion"].State != "broken in some" ||
		p.Laws["lease-exclusion"].Violated != 1 ||
		p.Laws["lease-exclusion"].Causes[0].First_seed != 7 {
		t.Errorf("%+v", p)
	}
	law := got.Laws["lease-exclusion"]
	if e := law.Edges[1]; e.Last["restart"] != "9.89s" || e.First["restart"] != "9.891s" || e.After != "safe" ||
		!law.Lines[0].Monotone {
		t.Errorf("%+v", got.Laws)
	}
	if st := law.Lines[0].Stretches; len(st) != 3 || st[1].State != "broken in some" || st[1].At != "9s" ||
		st[1].Violated != 1 || st[1].Runs != 20 || st[2].At != "9.891s" || st[2].Violated != 0 {
		t.Errorf("%+v", st)
	}
	if got.Assertions[0].Result != "met" || got.Assertions[1].Result != "undecided" {
		t.Errorf("%+v", got.Assertions)
	}
}

// TestSweepAsCases checks that a law's test case does not pass if the law was not judged at any point.
func TestSweepAsCases(t *testing.T) {
	s := stripSweep()
	cases := s.Document().Suite.Cases
	if c := cases[2]; c.Result != document.Passed || c.Message != "broken always up to restart 8.4s, in 1 of 20 "+
		"runs at 9s, in none of 20 from 9.891s" {
		t.Errorf("%+v", c)
	}
	if c := cases[1]; c.Result != document.Undecided ||
		!strings.HasPrefix(c.Message, "the condition was not true at any point") {
		t.Errorf("%+v", c)
	}
	if c := cases[0]; c.Result != document.Passed || c.Message != "met at 3 points" {
		t.Errorf("%+v", c)
	}
	for i := range s.Points {
		s.Points[i] = signed(s.Points[i].Levels, []rune("?–")[i%2])
	}
	if c := s.Document().Suite.Cases[2]; c.Result != document.NotJudged {
		t.Errorf("%+v", c)
	}
}

func TestSweepsSayThatTheyWereInterrupted(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		s := stripSweep()
		s.Interrupted = interrupted
		var text, page strings.Builder
		d := s.Document()
		err := errors.Join(d.Text(&text, document.TextOptions{Width: 160}), d.HTML(&page, "sweep.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{text.String(), page.String()} {
			if says := strings.Contains(said, document.Interruption); says != interrupted {
				t.Errorf("interrupted %t: it says so: %t", interrupted, says)
			}
		}
	}
}

func TestTheCommandsOfASweepCanBePasted(t *testing.T) {
	const call = "fencepost sweep '/a/rather long/path/to the/folder/of scenarios/my-lock.yaml' --vary " +
		"'restart=8s..11s/1s' --seeds 18446744073709551615"
	s := stripSweep()
	s.Repeat, s.Repeats = call, map[*Edge]string{&s.Edges[1]: call}
	for _, width := range []int{60, 80, 120, 200} {
		var b strings.Builder
		if err := s.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := reporttest.Pasted(b.String(), call); n != 2 {
			t.Errorf("at %d it stands %d times:\n%s", width, n, b.String())
		}
	}
}
