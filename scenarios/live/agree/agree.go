// Package agree runs scenarios twice, in simulation and in real time on real servers, and compares the verdicts.
//
// Goals: both runs use the same file. A scenario that can be run in only one of these two ways is listed with the
// reason, and does not count as agreeing.
//
// Non-goals: how the runs are executed (packages scenarios and scenarios/live do that).
package agree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/sim"
)

// Row compares a scenario's simulated and real runs.
type Row struct {
	Name      string
	Scaled    int // the divisor for the scenario's longer times
	Simulated Side
	Live      Side
	Runs      int    // number of real-time runs: a host stall may distort a single run
	Refused   string // why it cannot be run in real time; empty if it can
	Failed    string // why it did not run in real time although it can; empty if it ran
}

// Side is the verdict on either the simulated or the real run, along with how long the run took by the host's clock.
type Side struct {
	Verdict checker.Verdict
	Wall    time.Duration
}

// difference is a law whose findings differ between the simulated and the real run.
type difference struct {
	Law             checker.Law
	Simulated, Live checker.Finding
}

// ran reports whether the scenario ran both in simulation and in real time.
func (r *Row) ran() bool { return r.Refused == "" && r.Failed == "" }

// Differences returns the laws whose outcome or cause differs between the simulated and the real run. It returns nil if
// one of these runs is missing. If a law was exercised only in the simulated run, this is a difference. If a law was
// exercised only in the real run, and held there, it is not. Differences omits laws that cannot be compared because
// real servers do not record why keys disappear (see unrecorded).
func (r *Row) Differences() (all []difference) {
	return r.differencesWhere(func(d *difference) bool { return !d.unrecorded() })
}

// unrecorded returns the differences that do not count, because the real servers do not record why keys disappear. In
// the real run, these laws are unchecked, or their causes are unknown.
func (r *Row) unrecorded() []difference { return r.differencesWhere((*difference).unrecorded) }

// unrecorded reports whether the only reason why the outcomes differ is that the real servers do not record why keys
// disappear.
func (d *difference) unrecorded() bool {
	return d.Live.Unrecorded && (d.Live.Outcome == checker.Unchecked || d.Live.Outcome == d.Simulated.Outcome)
}

// differencesWhere returns the differences for which the given function returns true.
func (r *Row) differencesWhere(counts func(*difference) bool) (all []difference) {
	if !r.ran() {
		return nil
	}
	for _, law := range checker.Laws {
		d := difference{law, r.Simulated.Verdict.Of(law), r.Live.Verdict.Of(law)}
		more := d.Simulated.Outcome == checker.Unchecked && d.Live.Outcome == checker.Holds
		alike := d.Simulated.Outcome == d.Live.Outcome && d.Simulated.Cause == d.Live.Cause
		if !alike && !more && counts(&d) {
			all = append(all, d)
		}
	}
	return all
}

// explanation returns the known reason why the simulated and real outcomes differ: the scenario depends on something
// that is impossible in real time. It returns "" if the outcomes do not differ or if no such reason is known.
func (r *Row) explanation() string {
	if len(r.Differences()) == 0 {
		return ""
	}
	return explained[r.Name]
}

var explained = map[string]string{"split-vote-fixed-delay": outOfStep, "split-vote-listed": outOfStep,
	"hash-counter-watchdog-goes-on": processEnded}

const processEnded = "A real client exits after its last critical section, and its watchdog ends with the process. " +
	"In the simulator, the process continues to run."

const outOfStep = "Three clients can keep splitting the votes of five servers, so that none gets a majority, " +
	"only if they always try at exactly the same times. " +
	"The timing of real processes drifts, so one of them soon wins."

// Agrees reports whether the scenario ran both in simulation and in real time, with the same outcome and cause for
// every law.
func (r *Row) Agrees() bool { return r.ran() && len(r.Differences()) == 0 }

// Names returns the given names. It returns an error if find fails for any of them. If no names are given, it returns
// the names of all catalog scenarios for which find succeeds.
func Names[Servers any](given []string, find func(*scenarios.Scenario) (Servers, error)) (names []string, err error) {
	list := given
	if len(given) == 0 {
		list = scenarios.Names()
	}
	for _, name := range list {
		s, err := scenarios.Named(name)
		if err == nil {
			_, err = find(s)
		}
		switch {
		case err == nil:
			names = append(names, name)
		case len(given) > 0:
			return nil, err
		}
	}
	return names, nil
}

// narrow lists scenarios that are not scaled (see scaled). In some of them, something must happen within a hundredth of
// a lease, and a scaled lease would be too short for that. In others, something must happen between two clients'
// starts, which are always a few tenths of a second apart.
var narrow = []string{"no-drift-allowance", "etcd-lease-not-rechecked", "etcd-lease-rechecked",
	"zookeeper-fence-parent-czxid"}

// seeds is the number of seeds for which a scaled scenario must have the same verdict as the original. A single seed
// would not be enough, because a real-time run's delays do not depend on the seed.
const seeds = 20

