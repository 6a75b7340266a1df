package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
)

func newCorpus() *cobra.Command {
	var j corpusJob
	c := &cobra.Command{
		Use:   "corpus",
		Short: "Search for faults that expose broken locks, and test sound locks",
		Long: `Searches two kinds of locks. A sound lock lists the laws that it promises and the faults that it
excludes. A mutant is a sound lock with one defect: a bug of a released library, or a wrong setting. It
runs under the same random faults, from seed 0 or --seed on, until it breaks a promise of its lock. With
--starts, each mutant is searched from several seeds, a million or more apart. The report then gives the
mean number of runs with its 90% interval, and says why the five slowest violations are rare.

Exit 1 if a mutant is not caught, or if a sound lock breaks a promise.`,
		Example: `  fencepost corpus
  fencepost corpus --starts 8 --unaimed
  fencepost corpus --sound 1000000
  fencepost corpus --seeds 0 --sound 1000000 --seed 200000000`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return j.run()
		},
	}
	j.Register(c, "")
	o := &j.Options
	c.Flags().Uint64Var(&o.First, "seed", 0, "first seed for each mutant and each sound lock")
	output.Count(c, &o.Seeds, "seeds", task.Seeds["corpus"], 0, 0,
		"maximum number of runs in the search for each mutant; with 0, only the sound locks run")
	output.Count(c, &o.Starts, "starts", 1, 1, 0, "number of start seeds for each mutant")
	c.Flags().BoolVar(&o.Unaimed, "unaimed", false,
		"search each mutant a second time, with purely random faults (mix.aimed: 0%), and compare")
	c.Flags().IntVar(&o.Sound, "sound", 0, "total number of runs of the sound locks (default none)")
	output.Workers(c, &o.Workers, "how many runs to execute at once")
	c.Flags().StringVar(&j.Out, "out", "",
		"write the scenario of each mutant and each lock to `DIR`\n(default _runs/corpus-SEED-SEEDS-SOUND)")
	return c
}

// corpusJob is one invocation of the command "fencepost corpus".
type corpusJob struct{ task.Corpus }

func (j *corpusJob) run() error {
	o := &j.Options
	if err := task.CheckCorpus(o); err != nil {
		return err
	}
	defer j.Close()
	if err := j.Prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	o.Progress, o.Now = j.Progress(), time.Now
	c, err := corpus.Run(ctx, *o)
	if err != nil {
		return err
	}
	return j.Conclude(c)
}
