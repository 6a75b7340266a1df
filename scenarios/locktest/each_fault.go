package locktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/verify"
)

// undisturbed is the seed of the fault-free run to which Config.EachFault adds single faults.
const undisturbed = 1

// eachFaultRefused returns an error message if c sets a field that cannot be combined with EachFault, and otherwise "".
func (c *Config) eachFaultRefused() string {
	switch {
	case c.EachFault && c.Plan != nil:
		return "Config.Plan cannot be used with EachFault: each run has a single fault"
	case c.EachFault && c.Seeds != 0:
		return "Config.Seeds cannot be used with EachFault: all faults are tried in a run with the same seed"
	}
	return ""
}

func (c *Config) word() string {
	if c.EachFault {
		return "fault"
	}
	return "seed"
}

// name returns the name of a run's subtest, for example "seed=168".
func (p *parent) name(seed uint64) string { return fmt.Sprintf("%s=%d", p.config.word(), seed) }

// listed describes the single faults that can be added to the undisturbed run, as enumerated by one worker.
type listed struct {
	Longest []string // the longest fault at each place (start and target); place n is element n-1
	Claim   verify.Claim
	Differs bool // a second run without faults differed from the first
	Unnamed int  // number of places skipped because the library's runs differ and the faults there name no message
	file    string
}

// enumerate makes a worker list every place (start and target) where it can inject a single fault. It returns the
// numbers of all places, or of the first few with -short. If asked is not empty, it returns the numbers in asked. It
// returns nil if the worker fails or if a number in asked does not exist.
func (p *parent) enumerate(asked []uint64) []uint64 {
	ctx, cancel := p.contextFor(runsShare)
	defer cancel()
	failed := false
	end := p.do(ctx, task{Test: p.t.Name(), Call: p.call, List: true}, func(r report) {
		if r.Problem != "" {
			p.problem(r.Problem)
			failed = true
		}
		if r.Listed != nil {
			p.listed = r.Listed
		}
	})
	switch {
	case failed:
		return nil
	case p.listed == nil && ctx.Err() != nil:
		p.problem(timeUp + " before the run without faults had ended")
		return nil
	case p.listed == nil:
		p.problem("the run without faults failed: " + end.Error())
		return nil
	}
	longest, err := json.Marshal(p.listed.Longest)
	if err == nil {
		const name = "places.json"
		folder := p.t.TempDir()
		p.listed.file = filepath.Join(folder, name)
		err = save(folder, map[string]string{name: string(longest)})
	}
	if err != nil {
		p.problem(err.Error())
		return nil
	}
	n := len(p.listed.Longest)
	if asked != nil {
		if asked[0] < 1 || asked[0] > uint64(n) {
			p.problem(fmt.Sprintf("there is no fault %d: they are numbered from 1 to %d", asked[0], n))
			return nil
		}
		return asked
	}
	if testing.Short() {
		n = min(n, shortSeeds)
	}
	for i := range n {
		asked = append(asked, uint64(i)+1)
	}
	return asked
}

// claim says which faults were enumerated and how many were tried. It returns nil if faults were drawn at random.
func (p *parent) claim() document.Facts {
	if p.listed == nil {
		return nil
	}
	l := p.listed
	facts := document.Facts{{Name: "tried",
		Value: fmt.Sprintf("each possible fault by itself, in the run with seed %d: %s, %s", undisturbed,
			text.Count(len(l.Longest), "place"), text.Count(len(p.runs), "run"))}}
	if p.finished < len(l.Longest) {
		facts[0].Value = fmt.Sprintf("only some of the possible faults, each by itself, in the run with seed %d, "+
			"at %d of %s: %s",
			undisturbed, p.finished, text.Count(len(l.Longest), "place"), text.Count(len(p.runs), "run"))
	}
	missed := 0
	runs := map[nemesis.Kind]int{}
	for _, r := range p.runs {
		runs[r.Kind]++
		if len(r.Missed) > 0 {
			missed++
		}
	}
	if l.Differs {
		facts = append(facts, document.Fact{Name: "differs", Value: fmt.Sprintf(
			"two fault-free runs with seed %d differ: "+
				"the library draws random numbers that cannot be seeded, or depends on how goroutines are scheduled. "+
				"Only faults that name a message are tried, which leaves out %s", undisturbed,
			text.Count(l.Unnamed, "place"))})
	}
	if missed > 0 {
		facts = append(facts, document.Fact{Name: "never struck", Value: fmt.Sprintf(
			"in %s, the message that the fault names was never sent", text.Count(missed, "run"))})
	}
	for i, k := range l.Claim.Kinds {
		l.Claim.Tallies[i].Schedules = runs[k]
	}
	return append(facts, l.Claim.Facts()...)
}

