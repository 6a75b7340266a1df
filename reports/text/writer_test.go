package text

import (
	"errors"
	"strings"
	"testing"
)

// written calls write with a writer of the given width, without color, and returns the text that was written.
func written(width int, write func(*Writer)) string {
	var b strings.Builder
	write(New(&b, width, false))
	return b.String()
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		what  string
		width int
		write func(*Writer)
		want  string
	}{
		{"a title", 40, func(p *Writer) { p.Title("lock", "3 seeds", "sound", Green) },
			"lock  3 seeds                      sound\n"},
		{"a title without a size", 30, func(p *Writer) { p.Title("lock", "", "sound", Green) },
			"lock                     sound\n"},
		{"a title that is cut", 30, func(p *Writer) { p.Title("a-lock-of-a-long-name", "3 seeds", "sound", Green) },
			"a-lock-of-a-  3 seeds    sound\n"},
		{"a title on a wide terminal", 200, func(p *Writer) { p.Title("lock", "", "sound", Green) },
			"lock" + strings.Repeat(" ", 91) + "sound\n"},
		{"text after a label", 20, func(p *Writer) { p.Hang(2, "plan  ", Plain, "pause client-1 for 15s") },
			"  plan  pause\n        client-1 for\n        15s\n"},
		{"indented text", 12, func(p *Writer) { p.Text(Plain, 2, "held by client-1") }, "  held by\n  client-1\n"},
		{"items in a row", 20, func(p *Writer) { p.Flow("left out: ", []string{"2 steps", "1 lane", "keys"}) },
			"left out: 2 steps\n1 lane  keys\n"},
		{"items in columns", 20, func(p *Writer) { p.Columns("m ", []string{"one", "two 2", "three", "four"}) },
			"m one     two 2\n  three   four\n"},
		{"one item wider than the page", 10, func(p *Writer) { p.Columns("", []string{"0123456789abc", "d"}) },
			"0123456789\nd\n"},
		{"no items", 20, func(p *Writer) { p.Columns("m ", nil) }, ""},
		{"numbers below each other", 20, func(p *Writer) {
			p.Put(new(Line).Add(Plain, "held").Right(12, "1,234"))
			p.Put(new(Line).Add(Plain, "broken").Right(12, "7"))
		}, "held   1,234\nbroken     7\n"},
		{"an address stays whole", 20, func(p *Writer) { p.Hang(0, "source  ", Plain, "a https://example.org/long") },
			"source  a\n        https://example.org/long\n"},
		{"a rule", 5, func(p *Writer) { p.Rule() }, "─────\n"},
	} {
		if got := written(c.width, c.write); got != c.want {
			t.Errorf("%s:\n%s, not\n%s", c.what, got, c.want)
		}
	}
}

func TestStylesAreSetAndTakenBack(t *testing.T) {
	var b strings.Builder
	p := New(&b, 10, true)
	p.Put(new(Line).Add(Red, "✗").Add(Plain, " ").Add(Bold, "a-law-cut-here"))
	if want := "\x1b[1;31m✗\x1b[0m \x1b[1ma-law-cu\x1b[0m\n"; b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}

func TestADraftIsWrittenWhereItIsIncluded(t *testing.T) {
	got := written(20, func(p *Writer) {
		draft := p.Draft()
		draft.Text(Plain, 0, "second")
		p.Text(Plain, 0, "first")
		if p.Lines() != 1 || draft.Lines() != 1 {
			t.Errorf("%d and %d lines", p.Lines(), draft.Lines())
		}
		p.Include(draft)
		if p.Lines() != 2 {
			t.Errorf("%d lines", p.Lines())
		}
	})
	if got != "first\nsecond\n" {
		t.Errorf("%q", got)
	}
}

func TestAMentionIsNoted(t *testing.T) {
	written(10, func(p *Writer) {
		p.Watch("probe")
		p.Text(Plain, 0, "held by client-1")
		if p.Mentioned() {
			t.Error("nobody spoke of it")
		}
		p.Text(Plain, 0, "Probe-1")
		if !p.Mentioned() {
			t.Error("it was written")
		}
		if p.Forget(); p.Mentioned() {
			t.Error("it was not forgotten")
		}
		draft := p.Draft()
		draft.mention("the probe")
		if p.Mentioned() {
			t.Error("the draft may never be included")
		}
		if p.Include(draft); !p.Mentioned() {
			t.Error("it was in the draft")
		}
	})
}

type full struct{ after int }

var errFull = errors.New("full")

func (f *full) Write(b []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestTheFirstErrorIsKept(t *testing.T) {
	p := New(&full{after: 1}, 10, false)
	if p.Blank(); p.Err() != nil {
		t.Error(p.Err())
	}
	p.Blank()
	p.Include(p.Draft())
	if p.Err() != errFull {
		t.Error(p.Err())
	}
}

// Indented lines end at the same column as unindented ones. If a command is broken within an argument, the next line
// begins in the first column, because a shell would treat spaces as part of the argument.
func TestIndentedLines(t *testing.T) {
	got := written(20, func(p *Writer) {
		p.Indent(4, func() {
			p.Text(Plain, 0, "words that are wrapped")
			p.Blank()
			p.Command(0, "again   ", "run '/a/long path/to/a file'")
		})
		p.Text(Plain, 0, "words that are wrapped")
	})
	want := "    words that are\n    wrapped\n\n    again\n      run \\\n        '/a/'\\\n'long path/to/'\\\n'a " +
		"file'\n" +
		"words that are\nwrapped\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
