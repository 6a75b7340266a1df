package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
)

// adviseJob is one invocation of the command "fencepost advise".
type adviseJob struct {
	output.Frame
	options  advise.Options
	target   string // the scenario's name or file, as given
	client   string
	scenario *scenarios.Scenario
	guest    *task.Guest
}

func newAdvise() *cobra.Command {
	j := &adviseJob{}
	c := &cobra.Command{
		Use:   "advise SCENARIO|FILE",
		Short: "Try changes to a broken lock, and report those that fix it",
		Long: `Tries every single change that the format offers for the scenario's lock, and the best pairs of
changes, against the faults that break it. These are the faults that the scenario lists. If it lists
none, or has a mix, they are those that random plans find. Servers that a change adds suffer the same
faults. A change is a fix if it also survives new faults of the same kinds, and breaks no law that held
before. If it seems to keep every promise, it is confirmed under fifty times as many faults. The report
begins with the cheapest fix, as a scenario file and as a diff: the one that takes the least time to
acquire, then the fewest requests, the fewest servers and the shortest lease. Locks that a crashed holder
keeps forever come last.

All laws count as promised, unless the file lists some under "promise". If the faults of the file break
promises, the fix must restore these; if promises break without any fault, it must restore those. With a
mix, or if nothing else breaks the lock, it must keep all promises.

The search ends when it has used the processor time of --cpu. A quarter of that is reserved to confirm
what was found. The report says what was not tried. With the same seeds, more time only adds to it.

With --client, each client is the program CMD, in virtual time. Then only changes that the program
notices are tried: changes of the servers, of the resource, and of its environment variables. The
program's processor time counts too: start with few --seeds and a larger --cpu.

Exit 0 if nothing is broken or a change keeps every promise; 1 if none does; 2 for bad input; 3 if
Ctrl-C or the end of --cpu came first.`,
		Example: `  fencepost advise kleppmann-gc-pause
  fencepost advise my-lock.yaml --out advised
  fencepost advise my-lock.yaml --client '/usr/bin/python3 worker.py' --seeds 5 --cpu 10m
  patch my-lock.yaml advised/1.diff`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			j.target = args[0]
			return j.run(output.Given(c.Flags(), "cpu"))
		},
	}
	f := c.Flags()
	f.Uint64Var(&j.options.From, "seed", 1, "the first seed")
	output.Count(c, &j.options.Seeds, "seeds", 100, 1, mostAdviceSeeds,
		"number of random plans used to search for faults, and to test each change before it is confirmed")
	f.DurationVar(&j.options.Budget, "cpu", time.Minute,
		"end the search after this much processor time, such as 5m; 0 means no limit")
	output.Workers(c, &j.options.Workers, "how many changes to try at once")
	f.StringVar(&j.client, "client", "", task.ClientUsage)
	f.StringVar(&j.Out, "out", "", "write advice, scenario files and diffs to `DIR` (default _runs/advise-SCENARIO)")
	j.Register(c, "")
	return c
}

// mostAdviceSeeds is the maximum for --seeds. It is small enough that the sum of two ranges of seeds fits in an int.
const mostAdviceSeeds = 1_000_000

// run first checks that it can read its input and write its output. It then tries changes to the scenario, and writes
// and reports the results. The given flags are those of a command that repeats this invocation, except the flags for
// seeds.
func (j *adviseJob) run(flags []string) error {
	defer j.Close()
	if j.options.Budget < 0 {
		return fmt.Errorf("--cpu must be a positive time, such as 5m, or 0 for no limit, not %v", j.options.Budget)
	}
	j.options.Spent = processor.WithChildren
	var err error
	if j.scenario, err = task.Open(j.target); err != nil {
		return err
	}
	if j.client != "" {
		if j.scenario, j.guest, err = task.With(j.scenario, j.client); err != nil {
			return err
		}
		defer j.guest.Close()
	}
	if j.Out == "" {
		j.Out = "_runs/advise-" + j.scenario.Name
	}
	if err = j.Open("advise"); err != nil {
		return err
	}
	names := []string{task.VerdictFile}
	for n := range advise.Confirmed {
		file, patch := filesOfChange(n)
		names = append(names, file, patch)
	}
	if err = j.Files.Spare(names...); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	j.options.Progress = j.Progress()
	a, err := advise.Try(ctx, j.scenario, j.options)
	if err != nil {
		return fmt.Errorf("%s: %w", j.target, err)
	}
	report := &advise.Report{Advice: a, Scenario: j.scenario, Files: j.Out,
		Repeat: strings.Join(append([]string{output.Program(), "advise", j.guest.Argument(j.scenario),
			fmt.Sprintf("--seed %d --seeds %d", j.options.From, j.options.Seeds)}, flags...), " ")}
	if err = j.save(report); err != nil {
		return err
	}
	document := report.Document()
	j.Keep(task.VerdictFile, "advise", document)
	return j.Emit(document, report.Standing())
}

// filesOfChange returns the names of the scenario file and the diff of the change with index n.
func filesOfChange(n int) (file, patch string) {
	return fmt.Sprintf("%d.yaml", n+1), fmt.Sprintf("%d.diff", n+1)
}

// save writes the best changes as scenario files and diffs; 1.yaml and 1.diff contain the best one.
func (j *adviseJob) save(a *advise.Report) error {
	before := j.scenario.Text()
	named := j.scenario.Name + ".yaml"
	if j.scenario.Path != "" {
		named = filepath.ToSlash(j.scenario.Path)
	}
	for i := range min(advise.Confirmed, len(a.Mending)) {
		text, err := a.File(a.Mending[i])
		if byHand := (*advise.CommentsError)(nil); errors.As(err, &byHand) {
			a.Written = append(a.Written, "")
			if i == 0 {
				a.ByHand = byHand
			}
			continue
		}
		if err != nil {
			return err
		}
		file, patch := filesOfChange(i)
		// Drop the first line, which only Go's own tools need.
		_, change, _ := strings.Cut(string(diff.Diff(named, before, named, text)), "\n")
		j.Files.Keep(output.File{Name: file, Content: text}, output.File{Name: patch, Content: []byte(change)})
		a.Written = append(a.Written, filepath.ToSlash(filepath.Join(j.Out, file)))
		if i == 0 {
			a.Diff = change
		}
	}
	return nil
}
