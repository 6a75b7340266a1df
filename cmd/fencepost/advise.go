package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

// adviseJob is one call of advise.
type adviseJob struct {
	output
	options  advise.Options
	out      string
	target   string // the scenario's name or file, as it was given
	scenario *scenarios.Scenario
	command  *cobra.Command
}

func newAdvise() *cobra.Command {
	j := &adviseJob{}
	c := &cobra.Command{
		Use:   "advise SCENARIO|FILE",
		Short: "Find out by trying which change saves a lock",
		Long: `Tries every single change that the format offers for the scenario's lock, and the best pairs, against
the faults that break it: its own, or if it has none or a mix, those that random plans show. A change
counts if it also survives fresh faults of the same kinds and breaks nothing that was whole. The
cheapest that keeps every promise comes first, as a scenario file and as a diff.

All laws count as promised, unless the file lists some under "promise".

Exit 0 if nothing is broken or a change keeps every promise; 1 if none does; 2 for bad input; 3 if
Ctrl-C ended it first.`,
		Example: `  fencepost advise kleppmann-gc-pause
  fencepost advise my-lock.yaml --out advised
  patch my-lock.yaml advised/1.diff`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			j.target, j.command = args[0], c
			return j.run()
		},
	}
	f := c.Flags()
	f.Uint64Var(&j.options.From, "seed", 1, "the first seed")
	f.IntVar(&j.options.Seeds, "seeds", 100, "how many random plans to look for faults in, and to try each change under")
	f.IntVar(&j.options.Workers, "workers", 0, "how many changes to try at once (default: one a core)")
	f.StringVar(&j.out, "out", "", "write advice, scenario files and diffs to `DIR` (default _runs/advise-SCENARIO)")
	j.register(c)
	return c
}

// mostSaved is how many of the changes are written as files.
const mostSaved = 3

// mostAdviceSeeds keeps the sum of two ranges of seeds within an int.
const mostAdviceSeeds = 1_000_000

// run makes sure that everything can be read and written, then tries, writes and tells.
func (j *adviseJob) run() error {
	defer j.close()
	if j.options.Seeds < 1 || j.options.Seeds > mostAdviceSeeds {
		return fmt.Errorf("--seeds must be 1 to %d, not %d", mostAdviceSeeds, j.options.Seeds)
	}
	err := checkWorkers(j.options.Workers)
	if err != nil {
		return err
	}
	if j.scenario, err = open(j.target); err != nil {
		return err
	}
	if j.out == "" {
		j.out = "_runs/advise-" + j.scenario.Name
	}
	if err = j.open(j.out, "advise", "", ""); err != nil {
		return err
	}
	if err = j.files.Spare(verdictFile); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	j.options.Progress = progressOn(j.command.ErrOrStderr())
	a, err := advise.Try(ctx, j.scenario, j.options)
	if err != nil {
		return fmt.Errorf("%s: %w", j.target, err)
	}
	report := j.report(a)
	if err = j.save(a, report); err != nil {
		return err
	}
	text, err := reports.AdviseJSON(report)
	if err != nil {
		return err
	}
	j.files.Keep(artefact.File{Name: verdictFile, Content: text})
	j.tell(adviseSuite(report))
	if w := j.command.OutOrStdout(); j.json {
		_, err = w.Write(text)
	} else {
		s := screenOf(w)
		err = reports.AdviseText(w, report, reports.TextOptions{Width: s.width, Color: s.color})
	}
	if err != nil {
		return err
	}
	standing := map[reports.Result]expect.Standing{reports.Passed: expect.AsExpected, reports.Failed: expect.Otherwise}
	return j.exit(standing[report.Result()])
}