// scaled divides a scenario's longer times by the largest divisor for which its simulated verdict stays the same for
// all seeds. It returns the resulting scenario and the divisor. It does not scale these scenarios:
//   - with replicas, because a Sentinel failover takes a fixed time
//   - with faults on cluster members, because an election takes a fixed time
//   - on ZooKeeper, which measures sessions in ticks of 2 s
//   - on Consul, whose TTLs have a minimum
//   - on Kubernetes, whose deadlines must stay in proportion
//   - those in narrow
func scaled(s *scenarios.Scenario) (short *scenarios.Scenario, divisor int, err error) {
	whole, err := simulate(s, 1)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range scales {
		if s.Servers.Replicas > 0 || strikesMembers(s) || s.Servers.FixedTimes() ||
			slices.Contains(narrow, s.Name) {
			break
		}
		if short, err = c.changed(s); err != nil {
			return nil, 0, err
		}
		same := true
		for seed := uint64(1); same && seed <= seeds; seed++ {
			side, err := simulate(short, seed)
			if err != nil {
				return nil, 0, err
			}
			same = (&Row{Simulated: whole, Live: side}).Agrees()
		}
		if same {
			return short, c.divisor, nil
		}
	}
	return s, 1, nil
}

// strikesMembers reports whether a fault strikes a member of a cluster with a replicated log, or a link between two
// members.
func strikesMembers(s *scenarios.Scenario) bool {
	members := s.Targets().Consensus
	is := func(p sim.ProcessID) bool { return slices.Contains(members, p) }
	return slices.ContainsFunc(s.Plan(1).Faults, func(f nemesis.Fault) bool {
		return is(f.Target) && (is(f.Peer) || !f.Kind.Has(nemesis.FieldPeer)) ||
			slices.ContainsFunc(f.Left, is) && slices.ContainsFunc(f.Right, is)
	})
}

func simulate(s *scenarios.Scenario, seed uint64) (Side, error) {
	began := time.Now()
	r, err := scenarios.NewRunner(s).Run(s.Plan(seed))
	if err != nil {
		return Side{}, err
	}
	return Side{checker.Check(r.History), time.Since(began)}, nil
}

// Real is a function that runs a scenario in real time. It returns a *live.RefusedError if that is not possible.
type Real func(ctx context.Context, s *scenarios.Scenario) (*live.Result, error)

// Run runs the given catalog scenarios, both in simulation and in real time. It calls handle for each row, in the order
// of names. If the two verdicts differ without an explanation, or if the real-time run failed, Run repeats the
// real-time run, so that a host stall is not mistaken for a difference. There are at most three such runs in total.
// Once ctx is done, Run starts no more scenarios, and a row that still needs another run counts as failed.
func Run(ctx context.Context, crew campaign.Crew, names []string, real Real, handle func(Row)) error {
	work := campaign.Work[Row]{Name: "scenarios", Size: len(names), Start: func() func(int) (Row, error) {
		return func(i int) (Row, error) { return row(ctx, names[i], real), nil }
	}}
	_, err := work.Do(ctx, crew, func(_ int, r Row) error {
		handle(r)
		return nil
	})
	return err
}

func row(ctx context.Context, name string, real Real) Row {
	r := Row{Name: name, Scaled: 1}
	s, err := scenarios.Named(name)
	if err == nil {
		s, r.Scaled, err = scaled(s)
	}
	if err == nil {
		r.Simulated, err = simulate(s, 1)
	}
	if err != nil {
		r.Failed = err.Error()
		return r
	}
	for again := true; again; again = ctx.Err() == nil && r.Runs < mostRuns && !r.settled() && !delayed(err) {
		r.Runs++
		err = r.run(ctx, s, real)
	}
	interrupted := errors.Is(err, live.ErrInterrupted) || ctx.Err() != nil && r.Runs < mostRuns
	if d := r.Differences(); interrupted && !r.settled() && len(d) > 0 {
		r.Failed = fmt.Sprintf("interrupted: the simulated and the real run differed, first in %s, "+
			"and the real run was not repeated to see whether they still differ", d[0].Law)
	}
	return r
}

// delayed reports whether the host delayed every attempt to start a run.
func delayed(err error) bool {
	var undecided *live.UndecidedError
	return errors.As(err, &undecided) && undecided.Delayed
}

// settled reports whether the row is final, so that no more real-time runs are needed.
func (r *Row) settled() bool {
	return r.Refused != "" || r.Failed == "" && (len(r.Differences()) == 0 || r.explanation() != "")
}

// run runs the scenario in real time. If that fails, the row keeps the outcome of the earlier run, if any.
func (r *Row) run(ctx context.Context, s *scenarios.Scenario, real Real) error {
	began := time.Now()
	result, err := real(ctx, s)
	wall := time.Since(began)
	var refused *live.RefusedError
	switch {
	case errors.As(err, &refused):
		r.Refused = refused.Error()
	case err == nil && result.Partial:
		err = errors.New(result.Notes[0])
	}
	switch {
	case err == nil:
		r.Live, r.Failed = Side{s.Judge(result.Result).Verdict, wall}, ""
	case r.Refused == "" && len(r.Live.Verdict.Findings) == 0:
		r.Failed = err.Error()
	}
	return err
}

// mostRuns is the maximum number of real-time runs for one scenario.
const mostRuns = 3

// count contains the number of rows with each result.
type count struct{ Agree, Explained, Differ, Refused, Failed int }

// counts counts the rows with each result: those that agree, differ with an explanation, differ without one, were
// refused, or failed.
func counts(rows []Row) (n count) {
	for i := range rows {
		switch r := &rows[i]; {
		case r.Refused != "":
			n.Refused++
		case r.Failed != "":
			n.Failed++
		case r.Agrees():
			n.Agree++
		case r.explanation() != "":
			n.Explained++
		default:
			n.Differ++
		}
	}
	return n
}
