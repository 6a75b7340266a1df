package corpus

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Options determine which parts of the corpus to run, and how. Their JSON form contains everything that a worker needs.
type Options struct {
	First   uint64 // first seed for each mutant and each sound lock
	Seeds   int    // maximum number of runs in one search; 0: do not search for mutants
	Starts  int    // number of searches of each mutant, which start from seeds that are far apart; at least 1
	Unaimed bool   // repeat the searches without faults that are aimed at events
	Sound   int    // total number of runs of all sound locks: 0, or at least one per lock
	// Crew performs the runs. Its Hands are workers that NewWorker returned. It reports how many searches and how many
	// runs of sound locks have ended.
	campaign.Crew `json:"-"`
	// Now is the host's clock. It is used to measure how long a mutant's searches take. If it is nil, nothing is
	// measured.
	Now func() time.Time `json:"-"`
}

// seedDistance is the minimum distance between the start seeds of a mutant's searches.
const seedDistance = 1_000_000

// start returns the first seed of a mutant's search with the given number; the numbers begin at 0. A mutant's searches
// do not have any seeds in common.
func (o *Options) start(number int) uint64 {
	return o.First + uint64(number)*uint64(seedDistance*((o.Seeds-1)/seedDistance+1))
}

// Last returns the highest seed that any of the runs may use. ok is false if this seed does not fit into a uint64.
func (o *Options) Last() (seed uint64, ok bool) {
	of := new(big.Int).SetUint64(seedDistance * uint64((o.Seeds-1)/seedDistance+1))
	of.Mul(of, big.NewInt(int64(o.Starts-1))).Add(of, big.NewInt(int64(max(o.Seeds, o.Sound)-1)))
	of.Add(of, new(big.Int).SetUint64(o.First))
	return of.Uint64(), of.IsUint64()
}

// place identifies one search by its mutant and the index of its start seed. unaimed is set if the faults are drawn
// entirely at random, that is, without aiming any at events in a fault-free run.
type place struct {
	mutant, number int
	unaimed        bool
}

// searches returns the number of searches. There is one for each mutant and start seed. If Options.Unaimed is set,
// there are as many again without aimed faults (faults that strike at an event of the fault-free run), and these come
// last. Within each half, all mutants' searches from the first start seed come first, then those from the second, and
// so on.
func (o *Options) searches() int {
	if o.Seeds == 0 {
		return 0
	}
	n := len(mutants) * o.Starts
	if o.Unaimed {
		n *= 2
	}
	return n
}

func (o *Options) place(i int) place {
	n := i / len(mutants)
	return place{i % len(mutants), n % o.Starts, n >= o.Starts}
}

// Run searches for a violation by each mutant, and explores the sound locks. Each sound lock gets an equal share of the
// Options.Sound runs. The result does not contain any file names or commands. Apart from timings, it does not depend on
// which process performed the runs.
func Run(ctx context.Context, o Options) (*Corpus, error) {
	c := &Corpus{First: o.First, Seeds: o.Seeds, Starts: o.Starts, Unaimed: o.Unaimed}
	for _, m := range mutants {
		if o.Seeds == 0 {
			break
		}
		r := MutantResult{Mutant: m, Searches: make([]*search.FirstViolation, o.Starts)}
		if o.Unaimed {
			r.Unaimed = make([]*search.FirstViolation, o.Starts)
		}
		c.Mutants = append(c.Mutants, r)
	}
	if err := c.searchAll(ctx, &o); err != nil {
		return nil, err
	}
	if o.Starts > 1 {
		if err := c.explain(ctx); err != nil {
			return nil, err
		}
	}
	if o.Sound > 0 {
		if err := c.explore(ctx, &o); err != nil {
			return nil, err
		}
	}
	c.Interrupted = ctx.Err() != nil && c.Standing() != document.Passed
	return c, nil
}

