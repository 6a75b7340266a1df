package sweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// This file lets other processes perform a sweep's runs. The grid's points do not depend on each other, and neither do
// the sides of the grid that are bisected. Each bisection is a single job, because each of its points depends on the
// previous ones.

// job is one job of a sweep. If B is nil, the job performs the runs that point A still lacks, up to Runs in all.
// Otherwise, it bisects the side between points A and B, which differ on the axis with the index Axis.
type job struct {
	A, B *Point
	Axis int
	Runs int
}

// outcome is the result of a job: either the point, or the points that were tried between A and B.
type outcome struct {
	Points  []*Point
	Blocked []int64 // values for which the middle of the gap after the value is not a valid scenario, ascending
}

// NewWorker returns a worker for sweeping a subject with the given options. Such workers can be used as Options.Hands.
// NewWorker returns the same errors as Sweep.
func (b *Subject) NewWorker(o Options) (campaign.Worker, error) {
	s, err := b.begin(o)
	if err != nil {
		return nil, err
	}
	return campaign.NewWorker(func(_ string, spec func(any) error) (campaign.Jobs, error) {
		var jobs []job
		err := spec(&jobs)
		if err == nil && slices.ContainsFunc(jobs, func(j job) bool { return !s.has(&j) }) {
			err = fmt.Errorf("it is not a stage of this sweep of %s", b.scenario.Name)
		}
		w := &sweeper{Sweep: s}
		return campaign.Jobs{Size: len(jobs), Do: func(ctx context.Context, i int) (any, error) {
			w.ctx = ctx
			j := jobs[i]
			a := j.A.copied() // a job that is performed twice begins with the same runs
			j.A = &a
			return w.do(&j)
		}}, err
	}), nil
}

// has reports whether a job received from another process could be part of the sweep.
func (o *Options) has(j *job) bool {
	on := func(p *Point) bool { return len(p.Levels) == len(o.Axes) }
	return j.A != nil && on(j.A) && j.Runs >= 0 && j.Runs <= o.Sure &&
		(j.B == nil || on(j.B) && j.Axis >= 0 && j.Axis < len(o.Axes))
}

// copied returns a copy of p. Adding runs to the copy does not change p.
func (p *Point) copied() Point {
	c := *p
	c.Laws, c.Findings = slices.Clone(p.Laws), slices.Clone(p.Findings)
	c.Struck, c.Others = slices.Clone(p.Struck), slices.Clone(p.Others)
	return c
}

func (w *sweeper) do(j *job) (o outcome, err error) {
	if j.B == nil {
		_, err = w.runMore(j.A, upTo(j.Runs), nil)
		return outcome{Points: []*Point{j.A}}, err
	}
	c := w.crossing(j)
	err = c.cross()
	o.Points = c.tried
	for from := range c.blocked {
		o.Blocked = append(o.Blocked, from)
	}
	slices.Sort(o.Blocked)
	return o, err
}

// perform performs the jobs and passes their results to take, in order. round is a number, starting at 0, that
// distinguishes job lists with the same name.
func (s *Sweep) perform(ctx context.Context, what string, round int, jobs []job, take func(i int, o outcome) error) (
	done int, err error) {
	work := campaign.Work[outcome]{Name: what, Stage: fmt.Sprintf("%s, round %d", what, round+1), Size: len(jobs),
		Spec: jobs, Fits: func(i int, o outcome) bool { return s.fits(&jobs[i], o) },
		Start: func() func(int) (outcome, error) {
			w := &sweeper{Sweep: s, ctx: ctx}
			return func(i int) (outcome, error) { return w.do(&jobs[i]) }
		}}
	return work.Do(ctx, s.Crew, take)
}

// fits reports whether an outcome received from another process could be the job's outcome.
func (s *Sweep) fits(j *job, o outcome) bool {
	if j.B == nil {
		return len(o.Points) == 1 && o.Points[0] != nil && slices.Equal(o.Points[0].Levels, j.A.Levels)
	}
	at := func(p *Point) int64 { return p.Levels[j.Axis].N }
	return !slices.ContainsFunc(o.Points, func(p *Point) bool {
		return p == nil || len(p.Levels) != len(s.Axes) || at(p) <= at(j.A) || at(p) >= at(j.B)
	})
}
