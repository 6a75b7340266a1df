package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/temporary"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// subject is what a campaign explores, for example a scenario or a package, once this process has opened it.
type subject interface {
	// probes performs the runs for the given seeds and returns digests of their results (see probe).
	probes(seeds ...uint64) ([]probe, error)
	worker() (campaign.Worker, error)
	// search performs the whole search from the beginning; its stages are carried out by hands.
	search(ctx context.Context, hands *staged) error
	// endable reports whether a stage may be stopped before it is complete.
	endable(stage string) bool
	// state returns what the search has found so far. It must be called on the search's goroutine.
	state() state
	// conclude reports what the search has found, in the same way as the command that searches in a single process.
	conclude(ctx context.Context, f output.Frame) error
	// story performs the run that demonstrates a finding, and returns its report. It may be called on any goroutine,
	// and in a process that does not perform the search.
	story(f finding) (*document.Document, error)
	close()
}

// kind describes one kind of work. Everything this program knows about a kind is in its entry in kinds.
type kind struct {
	name string
	// open opens an entry's subject, given the content of the entry's file.
	open func(e entry, content []byte) (subject, error)
	// executes reports whether the file is a program to be executed.
	executes bool
}

// kinds lists all kinds of work.
var kinds = []kind{
	{name: "explore", open: openScenario},
	{name: "package", open: openPackage, executes: true},
	{name: "verify", open: openVerification},
	{name: "corpus", open: openCorpus},
	{name: "sweep", open: openSweep},
	{name: "advise", open: openAdvice},
	{name: "compare", open: openComparison},
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

// seeds contains an exploration's options.
type seeds struct {
	From  uint64 `json:"from"`
	Seeds int    `json:"seeds"`
	Test  string `json:"test,omitempty"` // the name of the test, if a package is explored
}

// scenarioOf parses an entry's scenario.
func scenarioOf(e entry, content []byte) (*scenarios.Scenario, error) {
	path := e.Path
	if path == "" {
		path = e.Name
	}
	s, err := scenarios.Parse(path, content)
	if err == nil {
		s.Path = e.Path
	}
	return s, err
}

// exploration explores a scenario, or a lock from a Go package. It implements subject.
type exploration struct {
	task.Exploration
	options seeds
	folder  *temporary.Folder // where the test binary runs; nil if there is no test binary
	binary  *os.File
}

func openScenario(e entry, content []byte) (subject, error) {
	s, err := scenarioOf(e, content)
	if err != nil {
		return nil, err
	}
	x := &exploration{}
	x.Scenario = s
	return x, json.Unmarshal(e.Options, &x.options)
}

// openPackage writes the test binary to an empty folder of its own, where it will run.
func openPackage(e entry, content []byte) (subject, error) {
	x := &exploration{}
	if err := json.Unmarshal(e.Options, &x.options); err != nil {
		return nil, err
	}
	var err error
	if x.folder, err = temporary.New(); err != nil {
		return nil, err
	}
	var path string
	if path, x.binary, err = keepBinary(x.folder.Path(), content); err == nil {
		x.Scenario, x.Test, err = task.OpenBuilt(path, x.folder.Path(), e.Path, x.options.Test)
	}
	if err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *exploration) probes(seeds ...uint64) ([]probe, error) { return probes(x.Scenario, seeds...) }

func (x *exploration) worker() (campaign.Worker, error) { return search.NewWorker(x.Scenario) }

func (x *exploration) endable(stage string) bool { return stage == search.SeedsStage }

func (x *exploration) search(ctx context.Context, hands *staged) (err error) {
	x.Cut = nil
	if x.Found, err = search.NewExploration(x.Scenario, x.options.From, x.options.Seeds, search.Whole); err != nil {
		return err
	}
	if err := x.Found.RunBy(ctx, hands, nil); err != nil {
		return err
	}
	x.Cut, err = x.Found.CutBy(ctx, x.Scenario, hands)
	return err
}

func (x *exploration) state() (s state) {
	if x.Found == nil {
		return s
	}
	s.Runs, s.Sure = x.Found.Done(), math.MaxInt
	for _, law := range x.Found.Laws {
		if slices.Contains(x.Scenario.Promise.Laws, law.Law) {
			s.Sure = min(s.Sure, law.Exercised())
		}
	}
	if s.Sure == math.MaxInt {
		s.Sure = 0
	}
	for _, f := range x.Found.Findings {
		promised := x.Scenario.Promise.Covers(f.Law, f.Cause)
		s.Findings = append(s.Findings, finding{Finding: f, Promised: promised})
		if promised {
			s.Sure = 0
		}
	}
	return s
}

func (x *exploration) conclude(ctx context.Context, f output.Frame) error {
	x.Frame = f
	if err := x.Prepare(); err != nil {
		return err
	}
	defer x.Close()
	before, err := task.ReadResult(x.Out, task.ExplorationFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%w; name another folder with --out", err)
	default:
		if err := before.Matches(x.Scenario); err != nil {
			return fmt.Errorf("%s %w; name another folder with --out", x.Out, err)
		}
	}
	if err := x.Spare(); err != nil {
		return err
	}
	x.Save()
	return x.Conclude(ctx)
}

func (x *exploration) story(f finding) (*document.Document, error) {
	prepare := search.NewPlans
	if search.Guides(x.Scenario, x.options.Seeds) {
		prepare = search.NewGuidedPlans
	}
	plans, err := prepare(x.Scenario)
	if err != nil {
		return nil, err
	}
	result, err := scenarios.NewRunner(x.Scenario).Run(plans.Plan(f.First))
	if err != nil {
		return nil, err
	}
	run, err := single.Explain(x.Scenario, result, x.Scenario.Judge(result))
	if err != nil {
		return nil, err
	}
	return run.Document(), nil
}

func (x *exploration) close() {
	x.Test.Close()
	if x.binary != nil {
		x.binary.Close()
	}
	if x.folder != nil {
		x.folder.Close()
	}
}

// complete has the methods shared by those subjects that have no findings until they are finished.
type complete struct{}

func (complete) endable(string) bool { return true }

func (complete) state() state { return state{} }

func (complete) story(finding) (*document.Document, error) {
	return nil, errors.New("nothing can be shown before the search is over")
}

func (complete) close() {}

// verification verifies a scenario. It implements subject.
type verification struct {
	complete
	scenario *scenarios.Scenario
	options  verify.Options
	repeat   string
	found    *verify.Verification
}

// verified contains a verification's options, and the command that performs it in a single process.
type verified struct {
	verify.Options
	Repeat string `json:"repeat"`
}

func openVerification(e entry, content []byte) (subject, error) {
	s, err := scenarioOf(e, content)
	if err != nil {
		return nil, err
	}
	var o verified
	err = json.Unmarshal(e.Options, &o)
	return &verification{scenario: s, options: o.Options, repeat: o.Repeat}, err
}

func (v *verification) probes(seeds ...uint64) ([]probe, error) { return probes(v.scenario, seeds...) }

func (v *verification) worker() (campaign.Worker, error) {
	return verify.NewWorker(v.scenario, v.options)
}

func (v *verification) search(ctx context.Context, hands *staged) error {
	return wholly(ctx, hands, func(ctx context.Context, hands campaign.Hands) (err error) {
		o := v.options
		o.Hands = hands
		v.found, err = verify.Scenario(ctx, v.scenario, o)
		return err
	})
}

func (v *verification) conclude(_ context.Context, f output.Frame) error {
	j := task.Verification{Frame: f, Repeat: v.repeat}
	if err := j.Prepare(); err != nil {
		return err
	}
	defer j.Close()
	return j.Conclude(v.found)
}

// corpusRun runs the corpus. It implements subject.
type corpusRun struct {
	complete
	options corpus.Options
	found   *corpus.Corpus
}

func openCorpus(e entry, _ []byte) (subject, error) {
	c := &corpusRun{}
	return c, json.Unmarshal(e.Options, &c.options)
}

func (c *corpusRun) probes(seeds ...uint64) (all []probe, err error) {
	for _, name := range corpus.Names() {
		s, err := corpus.Lock(name)
		if err != nil {
			return nil, err
		}
		some, err := probes(s, seeds[len(all)%len(seeds)])
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) == len(seeds) {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%d probes are too many", len(seeds))
}

func (c *corpusRun) worker() (campaign.Worker, error) { return corpus.NewWorker(c.options), nil }

func (c *corpusRun) search(ctx context.Context, hands *staged) error {
	return wholly(ctx, hands, func(ctx context.Context, hands campaign.Hands) (err error) {
		o := c.options
		o.Hands = hands
		c.found, err = corpus.Run(ctx, o)
		return err
	})
}

func (c *corpusRun) conclude(_ context.Context, f output.Frame) error {
	j := task.Corpus{Frame: f, Options: c.options}
	if err := j.Prepare(); err != nil {
		return err
	}
	defer j.Close()
	return j.Conclude(c.found)
}
