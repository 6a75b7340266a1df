package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// request contains what the user requests on the command line.
type request struct {
	rules    rules
	patience time.Duration
	test     string
	from     uint64
	seeds    int
	others   [5]bool // whether each of the flags in otherKinds is set
	sweep    task.SweepAsked
	starts   int
	unaimed  bool
	sound    int
	options  verify.Options
}

// patience is the default time without a heartbeat after which a process is considered dead. Each worker writes three
// heartbeats in this time.
const patience = 10 * time.Second

func (r *request) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.test, "run", "", task.TestUsage)
	f.Uint64Var(&r.from, "seed", 1, "the first seed")
	output.Count(c, &r.seeds, "seeds", 0, 1, 0,
		"number of runs of each scenario (default 1000; if --until-time or --until-findings ends the campaign,\n"+
			"80 million; if --until-rate does, as many as it needs; "+
			"with --sweep, --advise, --compare or --corpus,\nthe default of that command)")
	f.DurationVar(&r.rules.Time, "until-time", 0, "stop after this time, for example 8h")
	output.Count(c, &r.rules.Findings, "until-findings", 0, 1, 0,
		"stop after this many distinct violations of promised laws")
	f.Float64Var(&r.rules.Rate, "until-rate", 0,
		"stop when, with 95% confidence, fewer than this fraction of runs break a promise, for example 1e-8")
	for i, w := range otherKinds {
		f.BoolVar(&r.others[i], w.kind, false, w.usage)
	}
	output.Count(c, &r.options.Faults, "faults", 1, 0, verify.MaxFaults,
		"with --verify: maximum number of faults in one run")
	output.Count(c, &r.options.Delays, "delays", 0, 1, 0,
		"with --verify: number of assignments of network delays to try (default 2, or 1 with several faults)")
	f.BoolVar(&r.options.Orders, "orders", false, "with --verify: also try two other orders of simultaneous messages")
	f.BoolVar(&r.options.AllEnds, "all-ends", false,
		"with --verify: try later faults after each possible end of an earlier fault, "+
			"even if several of these ends lead to the same events")
	f.BoolVar(&r.options.Requests, "requests", false,
		"with --verify: try each possible fault alone, in the run that --seed selects, with that run's delays")
	f.BoolVar(&r.options.KeepFaults, "keep-faults", false,
		"with --verify: keep the scenario's own faults in every run")
	output.Count(c, &r.options.Budget, "budget", 0, 1, 0,
		"with --verify: stop after this many runs, with the result undecided")
	output.Count(c, &r.starts, "starts", 1, 1, 0,
		"with --corpus: number of start seeds for each mutant")
	f.BoolVar(&r.unaimed, "unaimed", false, "with --corpus: search each mutant a second time, "+
		"with purely random faults")
	f.IntVar(&r.sound, "sound", 0, "with --corpus: total number of runs of the sound locks (default none)")
	r.sweep.Register(c)
	f.DurationVar(&r.patience, "patience", patience, "replace a worker process that has not responded for this long")
}

// otherKinds lists the kinds of work other than an exploration. Each is requested by a flag with the same name.
var otherKinds = [5]struct{ kind, usage string }{
	{"verify", "verify instead of exploring: try every way of placing up to --faults faults"},
	{"corpus", "run the corpus of broken locks instead of scenario files"},
	{"sweep", "sweep instead of exploring: vary one or two settings with --vary"},
	{"advise", "look for advice instead of exploring: try changes to the lock, with no limit on processor time"},
	{"compare", "compare all locks instead of exploring files"},
}

// given lists the flags that are allowed with each kind of request.
var given = map[string][]string{
	"explore": {"run", "seed", "seeds", "until-time", "until-findings", "until-rate"},
	"verify": {"faults", "delays", "orders", "all-ends", "requests", "keep-faults", "seed", "budget",
		"until-time"},
	"corpus":  {"seed", "seeds", "until-time", "starts", "unaimed", "sound"},
	"sweep":   {"set", "vary", "assert", "law", "resolution", "seed", "seeds", "edge-seeds", "until-time"},
	"advise":  {"seed", "seeds", "until-time"},
	"compare": {"seeds", "until-time"},
}

