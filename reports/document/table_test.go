package document

import (
	"strings"
	"testing"
)

// A table of names alone shows each with its notes, and breaks a name that is wider than the screen.
func TestATableOfNamesAlone(t *testing.T) {
	const long = "resource-safety holds when lock.ttl is at least two seconds and every client checks its lease before it " +
		"writes"
	d := Document{Title: Title{Name: "x"}, Body: []Block{Table{Heading: "assertion", Rows: []Row{
		{Sign: "✓", Name: "short", Notes: []Paragraph{{Words: "met at 2 points"}}}, {Sign: "✗", Name: long}}}}}
	var b strings.Builder
	if err := d.Text(&b, TextOptions{Width: 60}); err != nil {
		t.Fatal(err)
	}
	const want = "x\n\n   assertion\n ✓ short\n     met at 2 points\n" +
		" ✗ resource-safety holds when lock.ttl is at least two\n     seconds and every client checks its lease before it\n" +
		"     writes\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
