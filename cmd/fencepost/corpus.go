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
	var h hunt
	c := &cobra.Command{
		Use:   "corpus",
		Short: "Hunt broken variants of sound locks, and try the sound ones",
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
			return h.run()
		},
	}
	h.Register(c)
	c.Flags().Uint64Var(&h.from, "seed", 0, "the first seed of each mutant and of each sound lock")
	c.Flags().IntVar(&h.seeds, "seeds", 20_000, "how many runs a mutant has at most")
	c.Flags().IntVar(&h.sound, "sound", 0, "how many runs to make of all sound locks together (default none)")
	c.Flags().IntVar(&h.workers, "workers", 0, "how many runs to make at once (default: one a core)")
	c.Flags().StringVar(&h.Out, "out", "",
		"write the scenario of each mutant and each lock to `DIR`\n(default _runs/corpus-SEED-SEEDS-SOUND)")
	return c
}

// hunt is one call of corpus.
type hunt struct {
	output.Frame
	from                  uint64
	seeds, sound, workers int
}

func (h *hunt) run() error {
	switch {
	case h.seeds < 1:
		return fmt.Errorf("--seeds must be at least 1, not %d", h.seeds)
	case uint64(max(h.seeds, h.sound)-1) > math.MaxUint64-h.from:
		return fmt.Errorf("there are no %d seeds from --seed %d on", max(h.seeds, h.sound), h.from)
	case h.sound < 0 || h.sound > 0 && h.sound < len(corpus.Names()):
		return fmt.Errorf("--sound must be at least %d, a run for each lock, not %d", len(corpus.Names()), h.sound)
	}
	if err := output.CheckWorkers(h.workers); err != nil {
		return err
	}
	defer h.Close()
	if err := h.prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	report := &corpus.Corpus{First: h.from, Seeds: h.seeds, Files: h.Out, Repeat: h.repeat()}
	if err := h.mutants(ctx, report); err != nil {
		return err
	}
	if h.sound > 0 {
		if err := h.locks(ctx, report); err != nil {
			return err
		}
	}
	report.Interrupted = ctx.Err() != nil && report.Standing() != document.Passed
	return h.Emit(report.Document(), report.Standing())
}

// prepare makes sure that the scenario of each mutant and each lock can be written.
func (h *hunt) prepare() error {
	if h.Out == "" {
		h.Out = fmt.Sprintf("_runs/corpus-%d-%d-%d", h.from, h.seeds, h.sound)
	}
	if err := h.Open("corpus"); err != nil {
		return err
	}
	for _, m := range corpus.Mutants() {
		if err := h.Files.Spare(m.Name + ".yaml"); err != nil {
			return err
		}
	}
	for _, name := range corpus.Names() {
		if err := h.Files.Spare(name + ".yaml"); err != nil {
			return err
		}
	}
	return nil
}

// repeat is the command that does the same again.
func (h *hunt) repeat() string {
	call := fmt.Sprintf("%s corpus --seeds %d", program(), h.seeds)
	if h.from > 0 {
		call += fmt.Sprintf(" --seed %d", h.from)
	}
	if h.sound > 0 {
		call += fmt.Sprintf(" --sound %d", h.sound)
	}
	return call
}

// file is where the scenario of a mutant or a lock is written.
func (h *hunt) file(name string) string { return filepath.Join(h.Out, name+".yaml") }

// mutants hunts through the mutants.
func (h *hunt) mutants(ctx context.Context, report *corpus.Corpus) error {
	all := corpus.Mutants()
	list := make([]*scenarios.Scenario, len(all))
	var files []output.File
	for i, m := range all {
		text, err := m.Text()
		if err != nil {
			return err
		}
		files = append(files, output.File{Name: m.Name + ".yaml", Content: text})
		if list[i], err = scenarios.Parse(h.file(m.Name), text); err != nil {
			return err
		}
		report.Mutants = append(report.Mutants, corpus.MutantResult{Mutant: m, File: h.file(m.Name)})
	}
	h.Files.Keep(files...)
	progress := h.Progress()
	timed := func(i int, hunt func()) {
		start := time.Now()
		hunt()
		report.Mutants[i].Took = time.Since(start)
	}
	return search.Hunts(ctx, list, h.from, h.seeds, h.workers, timed, func(i int, p search.Hunted) error {
		report.Mutants[i].Search = &p
		progress("mutants", i+1, len(all))
		return nil
	})
}

// locks tries the sound locks: each has its share of the runs.
func (h *hunt) locks(ctx context.Context, report *corpus.Corpus) error {
	names := corpus.Names()
	progress := h.Progress()
	before := 0
	for i, name := range names {
		s, err := corpus.Lock(name)
		if err != nil {
			return err
		}
		h.Files.Keep(output.File{Name: name + ".yaml", Content: s.Text()})
		e, err := search.NewExploration(s, h.from, search.Shard{Index: i + 1, Of: len(names)}.Size(h.sound),
			search.Whole)
		if err != nil {
			return err
		}
		if err := e.Run(ctx, s, h.workers, func() { progress("runs", before+e.Done, h.sound) }); err != nil {
			return err
		}
		before += e.Done
		report.Sound = append(report.Sound, corpus.LockResult{Exploration: e, Lock: s,
			Repeat: fmt.Sprintf("%s explore %s", program(), shellWord(h.file(name)))})
	}
	return nil
}
