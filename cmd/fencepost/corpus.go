package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

func newCorpus() *cobra.Command {
	var j corpusJob
	c := &cobra.Command{
		Use:   "corpus",
		Short: "Find what exposes broken variants of locks, and try sound ones",
		Long: `Each sound lock says which laws it promises and which faults it excludes. A mutant is a sound
lock with one thing wrong, as a shipped library had it or as a wrong setting has it. It runs
under the same random faults, seed 0 first or that of --seed, until it breaks a promise of
its lock.

Exit 1 if a mutant is not caught, or if a sound lock breaks a promise.`,
		Example: `  fencepost corpus
  fencepost corpus --sound 1000000
  fencepost corpus --sound 1000000 --seed 200000000`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return j.run()
		},
	}
	j.Register(c, "")
	c.Flags().Uint64Var(&j.from, "seed", 0, "the first seed of each mutant and of each sound lock")
	output.Count(c, &j.seeds, "seeds", 20_000, 1, 0, "how many runs a mutant has at most")
	c.Flags().IntVar(&j.sound, "sound", 0, "how many runs to make of all sound locks together (default none)")
	output.Workers(c, &j.workers, "how many runs to make at once")
	c.Flags().StringVar(&j.Out, "out", "",
		"write the scenario of each mutant and each lock to `DIR`\n(default _runs/corpus-SEED-SEEDS-SOUND)")
	return c
}

// corpusJob is one call of corpus.
type corpusJob struct {
	output.Frame
	from                  uint64
	seeds, sound, workers int
}

func (j *corpusJob) run() error {
	switch {
	case uint64(max(j.seeds, j.sound)-1) > math.MaxUint64-j.from:
		return fmt.Errorf("there are no %d seeds from --seed %d on", max(j.seeds, j.sound), j.from)
	case j.sound < 0 || j.sound > 0 && j.sound < len(corpus.Names()):
		return fmt.Errorf("--sound must be at least %d, a run for each lock, not %d", len(corpus.Names()), j.sound)
	}
	defer j.Close()
	if err := j.prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	report := &corpus.Corpus{First: j.from, Seeds: j.seeds, Files: j.Out, Repeat: j.repeat()}
	if err := j.mutants(ctx, report); err != nil {
		return err
	}
	if j.sound > 0 {
		if err := j.locks(ctx, report); err != nil {
			return err
		}
	}
	report.Interrupted = ctx.Err() != nil && report.Standing() != document.Passed
	return j.Emit(report.Document(), report.Standing())
}

// prepare makes sure that the scenario of each mutant and each lock can be written.
func (j *corpusJob) prepare() error {
	if j.Out == "" {
		j.Out = fmt.Sprintf("_runs/corpus-%d-%d-%d", j.from, j.seeds, j.sound)
	}
	if err := j.Open("corpus"); err != nil {
		return err
	}
	for _, m := range corpus.Mutants() {
		if err := j.Files.Spare(m.Name + ".yaml"); err != nil {
			return err
		}
	}
	for _, name := range corpus.Names() {
		if err := j.Files.Spare(name + ".yaml"); err != nil {
			return err
		}
	}
	return nil
}

// repeat is the command that does the same again.
func (j *corpusJob) repeat() string {
	call := fmt.Sprintf("%s corpus --seeds %d", output.Program(), j.seeds)
	if j.from > 0 {
		call += fmt.Sprintf(" --seed %d", j.from)
	}
	if j.sound > 0 {
		call += fmt.Sprintf(" --sound %d", j.sound)
	}
	return call
}

// file is where the scenario of a mutant or a lock is written.
func (j *corpusJob) file(name string) string { return filepath.Join(j.Out, name+".yaml") }

// mutants searches each mutant.
func (j *corpusJob) mutants(ctx context.Context, report *corpus.Corpus) error {
	all := corpus.Mutants()
	list := make([]*scenarios.Scenario, len(all))
	var files []output.File
	for i, m := range all {
		text, err := m.Text()
		if err != nil {
			return err
		}
		files = append(files, output.File{Name: m.Name + ".yaml", Content: text})
		if list[i], err = scenarios.Parse(j.file(m.Name), text); err != nil {
			return err
		}
		report.Mutants = append(report.Mutants, corpus.MutantResult{Mutant: m, File: j.file(m.Name)})
	}
	j.Files.Keep(files...)
	progress := j.Progress()
	timed := func(i int, search func()) {
		start := time.Now()
		search()
		report.Mutants[i].Took = time.Since(start)
	}
	return search.FirstViolations(ctx, list, j.from, j.seeds, j.workers, timed, func(i int,
		v search.FirstViolation) error {
		report.Mutants[i].Search = &v
		progress("mutants", i+1, len(all))
		return nil
	})
}

// locks tries the sound locks: each has its share of the runs.
func (j *corpusJob) locks(ctx context.Context, report *corpus.Corpus) error {
	names := corpus.Names()
	progress := j.Progress()
	before := 0
	for i, name := range names {
		s, err := corpus.Lock(name)
		if err != nil {
			return err
		}
		j.Files.Keep(output.File{Name: name + ".yaml", Content: s.Text()})
		e, err := search.NewExploration(s, j.from, search.Shard{Index: i + 1, Of: len(names)}.Size(j.sound),
			search.Whole)
		if err != nil {
			return err
		}
		if err := e.Run(ctx, s, j.workers, func() { progress("runs", before+e.Done(), j.sound) }); err != nil {
			return err
		}
		before += e.Done()
		report.Sound = append(report.Sound, corpus.LockResult{Exploration: e, Lock: s,
			Repeat: fmt.Sprintf("%s explore %s", output.Program(), output.Word(j.file(name)))})
	}
	return nil
}
