package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/site"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/play"
)

// playJob is one invocation of the command "fencepost play".
type playJob struct {
	output.Frame
	target string // the name or file of a scenario, or the file of a plan
	open   bool
}

// firstPlayed is the scenario that the page shows first by default.
const firstPlayed = "kleppmann-gc-pause"

func newPlay() *cobra.Command {
	j := &playJob{target: firstPlayed}
	c := &cobra.Command{
		Use:               "play [SCENARIO|FILE|PLAN]",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Move faults by hand in a browser, and watch the verdict change",
		Long: `Serves a page on this machine only. It shows the timeline of a run, its verdict, its settings and a
guided tour of the debate about Redlock. On the timeline you can add faults, drag them, change how long
they last, and remove them. You can keep the result as a link that contains everything, as a scenario,
as a plan and as a Go test. The printed address of the page contains a secret. Ctrl-C stops the server.

With --static, the same page is written to a folder, for any static web server, with the simulator as
WebAssembly. Compiling and compressing it needs the go command and takes a minute or two. A browser
runs the page only from a web server, such as python3 -m http.server in that folder, not from a file.`,
		Example: `  fencepost play
  fencepost play my-lock.yaml --open
  fencepost play --static site`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				j.target = args[0]
			}
			return j.run(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&j.open, "open", false, "open the page in a browser")
	c.Flags().StringVar(&j.Out, "static", "", "write the page to `DIR`, for a static web server, and exit")
	c.MarkFlagsMutuallyExclusive("open", "static")
	return c
}

func (j *playJob) run(out io.Writer) error {
	start, err := j.start()
	if err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	if j.Out != "" {
		return j.write(ctx, start, out)
	}
	s, err := site.Listen(start, j.start)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nCtrl-C ends it.\n", s.Address())
	if j.open {
		end, err := site.OpenInBrowser(s.Address())
		if err != nil {
			fmt.Fprintf(out, "no browser can be opened (%s): open the address yourself\n", err)
		} else {
			defer end()
		}
	}
	return s.Serve(ctx)
}

func (j *playJob) write(ctx context.Context, start play.State, out io.Writer) error {
	defer j.Close()
	if err := j.Open("play"); err != nil {
		return err
	}
	if err := j.Files.Spare(site.FileNames...); err != nil {
		return err
	}
	files, err := site.Files(ctx, start)
	if ctx.Err() != nil {
		return errors.New("interrupted: nothing is written")
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		j.Files.Keep(f)
		fmt.Fprintf(out, "%9d bytes  %s\n", len(f.Content), filepath.Join(j.Out, f.Name))
	}
	return j.Files.Finish()
}

// start returns the page's initial state.
func (j *playJob) start() (play.State, error) {
	s, err := task.Open(j.target)
	if err == nil {
		return play.Of(s)
	}
	plan, noPlan := parsePlan(j.target)
	if noPlan != nil {
		return play.State{}, err
	}
	if s, err = task.OpenFrom(filepath.Dir(j.target), plan.Scenario); err != nil {
		return play.State{}, fmt.Errorf("%s: %w", j.target, err)
	}
	if err := checkPlan(j.target, plan, s); err != nil {
		return play.State{}, err
	}
	return play.With(s, plan)
}
