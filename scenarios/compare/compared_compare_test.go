package compare

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/documenttest"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// threeLocks is a comparison with each kind of cell.
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
	timing := Timing{Acquires: 10, P50: 2200 * time.Microsecond, P99: 106 * time.Millisecond,
		First: time.Millisecond, PerSecond: 228.4, Requests: 2}
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

func TestNoWidthLosesAMarkOfTheComparison(t *testing.T) {
	for _, width := range []int{60, 70, 75, 76, 80, 100, 137, 138, 160} {
		var b bytes.Buffer
		if err := threeLocks().Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		marks := 0
		for _, ln := range strings.Split(b.String(), "\n") {
			if text.Cells(ln) > width {
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
	if err := threeLocks().Text(&b, document.TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Redis, pause, fence off: mutual-exclusion broken in 2 of 10 runs, undecided in 1\n",
		"etcd, jump, fence on: deadlock-freedom broken in 2 of 10 runs, undecided in 1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q:\n%s", want, b.String())
		}
	}
}

func TestTheComparisonIsOneJSONObject(t *testing.T) {
	c := threeLocks()
	c.Files = "cells"
	text, err := c.JSON("compare")
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

var markOfPage = regexp.MustCompile(`<td class="mark( first)?(?: (kept|lost|open))?" ` +
	`title="(.*?), fence (off|on)\n(.*?): (.*?)">(.)</td>`)

// TestEveryMarkOfThePageIsThatOfItsLaw holds the marks of the page against the cells: each law of each cell has one, in
// the column with its name, and what stands there says which law it is. What counts as survived is coloured as that; no
// other mark has a colour.
func TestEveryMarkOfThePageIsThatOfItsLaw(t *testing.T) {
	c := threeLocks()
	for i, data := range []campaign.Counts{{Holds: 10}, {Unchecked: 10}} { // nobody gets the lock, and the data is safe
		majority := c.Locks[i].Survival[10:][0].Laws
		majority[2].Counts, majority[3].Counts = data, campaign.Counts{Violated: 10}
	}
	var b strings.Builder
	if err := c.html(&b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(html.UnescapeString(b.String()), "<body>")
	var heads []string
	head := regexp.MustCompile(`(?s)<th scope="col" class="upright.*?">(.*?)</th>`)
	for _, h := range head.FindAllStringSubmatch(body, -1) {
		heads = append(heads, regexp.MustCompile(`<.*?>`).ReplaceAllString(h[1], ""))
	}
	n, column := 0, 0
	marks := markOfPage.FindAllStringSubmatch(body, -1)
	for _, l := range c.Locks {
		for _, fencing := range []bool{false, true} {
			for i, trouble := range c.Troubles {
				cell := cellOf(&l, trouble.Name, fencing)
				if cell == nil || cell.Absent != "" {
					continue
				}
				for k, law := range comparedLaws {
					if n == len(marks) {
						t.Fatalf("there are %d marks only", n)
					}
					m := marks[n]
					n++
					column = i*len(comparedLaws) + k
					want := []string{l.Title + ", " + trouble.Title, onOff(fencing), string(law),
						countsInWords(cell.Laws.Of(law)), cell.Laws.Of(law).Sign()}
					if !slices.Equal(m[3:], want) || heads[column] != string(law) || (m[1] != "") != (k == 0) {
						t.Errorf("mark %d is %q, want %q, under %s", n, m[3:], want, heads[column])
					}
					colour := ""
					if law == checker.ResourceSafety {
						colour = map[string]string{"✓": "kept", "✗": "lost", "?": "open"}[cell.Laws.Of(law).Sign()]
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
	for _, l := range c.Locks {
		if !strings.Contains(body, text.Milliseconds(l.Alone.P50)+"<svg") {
			t.Errorf("the median of %s is missing", l.Title)
		}
	}
}

func TestThePageOfTheComparison(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		c := threeLocks()
		c.Interrupted = interrupted
		var b strings.Builder
		if err := c.html(&b); err != nil {
			t.Fatal(err)
		}
		if err := documenttest.Page(b.String()); err != nil {
			t.Error(err)
		}
		if _, err := documenttest.Explained(b.String()); err != nil {
			t.Error(err)
		}
		if says := strings.Contains(b.String(), document.Interruption); says != interrupted {
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
		if err := c.Text(&b, document.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := documenttest.Pasted(b.String(), c.Repeat); n != 1 {
			t.Errorf("at %d it stands %d times:\n%s", width, n, b.String())
		}
	}
}
