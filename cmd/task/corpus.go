package task

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
)

// Corpus is one invocation of a command that runs the corpus, which consists of mutants and sound locks.
type Corpus struct {
	output.Frame
	Options corpus.Options
}

// CheckCorpus returns an error if the options cannot be used, for example because they need more seeds than exist or
// ask for too few runs of the sound locks.
func CheckCorpus(o *corpus.Options) error {
	_, enough := o.Last()
	switch {
	case o.Seeds == 0 && o.Sound == 0:
		return errors.New("with --seeds 0, no mutants are searched: " +
			"use --sound to set the number of runs of the sound locks")
	case !enough && o.Starts > 1:
		return fmt.Errorf("too few seeds: "+
			"%d searches of %d seeds each, a million or more seeds apart, do not fit above --seed %d", o.Starts,
			o.Seeds, o.First)
	case !enough:
		return fmt.Errorf("too few seeds: there are fewer than %d seeds from --seed %d on", max(o.Seeds, o.Sound),
			o.First)
	case o.Sound < 0 || o.Sound > 0 && o.Sound < len(corpus.Names()):
		return fmt.Errorf("--sound must be at least %d (one run of each lock), not %d", len(corpus.Names()), o.Sound)
	case o.Seeds == 0 && (o.Starts > 1 || o.Unaimed):
		return errors.New("with --seeds 0, no mutants are searched: " +
			"remove --starts and --unaimed, which apply only to mutants")
	}
	return nil
}

// Prepare checks, before anything runs, that the scenarios of all mutants and locks can be written. If the user has not
// chosen a folder, Prepare chooses a default folder that depends on the options.
func (j *Corpus) Prepare() error {
	o := &j.Options
	if j.Out == "" {
		j.Out = fmt.Sprintf("_runs/corpus-%d-%d-%d", o.First, o.Seeds, o.Sound)
	}
	if err := j.Open("corpus"); err != nil {
		return err
	}
	for _, m := range corpus.Mutants() {
		if err := j.Files.Spare(corpusFile(m.Name)); err != nil {
			return err
		}
	}
	for _, name := range corpus.Names() {
		if err := j.Files.Spare(corpusFile(name)); err != nil {
			return err
		}
	}
	return nil
}

// Conclude writes the scenarios that were run, and reports the results.
func (j *Corpus) Conclude(c *corpus.Corpus) error {
	c.Files, c.Repeat = j.Out, j.repeat()
	for i := range c.Mutants {
		m := &c.Mutants[i]
		text, err := m.Text()
		if err != nil {
			return err
		}
		m.File = j.keep(m.Name, text)
	}
	for i := range c.Sound {
		l := &c.Sound[i]
		l.Repeat = fmt.Sprintf("%s explore %s", output.Program(), text.ShellWord(j.keep(l.Lock.Name, l.Lock.Text())))
	}
	return j.Emit(c.Document(), c.Standing())
}

// keep writes a mutant's or a lock's scenario, and returns its path.
func (j *Corpus) keep(name string, text []byte) string {
	j.Files.Keep(output.File{Name: corpusFile(name), Content: text})
	return filepath.Join(j.Out, corpusFile(name))
}

func corpusFile(name string) string { return name + ".yaml" }

// repeat returns the command that repeats this invocation.
func (j *Corpus) repeat() string {
	o := &j.Options
	call := fmt.Sprintf("%s corpus --seeds %d", output.Program(), o.Seeds)
	if o.Starts > 1 {
		call += fmt.Sprintf(" --starts %d", o.Starts)
	}
	if o.Unaimed {
		call += " --unaimed"
	}
	if o.First > 0 {
		call += fmt.Sprintf(" --seed %d", o.First)
	}
	if o.Sound > 0 {
		call += fmt.Sprintf(" --sound %d", o.Sound)
	}
	return call
}
