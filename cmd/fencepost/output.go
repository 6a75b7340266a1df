package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports"
)

// output is where a command that judges tells a CI system what came out.
type output struct {
	json  bool
	junit string
}

func (o *output) register(c *cobra.Command) {
	c.Flags().BoolVar(&o.json, "json", false, "one JSON document on stdout instead of text")
	c.Flags().StringVar(&o.junit, "junit", "", "write what was judged to `FILE` as JUnit XML")
}

// stepSummary is the variable in which GitHub names the file for the summary of a step.
const stepSummary = "GITHUB_STEP_SUMMARY"

// check makes sure, before anything runs, that the file can be written.
func (o *output) check() error {
	if o.junit == "" {
		return nil
	}
	if info, err := os.Stat(o.junit); err == nil && info.IsDir() {
		return fmt.Errorf("--junit %s is a folder; name a file in it", o.junit)
	}
	if err := writable(filepath.Dir(o.junit)); err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w", filepath.Dir(o.junit), err)
	}
	return nil
}

// tell writes what was judged where it is asked for.
func (o *output) tell(s reports.Suite) error {
	if o.junit != "" {
		text, err := reports.JUnit(s)
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.junit, text, 0o666); err != nil {
			return err
		}
	}
	path := os.Getenv(stepSummary)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %w", stepSummary, err)
	}
	if _, err := f.Write(reports.Markdown(s)); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", stepSummary, err)
	}
	return f.Close()
}
