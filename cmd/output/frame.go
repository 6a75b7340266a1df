// Package output contains what all commands that report a result have in common: the flags that say where the result
// goes, and the output itself. The output is text or JSON on standard output, a web page, metrics, JUnit XML, or a CI
// step summary.
//
// Goals: all output is written in one place, so that every command supports every format. No command starts its work
// before it is known that all output can be written.
//
// Non-goals: the contents of a report (see reports), and the contents of the files in a command's folder.
package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Frame writes the output of one invocation of a command. Its exported fields are flag values; a command registers the
// flags that it supports.
type Frame struct {
	JSON    bool
	JUnit   string // a path, like the next two; empty: do not write the file
	HTML    string
	Metrics string
	Out     string // the folder of the command's results; empty: none
	All     bool   // whether the text omits nothing

	Files    *Files // all files to write; set by Open
	command  *cobra.Command
	began    time.Time // when the command's work began, on the host's clock
	progress bool      // whether the command reports progress
}

// Register adds the --json, --junit and --html flags to a command. page is the help text of --html. If it is empty, the
// help text says that --html writes a report to a file.
func (f *Frame) Register(c *cobra.Command, page string) {
	f.RegisterJSON(c)
	c.Flags().StringVar(&f.HTML, "html", "", cmp.Or(page, "write a report to `FILE`"))
	c.Flags().StringVar(&f.JUnit, "junit", "", "write the verdicts to `FILE` as JUnit XML")
}

// RegisterJSON adds the --json flag to a command.
func (f *Frame) RegisterJSON(c *cobra.Command) {
	f.command = c
	c.Flags().BoolVar(&f.JSON, "json", false, "one JSON document on stdout instead of text; show schema describes it")
}

// Open checks, before anything runs, that all output files can be written: those in the command's folder, if it has
// one, and those that its flags name. kind is the name of the command that the folder's results belong to. The caller
// must call Close.
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

// Close unlocks the folder for other processes. It may be called without Open.
func (f *Frame) Close() { f.Files.Close() }

// Keep writes a report as JSON to the command's folder. The JSON names the given command as its origin.
func (f *Frame) Keep(name, command string, d *document.Document) {
	text, err := d.JSON(command)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: text})
	}
}

// Draw writes a file to the command's folder. It calls write to produce the content.
func (f *Frame) Draw(name string, write func(io.Writer) error) {
	var b bytes.Buffer
	err := write(&b)
	if f.Files.Fail(err); err == nil {
		f.Files.Keep(File{Name: name, Content: b.Bytes()})
	}
}

// Emit writes a report in all requested formats. It returns an error if something could not be written. Otherwise, it
// returns nil if the result is Passed, and an Ended error if it is not.
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
	if err := errors.Join(f.Show(d), f.Files.Finish()); err != nil {
		return err
	}
	if s == document.Passed {
		return nil
	}
	return Ended(s)
}

// Ended is the error that ends a command with a result other than Passed. It does not mean that the command failed.
type Ended document.Result

// Error returns a message that contains the result as a number. main does not print the message, but converts the
// result to an exit code.
func (e Ended) Error() string { return fmt.Sprintf("standing %d", uint8(e)) }

// Show prints a report, as JSON or as text.
func (f *Frame) Show(d *document.Document) error {
	if terminal := terminalOf(f.command.ErrOrStderr()); terminal != nil && f.progress {
		fmt.Fprint(terminal, clearLine) // work that was interrupted leaves its last progress report there
	}
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

// stepSummary is the environment variable that contains the path of GitHub's step summary file.
const stepSummary = "GITHUB_STEP_SUMMARY"

// count writes the test suite for CI systems: to the JUnit XML file and to the step summary.
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

// Progress returns a function that reports progress on standard error. Its arguments are a word for what is being
// counted, the current count, and the total.
func (f *Frame) Progress() func(what string, done, of int) {
	f.progress = true
	return ProgressOn(f.command.ErrOrStderr())
}
