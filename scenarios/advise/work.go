package advise

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// The code in this file lets other processes perform most runs of a search for advice: the exploration, the runs of the
// unchanged lock, the trials of the changes, and the confirmations. Each change or pair of changes is a job. The
// process that leads the search does not delegate the shrinking of plans that break the lock, because each run depends
// on the ones before. Which pairs are tried, and what is confirmed, depends on the results of all earlier jobs.

// task says what a job does.
type task uint8

const (
	asIs        task = iota // runs the unchanged lock
	tryThem                 // tries the changes
	confirmBase             // runs the unchanged lock under as many fresh plans as a confirmation needs
	confirmThem             // confirms the changes
)

type job struct {
	Task   task
	Tried  sent
	Wanted []checker.Law `json:",omitempty"` // laws, some of which the changes should mend
}

// spec is what a job needs to know about the search so far, besides the scenario and the options.
type spec struct {
	Own      bool
	Plans    []nemesis.Plan
	Broken   []checker.Law
	ByNature map[checker.Law]string
	Base     sent // the unchanged lock
	Jobs     []job
}

// sent is a Tried in the form in which it is sent to another process. It omits the fields that can be computed from the
// others.
type sent struct {
	Changes                         []string // as returned by Change.String
	Given, Elsewhere, Fresh, Others Trial
	Everyday                        []Trial
	Spared                          []string
	Cost                            Cost
	Unfit                           bool
	Plans                           [3]int // how many plans were run: Tried.given, moved and met
}

func (t *Tried) sent() sent {
	s := sent{nil, t.Given, t.Elsewhere, t.Fresh, t.Others, t.Everyday, t.Spared, t.Cost, t.unfit,
		[...]int{t.given, t.moved, t.met}}
	for i := range t.Changes {
		s.Changes = append(s.Changes, t.Changes[i].String())
	}
	return s
}

// receive stores a job's results in t, which must have the job's changes.
func (t *Tried) receive(s *sent) {
	t.Given, t.Elsewhere, t.Fresh, t.Others, t.Everyday = s.Given, s.Elsewhere, s.Fresh, s.Others, s.Everyday
	t.Spared, t.Cost, t.unfit = s.Spared, s.Cost, s.Unfit
	t.given, t.moved, t.met = s.Plans[0], s.Plans[1], s.Plans[2]
}

// of returns the lock with the changes and results in s. all maps names to single changes.
func (b *subject) of(s *sent, all map[string]Change) (*Tried, error) {
	t := &Tried{Left: b.broken}
	for _, name := range s.Changes {
		c, known := all[name]
		if !known {
			return nil, fmt.Errorf("%s has no change %q", b.scenario.Name, name)
		}
		t.Changes = append(t.Changes, c)
	}
	t.receive(s)
	if len(t.Changes) == 0 {
		t.scenario = b.patient(*b.scenario)
	} else if !t.unfit {
		b.build(t)
	}
	return t, nil
}

// perform performs jobs and passes their results to take, in order. A nil result means that the job was interrupted.
// The argument what names the jobs in progress reports. round, counted from 0, distinguishes job lists with the same
// name.
func (a *Advice) perform(ctx context.Context, what string, round int, jobs []job, list []*Tried,
	take func(i int, t *Tried)) error {
	b := a.subject
	work := campaign.Work[*sent]{Name: what, Stage: fmt.Sprintf("%s, round %d", what, round+1), Size: len(jobs),
		Fits: func(i int, s *sent) bool { return s != nil && slices.Equal(s.Changes, jobs[i].Tried.Changes) },
		Start: func() func(int) (*sent, error) {
			return func(i int) (*sent, error) { return a.do(ctx, &jobs[i], list[i]) }
		}}
	if b.options.Hands != nil {
		work.Spec = &spec{b.own, b.plans, b.broken, a.ByNature, a.Base.sent(), jobs}
	}
	_, err := work.Do(ctx, b.options.Crew, func(i int, s *sent) error {
		if s == nil {
			take(i, nil)
			return nil
		}
		if b.options.Hands != nil {
			list[i].receive(s)
			if len(list[i].Changes) > 0 && !s.Unfit {
				b.build(list[i])
			}
		}
		take(i, list[i])
		return nil
	})
	return err
}

