package compare

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// threeLocks returns a comparison that contains each kind of cell.
func threeLocks() *Report {
	c := &Comparison{Seeds: 10, Delay: "1ms", Retry: "5ms", Clients: 8, Model: []string{"Time is what it is."}}
	all, none, some := campaign.Counts{Holds: 10}, campaign.Counts{Violated: 10},
		campaign.Counts{Holds: 7, Violated: 2, Undecided: 1}
	laws := func(data, sections, leases, progress campaign.Counts) campaign.Laws {
		return campaign.Laws{{Law: checker.MutualExclusion, Counts: sections},
			{Law: checker.LeaseExclusion, Counts: leases},
			{Law: checker.ResourceSafety, Counts: data}, {Law: checker.DeadlockFreedom, Counts: progress}}
	}
	for _, name := range []string{"pause", "jump", "power", "failover", "partition", "flood"} {
		c.Troubles = append(c.Troubles,
			Trouble{Name: name, Title: name, Text: "What " + name + " does.", Liveness: name == "flood"})
	}
	var timing Timing
	for _, f := range figures {
		timing.values = append(timing.values, map[string]float64{"acquires": 10, "p50_ns": 2.2e6, "p99_ns": 106e6,
			"first_p50_ns": 1e6, "cycles_per_second": 228.4, "requests_per_lock": 2}[f.key])
	}
	for i, title := range []string{"Redis", "Redlock, at once", "etcd"} {
		l := Lock{Name: title, Title: title, Text: "A lock.", Alone: timing, Together: timing}
		if i > 0 {
			l.Claim = Claim{Latency: "5-20 ms", Throughput: "1-5K ops/s"}
		}
		for _, trouble := range c.Troubles {
			off := Survival{Trouble: trouble.Name, Scenario: Written{Name: "s", Text: "name: s\n"},
				Laws: laws(none, some, all, all)}
			on := Survival{Trouble: trouble.Name, Fencing: true, Absent: "gives no token"}
			if i == 2 {
				on = Survival{Trouble: trouble.Name, Fencing: true, Laws: laws(all, none, all, some)}
			}
			l.Survival = append(l.Survival, off, on)
		}
		c.Locks = append(c.Locks, l)
	}
	return &Report{Comparison: c, Repeat: "fencepost compare"}
}

func page(t *testing.T, d *document.Document) string {
	t.Helper()
	var b strings.Builder
	if err := d.Pages("page.html")[0].Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNoWidthLosesAMarkOfTheComparison(t *testing.T) {
	for _, width := range []int{60, 70, 75, 76, 80, 100, 137, 138, 160} {
		var b bytes.Buffer
		if err := threeLocks().Document().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		marks := map[string]int{}
		for _, ln := range strings.Split(b.String(), "\n") {
			if text.Cells(ln) > width {
				t.Errorf("width %d: %q", width, ln)
			}
			for _, cell := range []string{"✗ ± ✓ ✓", "✓ ✗ ✓ ±", "r m l d"} {
				marks[cell] += strings.Count(ln, cell)
			}
		}
		if want := 3 * 6; marks["✗ ± ✓ ✓"] != want || marks["✓ ✗ ✓ ±"] != 6 || marks["r m l d"] != 6 {
			t.Errorf("width %d shows cells %v, want %d", width, marks, want)
		}
		for _, want := range []string{"2.2", "106.0", "228", "5-20 ms", "1-5K"} {
			if n := strings.Count(b.String(), want); n < 2 {
				t.Errorf("width %d shows %s %d times\n%s", width, want, n, b.String())
			}
		}
	}
}

func TestTheComparisonSaysWhatDiffersFromSeedToSeed(t *testing.T) {
	var b bytes.Buffer
	if err := threeLocks().Document().Text(&b, document.TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Redis, pause: mutual-exclusion held in 7 runs, broken in 2 runs, undecided in 1 run\n",
		"etcd, jump, with fencing: deadlock-freedom held in 7 runs, broken in 2 runs, undecided in 1 run\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q:\n%s", want, b.String())
		}
	}
}

func TestTheComparisonIsOneJSONObject(t *testing.T) {
	c := threeLocks()
	c.Files = "cells"
	text, err := c.Document().JSON("compare")
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
	if off.Survives == nil || *off.Survives || off.Laws["resource-safety"]["violated"] != 10 ||
		off.Repeat != "fencepost run cells/s.yaml --seeds 10" {
		t.Errorf("a cell that was run: %+v", off)
	}
	if on.Survives != nil || on.Absent == "" {
		t.Errorf("a cell that was not run: %+v", on)
	}
}

var markOfPage = regexp.MustCompile(`<td class="mark( first)?(?: (good|bad|open))?" title="(.*?)\n(.*?): (.*?)">(.)</td>`)

