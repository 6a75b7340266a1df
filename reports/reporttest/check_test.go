package reporttest

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// paragraph returns a document with a single paragraph.
func paragraph(words string) *document.Document {
	return &document.Document{Title: document.Title{Name: "x"},
		Body: []document.Block{document.Paragraph{Words: words}}}
}

// TestABadPageIsNoticed puts something that a page must not contain into a good page.
func TestABadPageIsNoticed(t *testing.T) {
	var b strings.Builder
	if err := paragraph("words").Pages("page.html")[0].Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	if err := Page(good); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{
		`<p><img src="x"/></p>`:           "it loads something",
		`<a href="https://x">x</a>`:       "it loads something",
		"<p>\u202e</p>":                   "hidden character",
		`<p style="x">x</p>`:              "its policy forbids",
		`<a href="javascript:x">x</a>`:    "its policy forbids",
		`<style>p { color: red }</style>`: "its policy does not allow",
		`<p>x</b>`:                        "syntax error",
	} {
		page := strings.Replace(good, "<p", bad+"<p", 1)
		if page == good {
			t.Fatal("the page has no paragraph")
		}
		if err := Page(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
	if err := Page(strings.Replace(good, "default-src", "", 1)); err == nil || err.Error() != "it has no policy" {
		t.Errorf("without a policy: %v", err)
	}
}

// TestABadDocumentIsNoticed checks that Check refuses a document that reports an interruption that did not happen, and
// one that explains the probe without any need.
func TestABadDocumentIsNoticed(t *testing.T) {
	if err := Check(paragraph("words")); err != nil {
		t.Error(err)
	}
	for words, want := range map[string]string{"client-1 " + document.Interruption: "says otherwise",
		"words " + document.ProbeIs: "must explain the probe if and only if"} {
		if err := Check(paragraph(words)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", words, err, want)
		}
	}
}

func TestALawWithoutAnExplanationIsNoticed(t *testing.T) {
	law := checker.Ownership
	named := "<b>" + string(law) + "</b>"
	if n, err := Explained(named); n != 0 || err == nil {
		t.Errorf("%d laws are explained: %v", n, err)
	}
	if n, err := Explained("<b>x</b>"); n != 0 || err != nil {
		t.Errorf("%d laws are explained: %v", n, err)
	}
}

func TestACommandIsPastedOverSeveralLines(t *testing.T) {
	for text, want := range map[string]int{"run a b": 1, "run \\\n  a b": 1, "run a'\\\n' b": 1, "run a\nb": 0,
		"run a b; run a b": 2} {
		if got := Pasted(text, "run a b"); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestOddKeysAreNoticed(t *testing.T) {
	type inner struct {
		Bad int `json:"putAside"`
	}
	type sample struct {
		Good   int `json:"put_aside"`
		Left   int `json:"-"`
		Bare   int
		Inside []inner `json:"inside"`
	}
	got := strings.Join(OddKeys(sample{}), ", ")
	if want := `reporttest.sample.Bare: key "", reporttest.inner.Bad: key "putAside"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
