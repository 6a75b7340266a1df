package claims

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// If no client in a run uses the resource, a fault on the resource or one of its links does not change any verdict.
// There is one exception: the run lasts until the fault is over, so it may judge a law that was not judged before.
func TestAFaultOnAnUnusedResourceChangesNoVerdict(t *testing.T) {
	tried := newTally(t, "faults on what nobody uses")
	for _, s := range subjects(t) {
		if slices.ContainsFunc(s.Clients, func(c scenarios.Client) bool { return c.Work.Writes > 0 }) {
			continue
		}
		for i, p := range plansOf(t, s, plans(1, 60)) {
			before := run(t, s, p)
			for _, f := range unused(rand.New(rand.NewPCG(uint64(i), 3)), s.Targets()) {
				q := withFaults(p, slices.Concat(p.Faults, []nemesis.Fault{f})...)
				if err := q.Validate(s.Targets()); err != nil {
					t.Fatal(err)
				}
				after := run(t, s, q)
				tried.done()
				if laws(before.verdict, true) != laws(asSeenBy(before.verdict, after.verdict), true) {
					t.Errorf("%s:\n%s\n%s\n%s%s", s.Name, laws(before.verdict, true), laws(after.verdict, true), p, q)
				}
			}
		}
	}
}

// asSeenBy returns a copy of the later verdict. If a law holds in it but was not judged in the earlier one, the copy
// contains the earlier finding.
func asSeenBy(before, later checker.Verdict) checker.Verdict {
	later.Findings = slices.Clone(later.Findings)
	for i := range later.Findings {
		was := &before.Findings[i]
		if later.Findings[i].Outcome == checker.Holds &&
			(was.Outcome == checker.Unchecked || was.Outcome == checker.Undecided) {
			later.Findings[i] = *was
		}
	}
	return later
}

// unused returns faults that strike only the resource and its links.
func unused(r *rand.Rand, names nemesis.Names) []nemesis.Fault {
	at := nemesis.Trigger{Time: time.Duration(r.Int64N(int64(2 * time.Second)))}
	length := time.Millisecond + time.Duration(r.Int64N(int64(10*time.Second)))
	client := names.Clients[r.IntN(len(names.Clients))]
	resource := []sim.ProcessID{names.Resource}
	return []nemesis.Fault{
		{Kind: nemesis.Pause, Target: names.Resource, For: length, Trigger: at},
		{Kind: nemesis.Jump, Target: names.Resource, By: -length, Trigger: at},
		{Kind: nemesis.Drift, Target: names.Resource, PPM: 100_000},
		{Kind: nemesis.Cut, Left: []sim.ProcessID{client}, Right: resource, For: length, Trigger: at},
		{Kind: nemesis.Cut, Left: names.Clients, Right: resource},
		{Kind: nemesis.DelayLink, Target: client, Peer: names.Resource, By: length, For: length, Trigger: at},
		{Kind: nemesis.DelayMessage, Target: client, Peer: names.Resource, By: length, Number: 1},
		{Kind: nemesis.Break, Target: client, Peer: names.Resource, Number: 1},
	}
}

// renamedCommand returns the plan with a command renamed in every fault that names it.
func renamedCommand(p nemesis.Plan, from, to string) nemesis.Plan {
	p.Faults = slices.Clone(p.Faults)
	for i := range p.Faults {
		if m := &p.Faults[i].Trigger.Message; m.Command == from {
			m.Command = to
		}
	}
	return p
}

// If different settings make the server behave the same, they produce the same run.
func TestSettingsThatSayTheSameGiveTheSameRun(t *testing.T) {
	tried := newTally(t, "equal settings")
	for _, s := range subjects(t) {
		d := locks.Define(s.Clients[0].Lock.Protocol)
		if d.Setting("release") == nil || s.Clients[0].Lock.Release != locks.ReleaseScript {
			continue
		}
		for _, p := range plansOf(t, s, plans(6, 150)) {
			before := run(t, s, p)
			for _, other := range []locks.Release{locks.ReleaseCAD, locks.ReleaseDelex} {
				equal := *s
				equal.Servers.Version = (&locks.Config{Release: other}).Needs()[0].Version
				equal.Clients = slices.Clone(s.Clients)
				for i := range equal.Clients {
					equal.Clients[i].Lock.Release = other
				}
				q := renamedCommand(p, "release", strings.ToUpper(string(other)))
				after := run(t, &equal, q)
				tried.done()
				if !differ(t, s.Name+" with release: "+string(other), before, after, p, q) &&
					laws(before.verdict, true) != laws(after.verdict, true) {
					t.Errorf("%s with release: %s:\n%s\n%s\n%s", s.Name, other, laws(before.verdict, true),
						laws(after.verdict, true), p)
				}
			}
		}
	}
}
