package main

import (
	"context"
	"encoding/json"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// wholly calls search, which divides its work among the machines that the hands stand for. If some of their results are
// lost, wholly cancels the context, so that search ends as if it had been interrupted.
func wholly(ctx context.Context, hands *staged, search func(context.Context, campaign.Hands) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return search(ctx, whole{hands, cancel})
}

// sweeping is the subject that sweeps a scenario.
type sweeping struct {
	complete
	task.Sweep
	found *sweep.Sweep
}

func openSweep(e entry, content []byte) (subject, error) {
	s, err := scenarioOf(e, content)
	if err != nil {
		return nil, err
	}
	w := &sweeping{}
	if err := json.Unmarshal(e.Options, &w.Asked); err != nil {
		return nil, err
	}
	return w, w.Settle(s)
}

func (w *sweeping) probes(seeds ...uint64) ([]probe, error) { return probes(w.Scenario, seeds...) }

func (w *sweeping) worker() (campaign.Worker, error) { return w.Subject.NewWorker(w.Options) }

func (w *sweeping) search(ctx context.Context, hands *staged) error {
	return wholly(ctx, hands, func(ctx context.Context, hands campaign.Hands) (err error) {
		o := w.Options
		o.Hands = hands
		w.found, err = w.Subject.Sweep(ctx, o)
		return err
	})
}

func (w *sweeping) conclude(_ context.Context, f output.Frame) error {
	w.Frame = f
	if err := w.Prepare(); err != nil {
		return err
	}
	defer w.Close()
	return w.Conclude(w.found)
}

// advising is the subject that looks for advice about a scenario.
type advising struct {
	complete
	task.Advice
	found *advise.Advice
}

// advised contains the options for an advice search.
type advised struct {
	From  uint64 `json:"from"`
	Seeds int    `json:"seeds"`
}

func openAdvice(e entry, content []byte) (subject, error) {
	s, err := scenarioOf(e, content)
	if err != nil {
		return nil, err
	}
	var o advised
	err = json.Unmarshal(e.Options, &o)
	a := &advising{}
	a.Scenario, a.Limit = s, []string{"--cpu", "0s"}
	a.Options.From, a.Options.Seeds = o.From, o.Seeds
	return a, err
}

func (a *advising) probes(seeds ...uint64) ([]probe, error) { return probes(a.Scenario, seeds...) }

func (a *advising) worker() (campaign.Worker, error) { return advise.NewWorker(a.Scenario, a.Options) }

func (a *advising) search(ctx context.Context, hands *staged) error {
	return wholly(ctx, hands, func(ctx context.Context, hands campaign.Hands) (err error) {
		o := a.Options
		o.Hands = hands
		a.found, err = advise.Try(ctx, a.Scenario, o)
		return err
	})
}

func (a *advising) conclude(_ context.Context, f output.Frame) error {
	a.Frame = f
	if err := a.Prepare(); err != nil {
		return err
	}
	defer a.Close()
	return a.Conclude(a.found)
}

// comparing is the subject that compares all locks.
type comparing struct {
	complete
	options compared
	found   *compare.Comparison
}

// compared contains the options for a comparison.
type compared struct {
	Seeds int `json:"seeds"`
}

func openComparison(e entry, _ []byte) (subject, error) {
	c := &comparing{}
	return c, json.Unmarshal(e.Options, &c.options)
}

// probes performs runs of one of the compared scenarios, and returns digests of their results (see probe).
func (c *comparing) probes(seeds ...uint64) ([]probe, error) {
	one := compare.Scenarios()[0]
	s, err := scenarios.Parse(one.Name, []byte(one.Text))
	if err != nil {
		return nil, err
	}
	return probes(s, seeds...)
}

func (c *comparing) worker() (campaign.Worker, error) { return compare.NewWorker(), nil }

func (c *comparing) search(ctx context.Context, hands *staged) error {
	return wholly(ctx, hands, func(ctx context.Context, hands campaign.Hands) (err error) {
		c.found, err = compare.Locks(ctx, compare.Options{Runs: c.options.Seeds, Crew: campaign.Crew{Hands: hands}})
		return err
	})
}

func (c *comparing) conclude(_ context.Context, f output.Frame) error {
	j := task.Comparison{Frame: f, Seeds: c.options.Seeds}
	if err := j.Prepare(); err != nil {
		return err
	}
	defer j.Close()
	return j.Conclude(c.found)
}
