package locktest

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim"
)

// Report is the result of a call to Explore.
type Report struct {
	// Runs is the number of runs. There is one per seed or, with Config.EachFault, one per fault. Runs is 0 if the
	// trial run (RunTrial) failed. In that case, the test fails.
	Runs int
	// Breaches are the distinct violations of promised laws. Violations of ownership come first, then violations of the
	// other laws in the order of checker.Laws, and finally violations that no lock with a lease can prevent.
	Breaches []Breach
	// Failures are the runs that could not be judged: the lock's own code panicked, hung or left the simulation.
	Failures []Failure
	// Ignored is the number of runs that could not be judged because of a function that Config.IgnoredGoroutines lists.
	Ignored int
	// DifferingSeeds are the seeds whose run had a different result when it was repeated. A run is repeated after it
	// has failed, or before its plan is varied (mix.guided). If the result differs in the latter case, the remaining
	// plans of the same block of seeds are drawn without guidance.
	DifferingSeeds []uint64
	// Confidence is a sentence that says how rare violations of Config.Laws must be if the runs did not show any: "no
	// violation in 200 schedules: with 95% confidence, fewer than 1 in 67 schedules of this mix breaks a promise". The
	// bound is campaign.UpperBound, whose comment states its assumptions. Runs whose plans depend on other runs do not
	// count. Confidence is empty if each law was violated, if none was exercised, if there were too few runs for a
	// bound, or with Config.EachFault.
	Confidence string
	// Situations counts, for each situation that a lock can get into ("a key expired while its holder was in its
	// critical section"), the runs in which it occurred. A situation that occurred in at most one run was hardly
	// tested.
	Situations map[string]int
	// UnsimulatedRequests counts, for each request that the simulated servers do not implement, the runs in which they
	// rejected it. The map's keys are request names. After rejecting a request, the server closed the connection. What
	// the library did after that says nothing about its behavior with real servers.
	UnsimulatedRequests map[string]int
	// CPU is the CPU time used by the processes that performed the runs, including the time they took to start. It is
	// measured by the host.
	CPU time.Duration
	// PeakMemory is the largest peak memory use, in bytes, of the processes that performed the runs. It is measured by
	// the host. It is 0 if it is unknown.
	PeakMemory int64

	parent *parent
}

// Breach is one distinct violation of a law.
type Breach struct {
	Law   checker.Law
	Cause checker.Cause
	// Runs is the number of runs that show the breach. Seed is the seed of the first of these runs. With
	// Config.EachFault, all runs whose fault has the same start and the same target share one seed. They differ only in
	// when the fault ends.
	Runs int
	Seed uint64
	// Story explains what happened in the first run that shows the breach.
	Story string
}

// Failure is a run that could not be judged.
type Failure struct {
	Seed uint64
	Text string
}

// ShrunkRun is the smallest run that Shrink has found for a breach.
type ShrunkRun struct {
	// Test is the name of the test that the command in the saved plan runs. Shrink sets it to the test that found the
	// run. If another test accepts -locktest.plan instead, set Test to its name before calling Save.
	Test           string
	parts          search.PlanParts // the plan file that Save writes
	Plan, Scenario string           // contents of the plan file, for a test in its folder, and of the scenario file
	Text, Page     string           // the report of the run, for a terminal and as HTML
	Minimal        bool             // whether nothing more can be removed
}

// Save writes the plan and Scenario to a folder, under the names search.PlanFile and search.ScenarioFile. Config.Replay
// can run the plan from there. The command in the saved plan names Test and the plan's path, unlike that in Plan.
func (s *ShrunkRun) Save(folder string) error {
	return save(folder, map[string]string{search.PlanFile: s.parts.Text(ReplayCommand(s.Test, folder)),
		search.ScenarioFile: s.Scenario})
}