// outcome is one search's result.
type outcome struct {
	Search search.FirstViolation `json:"search"`
	Took   time.Duration         `json:"took"`
	lost   string                // why there is no result
}

// search performs the search with number i.
func (o *Options) search(ctx context.Context, i int) (s outcome, err error) {
	start, at := o.now(), o.place(i)
	m := &mutants[at.mutant]
	scenario, err := m.scenario()
	if err != nil {
		return s, err
	}
	if at.unaimed {
		scenario.Mix.Aimed = 0
	}
	if s.Search, err = search.FindFirst(ctx, scenario, o.start(at.number), o.Seeds); err != nil {
		return s, fmt.Errorf("%s: %w", m.Name, err)
	}
	s.Took = o.now().Sub(start)
	return s, nil
}

// take stores the result of the search that at identifies.
func (c *Corpus) take(at place, s *outcome) {
	m := &c.Mutants[at.mutant]
	if s.lost != "" {
		m.Lost = s.lost
		return
	}
	list := m.Searches
	if at.unaimed {
		list = m.Unaimed
	}
	list[at.number] = &s.Search
	m.Took += s.Took
}

func (o *Options) now() (t time.Time) {
	if o.Now != nil {
		t = o.Now()
	}
	return t
}

// mutantsStage is the name of the stage that performs the mutant searches. The stages that explore the sound locks come
// after it.
const mutantsStage = "mutants"

// searchAll performs the mutant searches.
func (c *Corpus) searchAll(ctx context.Context, o *Options) error {
	w := campaign.Work[outcome]{Name: mutantsStage, Size: o.searches(), AnyOrder: true,
		Lost: func(why string) outcome { return outcome{lost: why} },
		Start: func() func(int) (outcome, error) {
			return func(i int) (outcome, error) { return o.search(ctx, i) }
		}}
	_, err := w.Do(ctx, o.Crew, func(i int, s outcome) error {
		c.take(o.place(i), &s)
		return nil
	})
	return err
}

// explore runs the sound locks under random faults.
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
		c.Sound = append(c.Sound, LockResult{Result: e, Lock: s})
	}
	return nil
}

// ofLock implements campaign.Hands for exploring one sound lock. It passes each stage on to other Hands.
type ofLock struct {
	hands campaign.Hands
	name  string
}

const ofName = " of "

// Do appends the lock's name to the stage's name, and passes the stage on.
func (h ofLock) Do(ctx context.Context, s campaign.Stage, take func(campaign.Part) error) error {
	s.Name += ofName + h.name
	return do(ctx, h.hands, s, take)
}

// do carries out a stage with the given campaign.Hands. It does not return an error if the stage stopped because ctx is
// done.
func do(ctx context.Context, hands campaign.Hands, s campaign.Stage, take func(campaign.Part) error) error {
	err := hands.Do(ctx, s, take)
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return nil
	}
	return err
}

// NewWorker returns a worker for parts of the corpus with the given options. It measures time with o.Now.
func NewWorker(o Options) campaign.Worker {
	open := func(string, func(any) error) (campaign.Jobs, error) {
		return campaign.Jobs{Size: o.searches(), Do: func(ctx context.Context, i int) (any, error) {
			s, err := o.search(ctx, i)
			return &s, err
		}}, nil
	}
	return &worker{mutants: campaign.NewWorker(open), locks: map[string]*search.Worker{}}
}

type worker struct {
	mutants campaign.Worker
	locks   map[string]*search.Worker
}

// Make performs a stage's jobs from position first to position first+size-1.
func (w *worker) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	if s.Name == mutantsStage {
		return w.mutants.Make(ctx, s, first, size)
	}
	stage, lock, _ := strings.Cut(s.Name, ofName)
	explorer, err := w.explorer(lock)
	if err != nil {
		return nil, err
	}
	s.Name = stage
	return explorer.Make(ctx, s, first, size)
}

// explorer returns the worker that explores a sound lock.
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