// report is all that was found, but for what is written.
func (j *adviseJob) report(a *advise.Advice) *reports.Advice {
	s := j.scenario
	r := &reports.Advice{Scenario: s.Name, Summary: s.Summary, Own: a.Own, Explored: a.Explored, Runs: a.Base.Given.Runs,
		Fresh: a.Base.Fresh.Runs, Others: a.Base.Others.Runs + len(a.Base.Everyday), Base: reports.AdvisedCost(a.Base.Cost), Singles: a.Singles, Pairs: a.Pairs,
		Interrupted: a.Interrupted, Files: j.out, Repeat: fmt.Sprintf("%s advise %s --seed %d --seeds %d", program(), shellWord(nameOf(s)),
			j.options.From, j.options.Seeds)}
	if a.Own {
		for _, f := range s.Faults {
			r.Plans = append(r.Plans, f.String())
		}
	}
	for _, p := range a.Plans {
		if line := planLine(p); !a.Own && (len(r.Plans) == 0 || r.Plans[len(r.Plans)-1] != line) {
			r.Plans = append(r.Plans, line)
		}
	}
	for _, law := range a.Broken {
		of := reports.AdvisedLaw{Law: string(law), Runs: a.Base.Given.Violated(law), Fresh: a.Base.Fresh.Violated(law), Nature: a.ByNature[law]}
		for _, f := range a.Base.Given.Findings {
			if f.Law == law {
				of.Causes = append(of.Causes, f.Cause.String())
			}
		}
		r.Broken = append(r.Broken, of)
	}
	for _, t := range a.Mending {
		c := reports.AdvisedChange{Keeps: a.Keeps(t), Mends: lawNames(t.Mended), Leaves: lawNames(t.Left), GivesUp: t.GivesUp, Spared: t.Spared,
			Cost: reports.AdvisedCost(t.Cost)}
		for i := range t.Changes {
			c.Changes = append(c.Changes, t.Changes[i].String())
		}
		for _, f := range t.Anew {
			c.Breaks = append(c.Breaks, reports.AdvisedBreach{Law: string(f.Law), Cause: f.Cause.String()})
		}
		for _, f := range t.Otherwise {
			c.Else = append(c.Else, reports.AdvisedBreach{Law: string(f.Law), Cause: f.Cause.String()})
		}
		r.Changes = append(r.Changes, c)
	}
	if len(a.Broken) == 0 {
		r.Open = a.Doubts()
	}
	return r
}

// planLine is the faults of a plan in a line.
func planLine(p nemesis.Plan) string {
	var lines []string
	for _, f := range p.Faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "; ")
}

func lawNames(laws []checker.Law) (list []string) {
	for _, l := range laws {
		list = append(list, string(l))
	}
	return list
}

// save writes the best changes as scenario files and diffs: 1.yaml and 1.diff are the first.
func (j *adviseJob) save(a *advise.Advice, r *reports.Advice) error {
	before := j.scenario.Text()
	named := j.scenario.Name + ".yaml"
	if j.scenario.Path != "" {
		named = filepath.ToSlash(j.scenario.Path)
	}
	for i := range min(mostSaved, len(a.Mending)) {
		text, err := a.File(a.Mending[i])
		if err != nil {
			return err
		}
		file, patch := fmt.Sprintf("%d.yaml", i+1), fmt.Sprintf("%d.diff", i+1)
		_, change, _ := strings.Cut(string(diff.Diff(named, before, named, text)), "\n") // without a line that only Go's tools know
		j.files.Keep(artefact.File{Name: file, Content: text}, artefact.File{Name: patch, Content: []byte(change)})
		r.Changes[i].File = filepath.ToSlash(filepath.Join(j.out, file))
		if i == 0 {
			r.File, r.Diff = r.Changes[i].File, change
		}
	}
	return nil
}

// adviseSuite has a case for each broken promise, or one for all.
func adviseSuite(a *reports.Advice) reports.Suite {
	s := reports.Suite{Name: "advise " + a.Scenario, Repeat: a.Repeat}
	for _, l := range a.Broken {
		c := reports.Case{Group: a.Scenario, Name: l.Law, Result: reports.Failed, Message: strings.Join(l.Causes, "; ")}
		if a.Result() == reports.Passed {
			c.Result, c.Message = reports.Passed, "saved by "+strings.Join(a.Changes[0].Changes, ", ")
		}
		if l.Nature != "" {
			c.Message = l.Nature
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 && a.Result() == reports.Passed {
		s.Cases = append(s.Cases, reports.Case{Group: a.Scenario, Name: "promises", Result: reports.Passed, Message: "nothing broken"})
	}
	s.Cases = append(s.Cases, openCases(a.Scenario, a.Open)...)
	return reports.Suite{Name: s.Name, Repeat: s.Repeat, Cases: append(s.Cases, reports.Interrupted(a.Scenario, a.Interrupted)...)}
}