// Explore performs the same runs as Run and returns their result, for a test that examines the result itself. It fails
// the test if the Config cannot be run, or if there is a problem that does not concern a single run. It does not fail
// the test for breaches and failures.
//
// ok is false in a process that executes the test again to perform runs. In such a process, the test does not get a
// report, but it must call Run and Explore in the same order as the original process.
func Explore(t *testing.T, c Config) (r *Report, ok bool) {
	t.Helper()
	p := examine(t, c)
	if p == nil {
		return nil, false
	}
	p.reportProblems()
	r = &Report{Runs: len(p.runs), Confidence: p.confidence(), Situations: p.situations(),
		UnsimulatedRequests: p.unsimulated(), CPU: p.cpu, PeakMemory: p.memory, parent: p}
	for _, run := range p.runs {
		if run.Ignored {
			r.Ignored++
		} else if run.Failure != "" {
			r.Failures = append(r.Failures, Failure{run.Seed, run.Failure})
		}
		if run.Differs {
			r.DifferingSeeds = append(r.DifferingSeeds, run.Seed)
		}
	}
	r.DifferingSeeds = append(r.DifferingSeeds, p.differ...)
	slices.Sort(r.DifferingSeeds)
	r.DifferingSeeds = slices.Compact(r.DifferingSeeds)
	r.Breaches = p.breaches()
	return r, true
}

// breaches merges the groups that have the same law and cause, so that each combination of law and cause occurs once.
func (p *parent) breaches() (all []Breach) {
	for _, g := range p.groups() {
		b := Breach{Law: g.Law, Cause: g.Cause, Runs: g.runs, Seed: g.first.Seed, Story: g.Story}
		i := slices.IndexFunc(all, func(o Breach) bool { return o.Law == b.Law && o.Cause == b.Cause })
		switch {
		case i < 0:
			all = append(all, b)
		case all[i].Seed < b.Seed:
			all[i].Runs += b.Runs
		default:
			b.Runs += all[i].Runs
			all[i] = b
		}
	}
	return all
}

// groupOf returns a group that consists of a breach and the run with its seed. If this run does not show the breach,
// the group contains only the run's seed.
func (p *parent) groupOf(b Breach) group {
	for _, run := range p.runs {
		for _, x := range run.Broken {
			if run.Seed == b.Seed && x.Law == b.Law && x.Cause == b.Cause {
				return group{broken: x, first: run}
			}
		}
	}
	return group{broken: broken{finding: finding{Law: b.Law, Cause: b.Cause}}, first: ran{Seed: b.Seed}}
}

// Violated returns the number of runs in which a law was violated, whatever the cause.
func (r *Report) Violated(l checker.Law) int { return r.outcome(l, checker.Violated) }

// Held returns the number of runs in which a law held. Runs in which the law was not exercised count neither as Held
// nor as Violated.
func (r *Report) Held(l checker.Law) int { return r.outcome(l, checker.Holds) }

// Seeds returns the seeds of all runs that show a breach, in ascending order. The first is b.Seed.
func (r *Report) Seeds(b Breach) (all []uint64) {
	for _, run := range r.parent.runs {
		if slices.ContainsFunc(run.Broken, func(x broken) bool { return x.Law == b.Law && x.Cause == b.Cause }) {
			all = append(all, run.Seed)
		}
	}
	return all
}

func (r *Report) outcome(l checker.Law, o checker.Outcome) (n int) {
	at := slices.Index(checker.Laws, l)
	for _, run := range r.parent.runs {
		if at < len(run.Outcomes) && run.Outcomes[at] == o {
			n++
		}
	}
	return n
}

// Digests returns the digests of the runs that could be judged, by seed. Runs with the same digest are identical.
func (r *Report) Digests() map[uint64]sim.Digest {
	all := map[uint64]sim.Digest{}
	for _, run := range r.parent.runs {
		if run.Failure == "" {
			all[run.Seed] = run.Digest
		}
	}
	return all
}

// Shrink shrinks the first run of a breach as far as it can. It must be called before the test returns. The error is a
// [*ShrinkError].
func (r *Report) Shrink(b Breach) (*ShrunkRun, error) {
	small, why := r.parent.shrink(r.parent.groupOf(b))
	if small == nil {
		return nil, &ShrinkError{Law: b.Law, Cause: b.Cause, Seed: b.Seed, Why: why}
	}
	test := r.parent.t.Name()
	return &ShrunkRun{Test: test, parts: small.Plan, Plan: small.Plan.Text(ReplayCommand(test, "")),
		Scenario: small.Scenario, Text: small.Text, Page: small.Page, Minimal: small.Ending == campaign.Complete}, nil
}