func (r *request) kind() string {
	if i := slices.Index(r.others[:], true); i >= 0 {
		return otherKinds[i].kind
	}
	return "explore"
}

// ofFiles reports whether the request is for scenarios that the user names.
func (r *request) ofFiles() bool { return r.kind() != "corpus" && r.kind() != "compare" }

// check returns an error if the flags or arguments contradict each other or are out of range.
func (r *request) check(c *cobra.Command, files []string) error {
	kind := r.kind()
	goes := map[string]bool{}
	for _, flag := range given[kind] {
		goes[flag] = true
	}
	for _, other := range slices.Sorted(maps.Keys(given)) {
		for _, flag := range given[other] {
			if !goes[flag] && c.Flags().Changed(flag) {
				with := "--" + kind
				if kind == "explore" {
					with = "an exploration"
				}
				return fmt.Errorf("--%s cannot be used with %s", flag, with)
			}
		}
	}
	for i, w := range otherKinds {
		if r.others[i] && w.kind != kind {
			return fmt.Errorf("--%s cannot be used with --%s", w.kind, kind)
		}
	}
	switch {
	case !r.ofFiles() && len(files) > 0:
		return fmt.Errorf("--%s runs its own scenarios and takes no arguments", kind)
	case r.ofFiles() && len(files) == 0:
		return fmt.Errorf("%s needs scenarios, by name or file, or --corpus or --compare\nsee: %s -h",
			c.Name(), c.CommandPath())
	case kind == "advise" && r.seeds > task.MostAdviceSeeds:
		return fmt.Errorf("--seeds must be at most %d with --advise, not %d", task.MostAdviceSeeds, r.seeds)
	case r.rules.Time < 0:
		return fmt.Errorf("--until-time must be above zero, not %s", r.rules.Time)
	case r.rules.Rate != 0 && !(r.rules.Rate >= smallestRate && r.rules.Rate < 1):
		return fmt.Errorf("--until-rate must be at least %g and below 1, not %g", smallestRate, r.rules.Rate)
	case r.patience < time.Second:
		return fmt.Errorf("--patience must be at least 1s, not %s", r.patience)
	}
	if err := task.OneRun(&r.options, c.Flags().Changed); err != nil {
		return err
	}
	if r.settle(c); kind == "corpus" {
		return task.CheckCorpus(r.corpusOptions())
	}
	return nil
}

// smallestRate is the minimum for --until-rate. It takes about 3·10^15 runs without a violation to show that rate.
const smallestRate = 1e-15

// enough is the default number of seeds for an exploration that a rule will stop. It limits how many seeds each worker
// gets at a time, because that number grows with the number of seeds. A portion counts only when it is complete, so it
// must not be too large.
const enough = 80_000_000

// settle sets the defaults that depend on other flags.
func (r *request) settle(c *cobra.Command) {
	switch {
	case r.seeds > 0:
	case r.kind() != "explore":
		r.seeds = cmp.Or(task.Seeds[r.kind()], task.Seeds["explore"]) // a verification only probes with them
	case r.rules.Rate > 0: // more than the 3/rate runs needed, because runs that do not exercise a law do not count
		r.seeds = int(30 / r.rules.Rate)
	case r.rules.Time > 0 || r.rules.Findings > 0:
		r.seeds = enough
	default:
		r.seeds = task.Seeds["explore"]
	}
	if r.kind() == "corpus" && !c.Flags().Changed("seed") {
		r.from = 0
	}
	if r.options.Seed = r.from; r.options.Delays == 0 && !r.options.Requests {
		r.options.Delays = 2
		if r.options.Faults > 1 {
			r.options.Delays = 1
		}
	}
}

// entries creates an order's entries and reads their files.
func (r *request) entries(c *cobra.Command, names []string) (all []entry, files map[string][]byte, err error) {
	files = map[string][]byte{}
	if !r.ofFiles() {
		e, err := r.ownEntry()
		return []entry{e}, files, err
	}
	for i, name := range names {
		e, content, err := r.entry(c, name)
		if err != nil {
			return nil, nil, err
		}
		for _, before := range all {
			if before.Name == e.Name {
				return nil, nil, fmt.Errorf("%s and %s are both named %s", cmp.Or(before.Path, before.Name), name,
					e.Name)
			}
		}
		e.File = fmt.Sprintf("%d-%s", i+1, e.Name)
		files[e.File] = content
		all = append(all, e)
	}
	return all, files, nil
}

