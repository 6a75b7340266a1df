package output

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports/document"
)

// sample returns a document that can be written in every format.
func sample() *document.Document {
	return &document.Document{Title: document.Title{Name: "the title"}, Data: &struct{ document.Head }{},
		Body: []document.Block{document.Paragraph{Words: "the words"}},
		Suite: document.Suite{Name: "the suite", Cases: []document.Case{{Group: "a", Name: "b",
			Result: document.Passed}}},
		Metrics: []byte("a{scenario=\"b\"} 1\n# EOF\n"),
		Beside: func() []document.Attached {
			return []document.Attached{{Slug: "more",
				Document: &document.Document{Title: document.Title{Name: "more"}}}}
		}}
}

// TestAReportIsEmittedEveryWayThatIsAskedFor checks that a report is written in every format that was requested, and in
// no other.
func TestAReportIsEmittedEveryWayThatIsAskedFor(t *testing.T) {
	ways := map[string]string{"page.html": "the words", "page-more.html": "more", "metrics.txt": "# EOF",
		"suite.xml": "the suite", "summary.md": "the suite", "out/verdict.json": `"command":"kept"`}
	for _, asked := range []bool{true, false} {
		for _, asJSON := range []bool{true, false} {
			dir := t.TempDir()
			at := func(name string) string {
				if !asked {
					return ""
				}
				return filepath.Join(dir, name)
			}
			t.Setenv(stepSummary, at("summary.md"))
			var out bytes.Buffer
			c := &cobra.Command{Use: "called"}
			c.SetOut(&out)
			f := Frame{}
			f.Register(c, "")
			f.JSON, f.JUnit, f.HTML, f.Metrics, f.Out = asJSON, at("suite.xml"), at("page.html"), at("metrics.txt"),
				at("out")
			if err := f.Open("called"); err != nil {
				t.Fatal(err)
			}
			if asked {
				f.Keep("verdict.json", "kept", sample())
			}
			var ended Ended
			if err := f.Emit(sample(), document.Failed); !errors.As(err, &ended) ||
				document.Result(ended) != document.Failed {
				t.Errorf("it ended with %v", err)
			}
			f.Close()
			want := "the title\n\nthe words\n"
			if asJSON {
				want = `{"schema":"fencepost/1","command":"called"}` + "\n"
			}
			if out.String() != want {
				t.Errorf("printed %q, want %q", out.String(), want)
			}
			for name, holds := range ways {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if written := err == nil; written != asked || asked && !strings.Contains(string(text), holds) {
					t.Errorf("asked %t: %s: %v, %q", asked, name, err, text)
				}
			}
		}
	}
}

func TestWhatCameOutAsExpectedEndsWell(t *testing.T) {
	t.Setenv(stepSummary, "")
	var out bytes.Buffer
	c := &cobra.Command{Use: "called"}
	c.SetOut(&out)
	f := Frame{}
	f.Register(c, "")
	if err := f.Open("called"); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Emit(sample(), document.Passed); err != nil {
		t.Error(err)
	}
}
