package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

// output is where a command that judges tells a CI system what came out, and all else that it writes.
type output struct {
	json  bool
	junit string
	files *artefact.Files
	began time.Time // the command's work, on the host's clock
}

func (o *output) register(c *cobra.Command) {
	c.Flags().BoolVar(&o.json, "json", false, jsonUsage)
	c.Flags().StringVar(&o.junit, "junit", "", "write what was judged to `FILE` as JUnit XML")
}

const jsonUsage = "one JSON document on stdout instead of text; show schema describes it"

// printed writes a text that has been made, or gives why it has not.
func printed(w io.Writer) func(text []byte, err error) error {
	return func(text []byte, err error) error {
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
}

// stepSummary is the variable in which GitHub names the file for the summary of a step.
const stepSummary = "GITHUB_STEP_SUMMARY"

// open makes sure, before anything runs, that what a command leaves in its folder, if it has one, and the page and the metrics
// that flags ask for can be written. Whoever has opened closes.
func (o *output) open(dir, command, html, metrics string) error {
	o.files, o.began = artefact.New(), time.Now()
	for _, of := range []struct {
		flag, path string
		kind       artefact.Kind
	}{{"junit", o.junit, artefact.Page}, {"html", html, artefact.Page}, {"metrics", metrics, artefact.Metrics}} {
		if err := o.files.Claim(of.flag, of.path, of.kind); err != nil {
			return err
		}
	}
	if dir == "" {
		return nil
	}
	return o.files.Take(dir, command)
}

// close lets other processes write where this one has.
func (o *output) close() { o.files.Close() }

// tell writes what was judged where it is asked for.
func (o *output) tell(s reports.Suite) {
	s.Took = time.Since(o.began)
	if o.junit != "" {
		text, err := reports.JUnit(s)
		if o.files.Fail(err); err == nil {
			o.files.Write(o.junit, artefact.Page, text)
		}
	}
	if path := os.Getenv(stepSummary); path != "" {
		if err := artefact.Append(path, reports.Markdown(s)); err != nil {
			o.files.Fail(fmt.Errorf("%s: %w", stepSummary, err))
		}
	}
}

// exit ends a command that has printed its report: with what could not be written, or else by how all came out.
func (o *output) exit(s expect.Standing) error {
	if err := o.files.Finish(); err != nil {
		return err
	}
	return exitFor(s)
}