// do performs a job for t, the lock with the job's changes. The result is nil if ctx was done before a job that tries
// changes had tried them.
func (a *Advice) do(ctx context.Context, j *job, t *Tried) (*sent, error) {
	b := a.subject
	var err error
	switch j.Task {
	case asIs:
		err = b.asItIs(ctx, t)
	case tryThem:
		var whole bool
		if whole, err = b.try(ctx, a.Base, t, j.Wanted); !whole {
			return nil, err
		}
	case confirmBase:
		err = b.worker(t).runFresh(ctx, (1+confirming)*a.Seeds, func() bool { return false })
	case confirmThem:
		err = b.confirm(ctx, a, t)
	default:
		err = fmt.Errorf("advice has no task %d", j.Task)
	}
	s := t.sent()
	return &s, err
}

// NewWorker returns a worker that helps with the search for advice about s. It is meant for Options.Hands.
func NewWorker(s *scenarios.Scenario, o Options) (campaign.Worker, error) {
	if _, err := newSubject(s, o); err != nil {
		return nil, err
	}
	explorer, err := search.NewWorker(s)
	return &divided{explorer, err, campaign.NewWorker(func(_ string, read func(any) error) (campaign.Jobs, error) {
		return opened(s, o, read)
	})}, nil
}

// divided is a worker that performs both the exploration and the jobs in a search for advice.
type divided struct {
	explorer *search.Worker
	no       error // why there is no explorer, such as a mix that cannot produce any fault
	jobs     campaign.Worker
}

// Make performs a stage's jobs from first to first+size-1.
func (w *divided) Make(ctx context.Context, s campaign.Stage, first, size uint64) ([]byte, error) {
	switch {
	case s.Name != search.SeedsStage:
		return w.jobs.Make(ctx, s, first, size)
	case w.no != nil:
		return nil, w.no
	}
	return w.explorer.Make(ctx, s, first, size)
}

// opened returns a stage's jobs. read decodes the stage's spec.
func opened(s *scenarios.Scenario, o Options, read func(any) error) (campaign.Jobs, error) {
	var known spec
	b, err := newSubject(s, o)
	if err == nil {
		err = read(&known)
	}
	if err != nil {
		return campaign.Jobs{}, err
	}
	b.own, b.plans, b.broken = known.Own, known.Plans, known.Broken
	a := &Advice{subject: b, Seeds: o.Seeds, Own: known.Own, Plans: known.Plans, Promised: b.promised.Laws,
		Broken: known.Broken, ByNature: known.ByNature}
	changes := map[string]Change{}
	for _, c := range b.changes() {
		changes[c.String()] = c
	}
	if a.Base, err = b.of(&known.Base, changes); err != nil {
		return campaign.Jobs{}, err
	}
	return campaign.Jobs{Size: len(known.Jobs), Do: func(ctx context.Context, i int) (any, error) {
		j := known.Jobs[i]
		t, err := b.of(j.Tried.copied(), changes)
		if err != nil {
			return nil, err
		}
		if !t.unfit {
			b.judge(a.Base, t)
		}
		return a.do(ctx, &j, t)
	}}, nil
}

// copied returns a copy to which runs can be added without changing s. So a job that is performed twice begins with the
// same runs each time.
func (s *sent) copied() *sent {
	c := *s
	for _, t := range []*Trial{&c.Given, &c.Elsewhere, &c.Fresh, &c.Others} {
		t.Laws, t.Findings = slices.Clone(t.Laws), slices.Clone(t.Findings)
	}
	c.Everyday, c.Spared = slices.Clone(s.Everyday), slices.Clone(s.Spared)
	return &c
}
