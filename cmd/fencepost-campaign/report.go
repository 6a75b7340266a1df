package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// report contains the output options for a campaign's report. They are the same as those of the commands that search in
// one process.
type report struct{ output.Frame }

func (r *report) register(c *cobra.Command) {
	r.Register(c, "write a report to `FILE`, with its other pages in the same folder")
	c.Flags().BoolVar(&r.All, "all", false, "report every finding in full, even those that do not fit on the screen")
	c.Flags().StringVar(&r.Out, "out", "", "keep the campaign and its report in `DIR` (default _runs/campaign-NAME)")
}

// check returns an error if the campaign has several entries, but the user has set a flag that works only for a single
// report.
func (r *report) check(entries int) error {
	if entries > 1 && (r.JSON || r.JUnit != "" || r.HTML != "") {
		return errors.New("--json, --junit and --html can only be used with a campaign of one scenario")
	}
	return nil
}

// frame returns the output frame for one entry, the same as for the command that does the same work in one process.
func (r *report) frame(to console, command, out string) output.Frame {
	c := &cobra.Command{Use: command}
	c.SetOut(to.out)
	c.SetErr(to.problems)
	var f output.Frame
	f.RegisterJSON(c)
	f.JSON, f.JUnit, f.HTML, f.All, f.Out = r.JSON, r.JUnit, r.HTML, r.All, out
	return f
}

// conclude reads the stored results, and reports each of the campaign's entries (such as a scenario).
func (r *report) conclude(ctx context.Context, to console, j *job) error {
	if err := r.check(len(j.subjects)); err != nil {
		return err
	}
	if r.Out == "" {
		r.Out = folderFor(j.Name)
	}
	d := j.Stored()
	if err := j.search(ctx, d); err != nil {
		return err
	}
	for _, l := range d.Progress().Lost {
		to.notice(fmt.Sprintf("%s produced no result and was skipped: %s", j.positions(l), l.Why))
	}
	for _, s := range d.Progress().Stages {
		if s.Ended != "" {
			to.notice(fmt.Sprintf("%s was ended early: %s", s.Name, s.Ended))
		}
	}
	over, err := j.Over(ctx)
	if err != nil {
		return err
	}
	if !over {
		to.notice("the campaign is not finished; this is the result so far")
	}
	var worst error
	for i, s := range j.subjects {
		e := j.order.Entries[i]
		out := r.Out
		if len(j.subjects) > 1 {
			out = filepath.Join(out, e.Name)
		}
		err := s.conclude(ctx, r.frame(to, commandOf(e.Kind), out))
		var ended output.Ended
		if err != nil && !errors.As(err, &ended) {
			return err
		}
		if worst == nil || errors.As(err, &ended) && document.Result(ended) == document.Failed {
			worst = err
		}
	}
	if worst == nil && !over {
		return errUnfinished
	}
	return worst
}

// reopen reopens a finished campaign if the server has since lost or damaged some of its results. It tells the user
// that it has done so. Workers then repeat only the runs that produced these results.
func (j *job) reopen(ctx context.Context, to console) (open bool, err error) {
	if over, err := j.Over(ctx); !over || err != nil {
		return false, err
	}
	d := j.Stored()
	if err := j.search(ctx, d); err != nil {
		return false, err
	}
	for _, s := range d.Progress().Stages {
		if n := s.Lacking(); n > 0 {
			to.notice(fmt.Sprintf(
				"since the campaign ended, the server has lost or damaged %s of the %s positions of %s: "+
					"these are run again", text.Grouped(int(n)), text.Grouped(int(s.Size)), s.Name))
			return true, j.Reopen(ctx)
		}
	}
	return false, nil
}

// commandOf returns the command that does a kind of work in one process.
func commandOf(kind string) string {
	if kind == "package" {
		return "explore"
	}
	return kind
}

// positions describes, for a message, the jobs whose results were lost. It names their positions in the stage or, for
// an exploration, their seeds.
func (j *job) positions(l queue.Loss) string {
	for i, e := range j.order.Entries {
		x, ok := j.subjects[i].(*exploration)
		if ok && l.Stage == e.Name+between+search.SeedsStage {
			first := x.options.From + l.First
			if l.Size == 1 {
				return fmt.Sprintf("%s: seed %d", e.Name, first)
			}
			return fmt.Sprintf("%s: seeds %d to %d", e.Name, first, first+l.Size-1)
		}
	}
	return fmt.Sprintf("position %d of %s", l.First, l.Stage)
}

func newReport(to console) *cobra.Command {
	p, r := place{console: to}, report{}
	c := &cobra.Command{
		Use:   "report",
		Short: "Report what a campaign has found",
		Long: `Reports what a campaign has found, in the form of the command that does the same work in one process.
For a campaign that is not finished, it reports the results so far; the exit code is then 3, or 1 if
a promise is broken. If the server has lost or damaged parts of a finished campaign, they are first
made again, on all cores.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := output.Interruptible()
			defer stop()
			p.folder = r.Out
			defer p.close()
			j, err := p.open(ctx)
			if j != nil {
				defer j.close()
			}
			if err != nil {
				return err
			}
			again, err := j.reopen(ctx, to)
			if err == nil && again {
				err = p.withCrew(ctx, 0, func(ctx context.Context) error { return j.coordinate(ctx, c, nil) })
			}
			if err != nil {
				return err
			}
			return r.conclude(ctx, to, j)
		},
	}
	p.register(c)
	r.register(c)
	return c
}

// open finds the campaign on its server, and joins it.
func (p *place) open(ctx context.Context) (*job, error) {
	if err := p.find(); err != nil {
		return nil, err
	}
	if err := p.choose(ctx); err != nil {
		return nil, err
	}
	return p.join(ctx)
}

func newStop(to console) *cobra.Command {
	p, remove := place{console: to}, false
	c := &cobra.Command{
		Use:   "stop",
		Short: "End a campaign early",
		Long: `Ends the exploration early. The workers still shrink the findings, which are then reported. --remove
removes the campaign from the server with all its results.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := output.Interruptible()
			defer stop()
			defer p.close()
			c, err := p.opened(ctx)
			if err != nil {
				return err
			}
			if remove {
				return c.Remove(ctx)
			}
			return c.Stop(ctx, "stopped by a user")
		},
	}
	p.register(c)
	c.Flags().StringVar(&p.folder, "out", "", "`DIR` of a campaign that was started on this machine")
	c.Flags().BoolVar(&remove, "remove", false, "remove the campaign from the server")
	return c
}
