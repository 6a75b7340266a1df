package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// verifyJob is one invocation of "fencepost verify".
type verifyJob struct {
	task.Verification
	options  verify.Options
	kinds    []string
	time     time.Duration
	client   string
	target   string // the scenario's name or file, as given
	scenario *scenarios.Scenario
	flags    *pflag.FlagSet
}

func newVerify() *cobra.Command {
	j := &verifyJob{}
	c := &cobra.Command{
		Use:               "verify SCENARIO|FILE",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Try every way of placing up to K faults in a small scenario",
		Long: `Replaces the scenario's faults by every placement of up to --faults faults, the fewest first, and
stops at the first placement that breaks a law that the scenario promises. Each possible start of a
fault is tried, and each end at which something changes. Kinds of faults with too many placements,
such as drift, are tried at random. The output says exactly what was tried and what that covers. Use
it for small scenarios, whose clients seldom try again: let the back-off be a third of the TTL or more.

With --requests it makes one run without faults, that of --seed, and then tries each single fault in
it: each request and each reply lost, or delayed past each threshold; each process paused, each server
crashed and each connection cut at each of its events. These are some thousand runs. They say nothing
about other seeds.

With --client, which requires --requests, each client is the program CMD, in virtual time. If a program
ends with an error instead of reporting FAILED, laws stay undecided.

Exit 0 if no placement breaks a promise; 1 if one does; 2 for bad input; 3 if the budget, the time or
Ctrl-C ended it first, or if a promise is undecided.`,
		Example: `  fencepost verify my-lock.yaml
  fencepost verify my-lock.yaml --faults 2
  fencepost verify my-lock.yaml --requests
  fencepost verify my-lock.yaml --requests --client '/usr/bin/python3 worker.py'
  fencepost verify my-lock.yaml --kinds pause,crash --delays 6 --orders`,
		Args: oneArgument("a scenario's name or file"),
		RunE: func(c *cobra.Command, args []string) error {
			j.target, j.flags = args[0], c.Flags()
			return j.run()
		},
	}
	f, o := c.Flags(), &j.options
	output.Count(c, &o.Faults, "faults", 1, 0, verify.MaxFaults,
		fmt.Sprintf("maximum number of faults in one run, 0 to %d", verify.MaxFaults))
	f.StringSliceVar(&j.kinds, "kinds", nil,
		"try only faults of these `KINDS`, for example pause,crash (default: all that matter)")
	output.Count(c, &o.Delays, "delays", 0, 1, 0,
		"number of assignments of network delays to try (default 2, or 1 with several faults)")
	f.BoolVar(&o.Orders, "orders", false, "also try two other orders of simultaneous messages")
	f.BoolVar(&o.AllEnds, "all-ends", false, "try later faults after each possible end of an earlier fault, "+
		"even if several of these ends lead to the same events")
	f.BoolVar(&o.Requests, "requests", false,
		"try each possible fault alone, in the run that --seed selects, with that run's delays")
	f.BoolVar(&o.KeepFaults, "keep-faults", false, "keep the scenario's own faults in every run")
	f.StringVar(&j.client, "client", "", task.ClientUsage)
	f.Uint64Var(&o.Seed, "seed", 1, "seed for back-offs and owner values")
	output.Count(c, &o.Budget, "budget", 0, 1, 0,
		"stop after this many runs, with the result undecided (default: no limit)")
	f.DurationVar(&j.time, "time", 0,
		"stop after this time, with the result undecided, for example 2m (default: no limit)")
	output.Workers(c, &o.Workers, "how many runs to execute at once")
	f.StringVar(&j.Out, "out", "", "write verdict and counterexample to `DIR` (default _runs/verify-SCENARIO-…)")
	j.Register(c, "write a report to `FILE`, with the picture of a counterexample")
	return c
}

// run first checks that it can read its input and write its output. It then verifies, and writes and reports the
// results.
func (j *verifyJob) run() error {
	defer j.Close()
	defer func() { j.Guest.Close() }()
	if err := j.prepare(); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	if j.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.time)
		defer cancel()
	}
	j.options.Progress = j.Progress()
	v, err := verify.Scenario(ctx, j.scenario, j.options)
	if err != nil {
		return err
	}
	return j.Conclude(v)
}

// prepare reads the flags. Before anything is run, it checks that the findings can be written.
func (j *verifyJob) prepare() error {
	o := &j.options
	if j.time < 0 {
		return fmt.Errorf("--time must be above zero, not %s", j.time)
	}
	var err error
	if j.scenario, j.Guest, err = task.OpenWith(j.target, "", j.client); err != nil {
		return err
	}
	if err := task.OneRun(o, j.flags.Changed); err != nil {
		return err
	}
	scope := verify.ScopeOf(j.scenario)
	if o.Requests {
		scope = scope.Enumerated()
	}
	if o.Kinds, err = chosenKinds(scope, j.kinds); err != nil {
		return fmt.Errorf("--kinds: %w", err)
	}
	if o.Delays == 0 && !o.Requests {
		o.Delays = 2
		if o.Faults > 1 {
			o.Delays = 1
		}
	}
	if j.Out == "" {
		j.Out = task.FolderFor("verify-"+j.scenario.Name, j.scenario,
			append(j.given(), output.Given(j.flags, "client")...)...)
	}
	j.Repeat = j.repeat()
	return j.Prepare()
}

// chosenKinds parses the kinds of faults to try. If names is empty, it returns all kinds. A space in a name may be
// written as "-".
func chosenKinds(scope verify.Scope, names []string) (chosen []nemesis.Kind, err error) {
	var words []string
	for _, k := range nemesis.Kinds {
		words = append(words, k.String())
	}
	for _, name := range names {
		name = strings.ReplaceAll(strings.TrimSpace(name), "-", " ")
		i := slices.Index(words, name)
		if i < 0 {
			return nil, fmt.Errorf("unknown kind of fault %q%s", name, nearestWord(name, words))
		}
		k := nemesis.Kinds[i]
		if !scope.Tries(k) {
			return nil, fmt.Errorf("%s is not tried: %s", k, scope.WhyNot(k))
		}
		if !slices.Contains(chosen, k) {
			chosen = append(chosen, k)
		}
	}
	return chosen, nil
}

// nearestWord returns the end of an error message about an unknown word. It suggests the most similar word, or lists
// all words if none is similar.
func nearestWord(wrong string, words []string) string {
	if near := nearest.Word(wrong, words); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return "; there are: " + strings.Join(words, ", ")
}

// repeat returns the command that repeats the verification.
func (j *verifyJob) repeat() string {
	return strings.Join(append([]string{output.Program(), "verify", text.ShellWord(j.target)}, j.given()...), " ") +
		j.Guest.With()
}

// given returns the flags that describe what is verified, as they were typed, except for the clients' command.
func (j *verifyJob) given() []string {
	return output.Given(j.flags, "faults", "kinds", "delays", "orders", "all-ends", "requests", "keep-faults", "seed",
		"budget", "time")
}
