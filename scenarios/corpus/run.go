package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Options say what is run of the corpus. As JSON they are what a worker needs of them.
type Options struct {
	First uint64 // seed of each mutant and each sound lock
	Seeds int    // at most so many runs of each mutant; at least 1
	Sound int    // runs of all sound locks together: 0, or one for each lock at least
	// Crew is notified how many mutants were searched, and how many runs the sound locks had.
	campaign.Crew `json:"-"`
	// Hands have workers of NewWorker make the runs; nil: the crew does.
	Hands campaign.Hands `json:"-"`
	// Now is the host's clock, which says how long the search of a mutant took; nil: nothing does.
	Now func() time.Time `json:"-"`
}

// Run searches each mutant and explores the sound locks, each of which has its share of the runs. The result states no
// files and no commands. It is the same whoever makes the runs, but for the time that they took.
func Run(ctx context.Context, o Options) (*Corpus, error) {
	c := &Corpus{First: o.First, Seeds: o.Seeds}
	for _, m := range mutants {
		c.Mutants = append(c.Mutants, MutantResult{Mutant: m})
	}
	by := c.byCrew
	if o.Hands != nil {
		by = c.byHands
	}
	if err := by(ctx, &o); err != nil {
		return nil, err
	}
	if o.Sound > 0 {
		if err := c.explore(ctx, &o); err != nil {
			return nil, err
		}
	}
	c.Interrupted = ctx.Err() != nil && c.Standing() != document.Passed
	return c, nil
}

// outcome is what came of a mutant.
type outcome struct {
	Search search.FirstViolation `json:"search"`
	Took   time.Duration         `json:"took"`
}

// search searches a mutant, by its place in the list.
func (o *Options) search(ctx context.Context, i int) (s outcome, err error) {
	start := o.now()
	scenario, err := mutants[i].scenario()
	if err != nil {
		return s, err
	}
	if s.Search, err = search.FindFirst(ctx, scenario, o.First, o.Seeds); err != nil {
		return s, fmt.Errorf("%s: %w", mutants[i].Name, err)
	}
	s.Took = o.now().Sub(start)
	return s, nil
}

func (o *Options) now() (t time.Time) {
	if o.Now != nil {
		t = o.Now()
	}
	return t
}

// mutantsStage is the stage whose positions are mutants. Those of a sound lock follow it: the stages of an exploration.
const mutantsStage = "mutants"

// byCrew has the crew search the mutants.
func (c *Corpus) byCrew(ctx context.Context, o *Options) error {
	start := func() func(int) (outcome, error) {
		return func(i int) (outcome, error) { return o.search(ctx, i) }
	}
	_, err := campaign.Do(ctx, o.Crew, mutantsStage, len(mutants), start, func(i int, s outcome) error {
		c.Mutants[i].Search, c.Mutants[i].Took = &s.Search, s.Took
		return nil
	})
	return err
}

// byHands has other processes search the mutants.
func (c *Corpus) byHands(ctx context.Context, o *Options) error {
	done := 0
	stage := campaign.Stage{Name: mutantsStage, Size: uint64(len(mutants)), Portion: 1}
	err := do(ctx, o.Hands, stage, func(p campaign.Part) error {
		if p.Size > stage.Size || p.First > stage.Size-p.Size {
			return fmt.Errorf("there are no %d mutants from %d on", p.Size, p.First)
		}
		list := make([]outcome, p.Size)
		if p.Lost == "" {
			list = nil
			if err := json.Unmarshal(p.Value, &list); err != nil || uint64(len(list)) != p.Size {
				return fmt.Errorf("what came of %d mutants from %d on cannot be read", p.Size, p.First)
			}
		}
		for i := range list {
			m := &c.Mutants[int(p.First)+i]
			if m.Lost = p.Lost; p.Lost == "" {
				m.Search, m.Took = &list[i].Search, list[i].Took
			}
		}
		done += len(list)
		o.Report(mutantsStage, done, len(mutants))
		return nil
	})
	if err == nil && done < len(mutants) && ctx.Err() == nil {
		err = fmt.Errorf("only %d of the %d mutants were searched", done, len(mutants))
	}
	return err
}

// explore tries the sound locks.
func (c *Corpus) explore(ctx context.Context, o *Options) error {
	before := 0
	for i, name := range names {
		s, err := Lock(name)
		if err != nil {
			return err
		}
		share := search.Shard{Index: i + 1, Of: len(names)}.Size(o.Sound)
		e, err := search.NewExploration(s, o.First, share, search.Whole)
		if err != nil {
			return err
		}
		counted := func() { o.Report("runs", before+e.Done(), o.Sound) }
		if o.Hands == nil {
			err = e.Run(ctx, s, o.Workers, counted)
		} else {
			err = e.RunBy(ctx, ofLock{o.Hands, name}, counted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		before += e.Done()
		c.Sound = append(c.Sound, LockResult{Exploration: e, Lock: s})
	}
	return nil
}

// ofLock are the hands of an exploration of one sound lock.
type ofLock struct {
	hands campaign.Hands
	name  string
}

const ofName = " of "

// Do makes the stage, under a name that says which lock it is of.
func (h ofLock) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	s.Name += ofName + h.name
	return do(ctx, h.hands, s, take)
}

// do has hands make a stage. That ctx has ended their work is no error.
func do(ctx context.Context, hands campaign.Hands, s campaign.Stage, take func(campaign.Part) error) error {
	err := hands.Do(ctx, s, take)
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return nil
	}
	return err
}

// NewWorker makes a worker that runs the corpus with these options, and times by their clock.
func NewWorker(o Options) campaign.Worker { return &worker{o: o, locks: map[string]*search.Worker{}} }

type worker struct {
	o     Options
	locks map[string]*search.Worker
}

// Make makes positions of a stage.
func (w *worker) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	if s.Name == mutantsStage {
		return w.mutants(ctx, first, size)
	}
	stage, lock, _ := strings.Cut(s.Name, ofName)
	explorer, err := w.explorer(lock)
	if err != nil {
		return nil, err
	}
	s.Name = stage
	return explorer.Make(ctx, s, first, size)
}

// mutants searches mutants, all to the end.
func (w *worker) mutants(ctx context.Context, first, size uint64) ([]byte, error) {
	of := uint64(len(mutants))
	if size < 1 || size > of || first > of-size {
		return nil, fmt.Errorf("there are no %d mutants from %d on", size, first)
	}
	list := make([]outcome, size)
	for i := range list {
		var err error
		if list[i], err = w.o.search(ctx, int(first)+i); err != nil {
			return nil, err
		}
		if list[i].Search.Interrupted {
			return nil, ctx.Err()
		}
	}
	return json.Marshal(list)
}

// explorer is the worker of the explorations of a lock.
func (w *worker) explorer(lock string) (*search.Worker, error) {
	if known := w.locks[lock]; known != nil {
		return known, nil
	}
	s, err := Lock(lock)
	if err != nil {
		return nil, err
	}
	explorer, err := search.NewWorker(s)
	if err != nil {
		return nil, err
	}
	w.locks[lock] = explorer
	return explorer, nil
}
