package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports/document"
)

// stub is a report that goes every way there is.
type stub struct{}

func (stub) Text(w io.Writer, _ document.TextOptions) error {
	_, err := fmt.Fprintln(w, "the text")
	return err
}

func (stub) JSON(command string) ([]byte, error) {
	return []byte(`{"command":"` + command + `"}` + "\n"), nil
}

func (stub) Suite() document.Suite {
	return document.Suite{Name: "the suite", Cases: []document.Case{{Group: "a", Name: "b", Result: document.Passed}}}
}

func (stub) Pages(path string) []document.Page {
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, "<p>the page</p>\n")
		return err
	}
	return []document.Page{{Path: document.Beside(path, "-more.html"), Write: write}, {Path: path, Write: write}}
}

func (stub) OpenMetrics() []byte { return []byte("a{scenario=\"b\"} 1\n# EOF\n") }

// TestAReportIsEmittedEveryWayThatIsAskedFor, and no other.
func TestAReportIsEmittedEveryWayThatIsAskedFor(t *testing.T) {
	ways := map[string]string{"page.html": "the page", "page-more.html": "the page", "metrics.txt": "# EOF",
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
			f.Register(c)
			f.JSON, f.JUnit, f.HTML, f.Metrics, f.Out = asJSON, at("suite.xml"), at("page.html"), at("metrics.txt"),
				at("out")
			if err := f.Open("called"); err != nil {
				t.Fatal(err)
			}
			if asked {
				f.Keep("verdict.json", "kept", stub{})
			}
			var ended Ended
			if err := f.Emit(stub{}, document.Failed); !errors.As(err, &ended) ||
				document.Result(ended) != document.Failed {
				t.Errorf("it ended with %v", err)
			}
			f.Close()
			want := "the text\n"
			if asJSON {
				want = `{"command":"called"}` + "\n"
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
	f.Register(c)
	if err := f.Open("called"); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Emit(stub{}, document.Passed); err != nil {
		t.Error(err)
	}
}
