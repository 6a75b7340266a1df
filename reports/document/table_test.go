package document_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// The table has titles above groups of columns, marks close together, indented rows, and cells that span columns.
func TestATableOnATerminal(t *testing.T) {
	gone, late := document.Group{"gone", "It is not there."}, document.Group{"late, in ms", ""}
	table := document.Table{Heading: "lock",
		Columns: []document.Column{{Title: "kept", Short: "k", Group: gone},
			{Title: "lost", Short: "l", Group: gone, Tip: "away"}, {Title: "p50", Group: late, Tip: "the median"},
			{Title: "p99", Group: late}, {Title: "claim", Words: true}},
		Rows: []document.Row{
			{Name: "one that is good", Cells: []document.Cell{{Words: "✓"}, {Words: "✗"}, {Words: "1.0"},
				{Words: "12.0"},
				{Words: "about as many words as there is room for"}}, Notes: []document.Paragraph{{Words: "noted"}}},
			{Name: "with more", Under: true, Cells: []document.Cell{{Words: "–", Span: 2}, {Words: "1.5"},
				{Words: "2.0"},
				{Words: "few"}}},
		}}
	for width, want := range map[int]string{
		80: `
                  gone  late, in ms
lock              k l     p50   p99  claim
one that is good  ✓ ✗     1.0  12.0  about as many words as there is room for
  noted
  with more       –       1.5   2.0  few
`,
		60: `
                  gone  late, in ms
lock              k l     p50   p99  claim
one that is good  ✓ ✗     1.0  12.0  about as many words as
                                     there is room for
  noted
  with more       –       1.5   2.0  few
`,
		40: `
                  gone  late, in ms
lock              k l     p50   p99
one that is good  ✓ ✗     1.0  12.0
  noted
  with more       –       1.5   2.0

lock              claim
one that is good  about as many words as
                  there is room for
  with more       few
`,
	} {
		var b strings.Builder
		table.Text(text.New(&b, width, false))
		if b.String() != want[1:] {
			t.Errorf("at %d it is\n%s", width, b.String())
		}
	}
	var key strings.Builder
	table.Key().Text(text.New(&key, 80, false))
	want := "k       kept\nl       lost: away\ngone    It is not there.\np50     the median\n"
	if key.String() != want {
		t.Errorf("its key is\n%s", key.String())
	}
}

// TestNoWidthLosesACell fills random tables with unique words and finds all of them in the text and on the page. No
// line is wider than the terminal.
func TestNoWidthLosesACell(t *testing.T) {
	for seed := range uint64(60) {
		table, words := randomTable(rand.New(rand.NewPCG(seed, 0)))
		for width := 60; width <= 200; width += 7 {
			var b strings.Builder
			table.Text(text.New(&b, width, false))
			for _, line := range strings.Split(b.String(), "\n") {
				if text.Cells(line) > width {
					t.Fatalf("seed %d: at %d: %q", seed, width, line)
				}
			}
			for _, w := range words {
				if strings.Count(b.String(), w) != 1 {
					t.Fatalf("seed %d: at %d there is no single %q in\n%s", seed, width, w, b.String())
				}
			}
		}
		d := &document.Document{Title: document.Title{Name: "table"}, Body: []document.Block{table}}
		var page strings.Builder
		if err := d.Pages("page.html")[0].Write(&page); err != nil {
			t.Fatal(err)
		}
		if err := reporttest.Page(page.String()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, w := range words {
			if strings.Count(page.String(), ">"+w+"<") != 1 {
				t.Fatalf("seed %d: there is no single %q on the page", seed, w)
			}
		}
	}
}

func randomTable(r *rand.Rand) (t document.Table, words []string) {
	group := document.Group{}
	for i := range 1 + r.IntN(12) {
		if r.IntN(3) == 0 {
			group = document.Group{Title: fmt.Sprintf("group-%d", i)}
		}
		t.Columns = append(t.Columns, document.Column{Title: fmt.Sprintf("column-%d", i), Group: group})
	}
	t.Columns[len(t.Columns)-1].Words = r.IntN(2) == 0
	for i := range 1 + r.IntN(5) {
		row := document.Row{Name: strings.Repeat("name ", 1+r.IntN(8)), Under: r.IntN(3) == 0}
		for k := range t.Columns {
			word := fmt.Sprintf("%c%d%s.", 'a'+i, k, strings.Repeat("-", r.IntN(8)))
			row.Cells, words = append(row.Cells, document.Cell{Words: word}), append(words, word)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, words
}

// A table without columns shows each name with its notes, and wraps a name that is wider than the screen.
func TestATableOfNamesAlone(t *testing.T) {
	const long = "resource-safety holds when lock.ttl is at least two seconds and every client checks its lease " +
		"before it " +
		"writes"
	d := document.Document{Title: document.Title{Name: "x"},
		Body: []document.Block{document.Table{Heading: "assertion", Rows: []document.Row{
			{Sign: "✓", Name: "short", Notes: []document.Paragraph{{Words: "met at 2 points"}}},
			{Sign: "✗", Name: long}}}}}
	var b strings.Builder
	if err := d.Text(&b, document.TextOptions{Width: 60}); err != nil {
		t.Fatal(err)
	}
	const want = "x\n\n   assertion\n ✓ short\n     met at 2 points\n" +
		" ✗ resource-safety holds when lock.ttl is at least two\n     seconds and every client checks its lease " +
		"before it\n" +
		"     writes\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// No matter what a table contains, no line is wider than the terminal, no word is missing, and no number is broken.
func TestATableFitsTheTerminal(t *testing.T) {
	fault := "cut client-1 | redis-1 redis-2 redis-3 redis-4 redis-5 after acquired by client-1 for 10s"
	for _, last := range []string{"", "9", fault} {
		table := document.Table{Heading: "fault", Columns: []document.Column{{Title: "struck"},
			{Title: "while held or requested"},
			{Title: "reason", Words: true}},
			Rows: []document.Row{{Name: fault, Cells: document.Cells("1,234,567", "1,234", last)}, {Sign: "✗",
				Name:  "x",
				Cells: document.Cells("1", "2", last)}}}
		for width := 80; width < 240; width += 7 {
			var b strings.Builder
			table.Text(document.TextOptions{Width: width}.Writer(&b))
			words := strings.Fields(b.String())
			for _, line := range strings.Split(b.String(), "\n") {
				if text.Cells(line) > width {
					t.Errorf("at %d cells: %q", width, line)
				}
			}
			for _, word := range append(strings.Fields(fault+" "+last), "1,234,567", "1,234") {
				if !slices.Contains(words, word) {
					t.Errorf("at %d cells %q is missing:\n%s", width, word, b.String())
				}
			}
		}
	}
}
