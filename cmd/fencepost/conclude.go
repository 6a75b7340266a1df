package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/tally"
)

// conclusion is what is made of an exploration, be it run here or merged from shards: each finding is cut down, written and
// told.
type conclusion struct {
	command string // by which it was called: explore or merge
	output
	out      string
	html     string
	all      bool
	scenario *scenarios.Scenario
	found    *search.Exploration
	saved    time.Time
	screen   screen
	stdout   io.Writer
	stderr   io.Writer
}

func (x *conclusion) register(c *cobra.Command) {
	x.output.register(c)
	c.Flags().StringVar(&x.html, "html", "", "write a page to `FILE`, and one for each finding beside it")
	c.Flags().BoolVar(&x.all, "all", false, "tell each finding in full, not only what fits a screen")
	c.Flags().StringVar(&x.out, "out", "", "keep what is found in `DIR` (default _runs/explore-SCENARIO-…)")
}

// prepare makes sure that everything can be written.
func (x *conclusion) prepare() error { return x.open(x.out, "explore", x.html, "") }

// spare makes sure that nothing else lies in the folder where the results are to be. The record there, if there is one, has
// been read.
func (x *conclusion) spare() error {
	if text, err := os.ReadFile(filepath.Join(x.out, recordFile)); err == nil {
		x.files.Adopt(recordFile, text)
	}
	return x.files.Spare(recordFile, search.ScenarioFile, verdictFile)
}

// conclude cuts down, writes and tells what was found. Once ctx is done it cuts no further.
func (x *conclusion) conclude(ctx context.Context) error {
	report := x.report()
	report.Interrupted = ctx.Err() != nil
	plans, err := search.NewPlans(x.scenario)
	if err != nil {
		return err
	}
	report.Within = nemesis.FormatDuration(plans.Within)
	for _, promised := range []bool{true, false} {
		for _, f := range x.found.Findings {
			if f.Promised(x.scenario.Promise) != promised {
				continue
			}
			told, err := x.finding(ctx, plans, f)
			if err != nil {
				return err
			}
			report.Findings = append(report.Findings, *told)
			report.Interrupted = report.Interrupted || told.Cut
		}
	}
	text, err := reports.ExploreJSON("explore", report) // merged or not, the folder holds an exploration
	if err != nil {
		return err
	}
	x.files.Keep(artefact.File{Name: verdictFile, Content: text})
	x.writeHTML(report)
	x.tell(exploreSuite(report))
	if x.json {
		err = printed(x.stdout)(reports.ExploreJSON(x.command, report))
	} else {
		err = reports.ExploreText(x.stdout, report, reports.TextOptions{Width: x.screen.width, Color: x.screen.color, All: x.all})
	}
	if err != nil {
		return err
	}
	standing, _ := x.found.Standing(x.scenario)
	return x.exit(standing)
}

// report is all that the tallies say.
func (x *conclusion) report() *reports.Exploration {
	e, s := x.found, x.scenario
	standing, open := e.Standing(s)
	r := &reports.Exploration{Scenario: s.Name, Summary: s.Summary, From: e.From, Seeds: e.Seeds, Runs: e.Done,
		OK: standing == expect.AsExpected, Broken: standing == expect.Otherwise, Open: open, Notes: e.Doubts(), Files: x.out,
		Repeat: x.repeat()}
	if e.Shard != search.Whole {
		r.Shard = e.Shard.String()
	}
	for _, t := range e.Laws {
		r.Laws = append(r.Laws, exploredLaw(s, t))
	}
	for _, t := range e.Faults {
		r.Faults = append(r.Faults, reports.ExploredFault{Kind: t.Kind.String(), Drawn: t.Drawn, Struck: t.Struck, Met: t.Met})
	}
	return r
}

func exploredLaw(s *scenarios.Scenario, t tally.Law) reports.ExploredLaw {
	return reports.ExploredLaw{Law: string(t.Law), Promised: slices.Contains(s.Promise, t.Law), Holds: t.Holds, Violated: t.Violated,
		Undecided: t.Undecided, Unchecked: t.Unchecked, Bound: tally.UpperBound(t.Exercised())}
}

// repeat is the command that does the same again, or goes on.
func (x *conclusion) repeat() string {
	e := x.found
	if !e.Finished() {
		return fmt.Sprintf("%s explore --resume %s", program(), shellWord(x.out))
	}
	call := fmt.Sprintf("%s explore %s --seed %d --seeds %d", program(), shellWord(nameOf(x.scenario)), e.From, e.Seeds)
	if e.Shard != search.Whole {
		call += " --shard " + e.Shard.String()
	}
	return call
}

// finding cuts one finding down and writes what is left of it.
func (x *conclusion) finding(ctx context.Context, plans *search.Plans, f tally.Finding) (*reports.ExploredFinding, error) {
	small, err := search.Shrink(ctx, x.scenario, plans.Plan(f.First), f.Law, f.Cause, 0)
	if err != nil {
		return nil, fmt.Errorf("%s by %s, seed %d: %w", f.Law, f.Cause, f.First, err)
	}
	result, err := scenarios.NewRunner(small.Scenario).Run(small.Plan)
	if err != nil {
		return nil, err
	}
	place := slug(string(f.Law), f.Cause.String())
	dir := filepath.Join(x.out, place)
	run, err := described(small.Scenario, result, small.Scenario.Judge(result))
	if err != nil {
		return nil, err
	}
	run.Files, run.Repeat = dir, fmt.Sprintf("%s replay %s", program(), shellWord(filepath.Join(dir, search.PlanFile)))
	told := &reports.ExploredFinding{Law: string(f.Law), Cause: f.Cause.String(), Promised: f.Promised(x.scenario.Promise), Runs: f.Runs,
		First: f.First, Drawn: len(small.First.Faults), Tries: small.Runs, Cut: small.Ending == search.Interrupted, Minimal: small.Ending == search.Minimal, Often: small.Often, Run: run}
	files := small.Files(testPackage)
	for _, file := range files {
		told.Files = append(told.Files, file.Name)
	}
	writeRun(x.files, place, files, run)
	return told, nil
}

// testPackage is the package of the tests that are written; whoever takes one over gives it another.
const testPackage = "locks"

// slug names the files of a finding.
func slug(law, cause string) string {
	words := strings.FieldsFunc(law+" "+cause, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r)
	})
	return strings.Join(words, "-")
}

// writeHTML writes the page of the exploration, and one for each finding.
func (x *conclusion) writeHTML(e *reports.Exploration) {
	if x.html == "" {
		return
	}
	var beside []string
	for i := range e.Findings {
		f := &e.Findings[i]
		page := strings.TrimSuffix(x.html, filepath.Ext(x.html)) + "-" + slug(f.Law, f.Cause) + ".html"
		writePage(x.files, page, func(w io.Writer) error { return reports.HTML(w, f.Run, nil) })
		beside = append(beside, filepath.Base(page))
	}
	writePage(x.files, x.html, func(w io.Writer) error { return reports.ExploreHTML(w, e, beside) })
}