// TestEveryMarkOfThePageIsThatOfItsLaw compares the marks on the page with the cells. Each law in each cell must have a
// mark in the column with its name, and the mark's text must name the law. Only the mark for resource-safety, which
// decides survival, has a color: that of its outcome.
func TestEveryMarkOfThePageIsThatOfItsLaw(t *testing.T) {
	r := threeLocks()
	// in the second case nobody acquires the lock, so no data is lost
	for i, data := range []campaign.Counts{{Holds: 10}, {Unchecked: 10}} {
		majority := r.Locks[i].Survival[10].Laws
		majority[2].Counts, majority[3].Counts = data, campaign.Counts{Violated: 10}
	}
	_, body, _ := strings.Cut(html.UnescapeString(page(t, r.Document())), "<body>")
	var heads []string
	for _, h := range regexp.MustCompile(`(?s)<th scope="col" class="upright.*?">(.*?)</th>`).FindAllStringSubmatch(body, -1) {
		heads = append(heads, regexp.MustCompile(`<.*?>`).ReplaceAllString(h[1], ""))
	}
	n := 0
	marks := markOfPage.FindAllStringSubmatch(body, -1)
	for l := range r.Locks {
		for _, fencing := range []bool{false, true} {
			for i := range r.Troubles {
				cell := &r.Locks[l].Survival[2*i]
				if fencing {
					cell = &r.Locks[l].Survival[2*i+1]
				}
				if cell.Absent != "" {
					continue
				}
				for k, law := range comparedLaws {
					if n == len(marks) {
						t.Fatalf("there are %d marks only", n)
					}
					m, counts := marks[n], cell.Laws.Of(law)
					n++
					want := []string{r.cellName(&r.Locks[l], cell), string(law), inWords(counts), counts.Sign()}
					if head := heads[i*len(comparedLaws)+k]; !slices.Equal(m[3:], want) || head != string(law) ||
						(m[1] != "") != (k == 0) {
						t.Errorf("mark %d is %q, want %q, under %s", n, m[3:], want, head)
					}
					colour := ""
					if law == checker.ResourceSafety {
						colour = map[string]string{"✓": "good", "✗": "bad", "?": "open"}[counts.Sign()]
					}
					if m[2] != colour {
						t.Errorf("%q is coloured %q, want %q", want, m[2], colour)
					}
				}
			}
		}
	}
	if n != len(marks) || n < 48 {
		t.Errorf("%d of %d marks have a cell", n, len(marks))
	}
}

// TestEveryFigureIsShownInItsColumn checks figures that are measured both for one client and for several. Each must
// appear in two columns. If a column compares the locks using bars, there must be a bar below the figure.
func TestEveryFigureIsShownInItsColumn(t *testing.T) {
	r := threeLocks()
	for i := range r.Locks {
		l := &r.Locks[i]
		l.Alone.values, l.Together.values = slices.Clone(l.Alone.values), slices.Clone(l.Together.values)
		for k := range figures {
			l.Alone.values[k], l.Together.values[k] = float64((i+1)*(k+1))*1e6, float64((i+1)*(k+1))*1e7
		}
	}
	table, at := r.timingTable(), 0
	for k, f := range figures {
		for _, of := range []struct {
			title string
			scale float64
		}{{f.alone, 1e6}, {f.together, 1e7}} {
			if of.title == "" {
				continue
			}
			if c := table.Columns[at]; c.Title != of.title || c.Tip != f.tip || c.Group != f.group {
				t.Errorf("column %d is %+v, not %s", at, c, of.title)
			}
			for i, row := range table.Rows {
				want := document.Cell{Words: f.show(float64((i+1)*(k+1)) * of.scale)}
				if f.bars {
					want.Bar = 100 * (i + 1) / len(r.Locks)
				}
				if row.Cells[at] != want {
					t.Errorf("%s of %s: %+v, want %+v", of.title, row.Name, row.Cells[at], want)
				}
			}
			at++
		}
	}
	if at < 5 || len(table.Columns) != at+2 {
		t.Errorf("%d columns of figures, of %d", at, len(table.Columns))
	}
}

func TestThePageOfTheComparison(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		c := threeLocks()
		c.Interrupted = interrupted
		shown := page(t, c.Document())
		if err := reporttest.Page(shown); err != nil {
			t.Error(err)
		}
		if n, err := reporttest.Explained(shown); n != len(comparedLaws) || err != nil {
			t.Errorf("%d laws are explained: %v", n, err)
		}
		if says := strings.Contains(shown, document.Interruption); says != interrupted {
			t.Errorf("interrupted %t: it says so: %t", interrupted, says)
		}
	}
}

func TestTheCommandOfTheComparisonCanBePasted(t *testing.T) {
	c := threeLocks()
	c.Repeat = "fencepost compare --seeds 18446744073709551615 --out '/a/rather long/path/to the/folder/of " +
		"scenarios' and/more/of/the same"
	for _, width := range []int{60, 80, 120, 200} {
		var b strings.Builder
		if err := c.Document().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := reporttest.Pasted(b.String(), c.Repeat); n != 1 {
			t.Errorf("at %d it stands %d times:\n%s", width, n, b.String())
		}
	}
}
