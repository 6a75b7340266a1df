// Package output is what all commands that report a result have in common: the flags that say where it goes, and its
// output, as text or JSON on standard output, as a web page, as metrics, as JUnit XML, or in the summary of a CI
// system's step.
//
// Goals: one place for output, so that no command forgets a form; nothing runs before it is known that all of it can be
// written. Non-goals: the content of a report (reports), the files in a command's folder.
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

// Frame holds the output of one call of a command. Fields are flags, of which a command registers those that it has.
type Frame struct {
	JSON    bool
	JUnit   string // a path, as those below; empty: none is written
	HTML    string
	Metrics string
	Out     string // folder of the command's results; empty: none
	All     bool   // the text leaves nothing out

	Files   *Files // everything that is written, once it is open
	command *cobra.Command
	began   time.Time // the command's work, on the host's clock
}

// Register gives a command that judges the flags --json, --junit and --html; beside says what else is written with the
// page, if anything.
func (f *Frame) Register(c *cobra.Command, beside string) {
	f.RegisterJSON(c)
	c.Flags().StringVar(&f.HTML, "html", "", "write a report to `FILE`"+beside)
	c.Flags().StringVar(&f.JUnit, "junit", "", "write what was judged to `FILE` as JUnit XML")
}

// RegisterJSON gives a command the flag --json.
func (f *Frame) RegisterJSON(c *cobra.Command) {
	f.command = c
	c.Flags().BoolVar(&f.JSON, "json", false, "one JSON document on stdout instead of text; show schema describes it")
}

// Open checks, before anything runs, that the files in the command's folder, if it has one, and what its flags ask for
// can be written. Kind is what the folder holds, the name of a command. Whoever opens it closes it.
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

// Close lets other processes write in this one's place. It may be called without Open.
func (f *Frame) Close() { f.Files.Close() }

// Keep writes a report as JSON to the command's folder, as if the given command had made it.
func (f *Frame) Keep(name, command string, d *document.Document) {
	text, err := d.JSON(command)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: text})
	}
}

// Draw writes a file to the command's folder with the given function.
func (f *Frame) Draw(name string, write func(io.Writer) error) {
	var b bytes.Buffer
	err := write(&b)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: b.Bytes()})
	}
}

// Emit writes a report wherever it is asked for, and ends the command: with what could not be written, or otherwise
// with the overall result.
func (f *Frame) Emit(d *document.Document, s document.Result) error {
	if f.Metrics != "" {
		f.Files.write(f.Metrics, metrics, d.Metrics)
	}
	if f.HTML != "" {
		for _, page := range d.Pages(f.HTML) {
			var b bytes.Buffer
			err := page.Write(&b)
			if f.Files.Fail(err); err == nil {
				f.Files.write(page.Path, webPage, b.Bytes())
			}
		}
	}
	f.count(d.Suite)
	if err := f.Show(d); err != nil {
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

// Error is for callers that do not know it: main gives it an exit code.
func (e Ended) Error() string { return fmt.Sprintf("standing %d", uint8(e)) }

// Show prints a report, as JSON or as text.
func (f *Frame) Show(d *document.Document) error {
	w := f.command.OutOrStdout()
	if !f.JSON {
		s := screenOf(w)
		return d.Text(w, document.TextOptions{Width: s.width, Color: s.color, All: f.All})
	}
	text, err := d.JSON(f.command.Name())
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// stepSummary is the variable in which GitHub names the file for the summary of a step.
const stepSummary = "GITHUB_STEP_SUMMARY"

// count writes the suite where CI systems look for it.
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

// Progress returns a function that reports progress; what names the things of which a number are done.
func (f *Frame) Progress() func(what string, done, of int) {
	return ProgressOn(f.command.ErrOrStderr())
}