// entry creates the entry for a scenario or package.
func (r *request) entry(c *cobra.Command, name string) (e entry, content []byte, err error) {
	s, test, err := task.OpenTest(name, r.test)
	if err != nil {
		return e, nil, err
	}
	defer test.Close()
	e = entry{Kind: r.kind(), Name: s.Name, Path: s.Path}
	content = s.Text()
	if test != nil && e.Kind != "explore" {
		return e, nil, fmt.Errorf("--%s cannot be used with a Go package", e.Kind)
	}
	if test != nil {
		e.Kind, e.System = "package", system
		if content, err = os.ReadFile(test.Binary()); err != nil {
			return e, nil, err
		}
	}
	options, err := r.optionsFor(c, name, s)
	if err != nil {
		return e, nil, fmt.Errorf("%s: %w", name, err)
	}
	if e.Options, err = json.Marshal(options); err != nil {
		return e, nil, err
	}
	e.Probes, err = probes(s, r.probed()...)
	return e, content, err
}

// optionsFor returns an entry's options for the scenario s. It returns an error if they cannot be used.
func (r *request) optionsFor(c *cobra.Command, name string, s *scenarios.Scenario) (options any, err error) {
	switch r.kind() {
	case "verify":
		_, err = verify.NewWorker(s, r.options)
		return verified{r.options, r.repeat(c, name)}, err
	case "sweep":
		w := task.Sweep{Asked: r.sweep}
		w.Asked.Target, w.Asked.Seed, w.Asked.Seeds = name, r.from, r.seeds
		if err = w.Settle(s); err == nil {
			_, err = w.Subject.NewWorker(w.Options)
		}
		return w.Asked, err
	case "advise":
		o := advised{r.from, r.seeds}
		_, err = advise.NewWorker(s, advise.Options{From: o.From, Seeds: o.Seeds})
		return o, err
	}
	_, err = search.NewExploration(s, r.from, r.seeds, search.Whole)
	return seeds{r.from, r.seeds, r.test}, err
}

// probed returns the seeds of the runs whose digests the order contains (see probe): the first two seeds and the last.
// If there are fewer than three seeds, it returns only the first.
func (r *request) probed() []uint64 {
	if r.seeds < 3 || uint64(r.seeds) > math.MaxUint64-r.from {
		return []uint64{r.from}
	}
	return []uint64{r.from, r.from + 1, r.from + uint64(r.seeds) - 1}
}

// ownEntry returns the entry for the corpus or for the comparison of all locks.
func (r *request) ownEntry() (e entry, err error) {
	e = entry{Kind: r.kind(), Name: r.kind()}
	var options any = r.corpusOptions()
	if e.Kind == "compare" {
		options = compared{r.seeds}
	}
	if e.Options, err = json.Marshal(options); err != nil {
		return e, err
	}
	s, err := kindOf(e.Kind).open(e, nil)
	if err != nil {
		return e, err
	}
	defer s.close()
	e.Probes, err = s.probes(r.probed()...)
	return e, err
}

func (r *request) corpusOptions() *corpus.Options {
	return &corpus.Options{First: r.from, Seeds: r.seeds, Starts: r.starts, Unaimed: r.unaimed, Sound: r.sound}
}

// repeat returns the command that performs the same verification in one process. The command does not have a time
// limit, because a single process takes longer.
func (r *request) repeat(c *cobra.Command, name string) string {
	flags := slices.DeleteFunc(slices.Clone(given["verify"]), func(flag string) bool { return flag == "until-time" })
	call := []string{output.Program(), "verify", text.ShellWord(name)}
	return strings.Join(append(call, output.Given(c.Flags(), flags...)...), " ")
}

// nameFor returns a campaign's default name.
func nameFor(all []entry) string {
	name := all[0].Name
	if n := len(all) - 1; n > 0 {
		name = fmt.Sprintf("%s-and-%d-more", name[:min(len(name), 40)], n)
	}
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(name[:min(len(name), 60)], "-")
}

func folderFor(name string) string { return filepath.Join("_runs", "campaign-"+name) }