// fault returns the single fault in a run that broke a law or failed. It returns "" if there is none or
// Config.EachFault is not set.
func (p *parent) fault(r *ran) string {
	plan, err := nemesis.ParsePlan("plan", []byte(r.Plan))
	if p.listed == nil || err != nil || len(plan.Faults) == 0 {
		return ""
	}
	return plan.Faults[0].String()
}

// singles holds the single faults that a worker tries.
type singles struct {
	*verify.Singles
	numbers map[string]int // number of each place, by the longest fault there
	places  []string       // the longest fault at each place, as listed by the worker that enumerated them
	seen    map[finding]bool
}

// enumerate performs the fault-free run and lists each single fault that can occur in it. places is the path of a file
// with the places (fault starts and targets) that an earlier worker listed. If places is "", enumerate does nothing.
func (w *worker) enumerate(places string) error {
	if places == "" {
		return nil
	}
	all, err := verify.NewSingles(w.scenario, undisturbed)
	if err != nil {
		return err
	}
	w.singles = &singles{Singles: all, numbers: map[string]int{}, seen: map[finding]bool{}}
	for i, f := range all.Longest() {
		w.singles.numbers[f.String()] = i
	}
	longest, err := os.ReadFile(places)
	if err != nil {
		return err
	}
	return json.Unmarshal(longest, &w.singles.places)
}

// list sends the parent process the single faults that can be added to the undisturbed run.
func (w *worker) list() {
	first, err := verify.NewSingles(w.scenario, undisturbed)
	if err != nil {
		say(report{Problem: "the run without faults failed: " + w.failure(err)})
		return
	}
	again, err := verify.NewSingles(w.scenario, undisturbed)
	if err != nil {
		say(report{Problem: "the run without faults failed: " + w.failure(err)})
		return
	}
	l := &listed{Claim: first.Claim, Differs: first.Digest != again.Digest}
	for _, f := range first.Longest() {
		if l.Differs && !f.Trigger.Message.Named() {
			l.Unnamed++
			l.Claim.Tallies[slices.Index(l.Claim.Kinds, f.Kind)].Starts--
			continue
		}
		l.Longest = append(l.Longest, f.String())
	}
	say(report{Listed: l})
}

// errDoubt stops the remaining runs at a place (a fault's start and target) because one of the results cannot be
// trusted.
var errDoubt = errors.New("the run failed, perhaps because of what an earlier run left behind")

// errNoCourse stops the remaining runs at a place (a fault's start and target) because a run failed and the other runs
// depend on its history.
var errNoCourse = errors.New("it failed")

// tryPlace performs and reports one run for each single fault at a place (start and target). ok is false if a run's
// result cannot be trusted.
func (w *worker) tryPlace(number uint64) (ok bool) {
	at, known := w.singles.numbers[w.singles.places[number-1]]
	if !known { // the library's runs differ
		missed := nemesis.Missed{Line: w.singles.places[number-1]}
		say(report{Ran: &ran{Seed: number, Missed: []nemesis.Missed{missed}}})
		return true
	}
	err := w.singles.Try(at, func(p nemesis.Plan, run func() (scenarios.Result, error)) error {
		say(report{Began: &number, Plan: p.String()})
		result, err := run()
		r, _ := w.judge(number, result, err)
		if w.doubts(&r) {
			return errDoubt
		}
		r.Kind = p.Faults[0].Kind
		if r.bad() {
			r.Plan = p.String()
			r.Differs = w.differs(&r, p)
		}
		say(report{Ran: &r})
		if r.Failure != "" {
			return errNoCourse
		}
		return nil
	})
	return !errors.Is(err, errDoubt)
}

// differs repeats a run that failed or has a finding that no earlier run had. It reports whether the two runs of the
// plan differed.
func (w *worker) differs(r *ran, p nemesis.Plan) bool {
	found := map[finding]bool{}
	for _, b := range r.Broken {
		found[b.finding] = true
	}
	isNew := func(f finding) bool { return !w.singles.seen[f] }
	if r.Failure == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(found)), isNew) {
		return false
	}
	maps.Copy(w.singles.seen, found)
	result, err := w.runner.Run(p)
	again, _ := w.judge(r.Seed, result, err)
	return again.Digest != r.Digest
}
