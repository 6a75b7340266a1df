// Package output is what all commands have in common that report a result: the flags that say where it goes, and the
// way there, as text or JSON on standard output, as a web page, as metrics, as JUnit XML, in the summary of a CI
// system's step.
//
// Goals: one place that emits, so that no command forgets a way; nothing runs before it is known that all of it can
// be written.
// Non-goals: what a report says (reports), what a command leaves in its folder.
package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Frame is that of one call of a command. Fields are flags, of which a command registers those that it has.
type Frame struct {
	JSON    bool
	JUnit   string // a path, as those below; empty: none is written
	HTML    string
	Metrics string
	Out     string // folder of the command's results; empty: it leaves none
	All     bool   // the text keeps nothing back

	Files   *Files // all that is written, once it is open
	command *cobra.Command
	began   time.Time // the command's work, on the host's clock
}

// Register gives a command that judges the flags --json and --junit.
func (f *Frame) Register(c *cobra.Command) {
	f.RegisterJSON(c)
	c.Flags().StringVar(&f.JUnit, "junit", "", "write what was judged to `FILE` as JUnit XML")
}

// RegisterJSON gives a command the flag --json.
func (f *Frame) RegisterJSON(c *cobra.Command) {
	f.command = c
	c.Flags().BoolVar(&f.JSON, "json", false, "one JSON document on stdout instead of text; show schema describes it")
}

// Open makes sure, before anything runs, that what the command leaves in its folder, if it has one, and what its
// flags ask for can be written. Kind is what the folder holds, the name of a command. Whoever has opened closes.
func (f *Frame) Open(kind string) error {
	f.Files, f.began = New(), time.Now()
	for _, of := range []struct {
		flag, path string
		kind       fileKind
	}{{"junit", f.JUnit, webPage}, {"html", f.HTML, webPage}, {"metrics", f.Metrics, metrics}} {
		if err := f.Files.claim(of.flag, of.path, of.kind); err != nil {
			return err
		}
	}
	if f.Out == "" {
		return nil
	}
	return f.Files.Take(f.Out, kind)
}

// Close lets other processes write where this one has. What was never open may be closed.
func (f *Frame) Close() { f.Files.Close() }

// Keep leaves a report as JSON in the command's folder, as if the given command had made it.
func (f *Frame) Keep(name, command string, r document.Report) {
	text, err := r.JSON(command)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: text})
	}
}

// Draw leaves in the command's folder what something writes.
func (f *Frame) Draw(name string, write func(io.Writer) error) {
	var b bytes.Buffer
	err := write(&b)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: b.Bytes()})
	}
}

// Emit writes a report wherever it is asked for, and ends the command: with what could not be written, or else by how
// all came out.
func (f *Frame) Emit(r document.Judged, s document.Result) error {
	if m, ok := r.(document.Measured); ok && f.Metrics != "" {
		f.Files.write(f.Metrics, metrics, m.OpenMetrics())
	}
	if p, ok := r.(document.Paged); ok && f.HTML != "" {
		for _, page := range p.Pages(f.HTML) {
			var b bytes.Buffer
			err := page.Write(&b)
			if f.Files.Fail(err); err == nil {
				f.Files.write(page.Path, webPage, b.Bytes())
			}
		}
	}
	f.count(r.Suite())
	if err := f.Show(r); err != nil {
		return err
	}
	if err := f.Files.Finish(); err != nil {
		return err
	}
	if s == document.Passed {
		return nil
	}
	return Ended(s)
}

// Ended is no failure of a command: its work came out so, other than as expected.
type Ended document.Result

// Error is for who does not know better: main gives it an exit code.
func (e Ended) Error() string { return fmt.Sprintf("standing %d", uint8(e)) }

// Show prints a report, as JSON or as text.
func (f *Frame) Show(r document.Report) error {
	w := f.command.OutOrStdout()
	if !f.JSON {
		s := screenOf(w)
		return r.Text(w, document.TextOptions{Width: s.width, Color: s.color, All: f.All})
	}
	text, err := r.JSON(f.command.Name())
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// stepSummary is the variable in which GitHub names the file for the summary of a step.
const stepSummary = "GITHUB_STEP_SUMMARY"

// count writes what was judged where CI systems look for it.
func (f *Frame) count(s document.Suite) {
	s.Took = time.Since(f.began)
	if f.JUnit != "" {
		text, err := document.JUnit(s)
		if f.Files.Fail(err); err == nil {
			f.Files.write(f.JUnit, webPage, text)
		}
	}
	if path := os.Getenv(stepSummary); path != "" {
		if err := safefile.Append(path, document.Markdown(s)); err != nil {
			f.Files.Fail(fmt.Errorf("%s: %w", stepSummary, err))
		}
	}
}

// Progress returns what to call when some of all things of a sort are done.
func (f *Frame) Progress() func(what string, done, of int) {
	return ProgressOn(f.command.ErrOrStderr())
}
