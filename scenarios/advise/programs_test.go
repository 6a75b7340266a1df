package advise

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/sim"
)

// ofPrograms returns a scenario that treats its clients as programs and passes the TTL to them. In fact, the clients
// follow the scenario's protocol. failing, if not nil, reports whether the program fails in a run.
func ofPrograms(t *testing.T, text string, failing func(*scenarios.Scenario, nemesis.Plan) bool) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("lock.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.With(&scenarios.Code{Programs: []sim.Point{sim.Acquired, sim.BeforeWrite}, Given: []string{"lock.ttl"},
		Elsewhere: func(s *scenarios.Scenario, p nemesis.Plan, _ scenarios.Wanted) (scenarios.Result, error) {
			if failing != nil && failing(s, p) {
				return scenarios.Result{}, &scenarios.CodeError{Text: "it ended with status 1"}
			}
			plain, err := scenarios.Parse("plain", s.Text())
			if err != nil {
				return scenarios.Result{}, err
			}
			plain.Limit = s.Limit
			r, err := scenarios.NewRunner(plain).Run(p)
			if s.Name == "ended" {
				r.EndedEarly = "client-3 ended"
			}
			return r, err
		}})
}

// forgetful is a scenario with a server that loses what it has not fsynced.
const forgetful = `name: forgetful
servers: {redis: 1, persistence: {append-fsync: everysec}}
clients: 3
lock: {protocol: set-nx-px, ttl: 10s}
work: {hold: 2s}
promise: [mutual-exclusion, lease-exclusion]
faults:
  - crash redis-1 losing unsynced writes at 500ms, restart after 10ms
`

// TestProgramsAreOfferedWhatTheyLearnOf checks the advice for clients that are programs. The advice may change only the
// servers, the resource, and settings that are passed to the programs. One of these changes must fix a lock on a server
// that loses data.
func TestProgramsAreOfferedWhatTheyLearnOf(t *testing.T) {
	s := ofPrograms(t, forgetful, nil)
	a, err := Try(context.Background(), s, Options{From: 1, Seeds: 3, Crew: campaign.Crew{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var ttl int
	for _, c := range a.subject.changes() {
		switch {
		case c.Protocol != "", strings.HasPrefix(c.Key, "work."):
			t.Errorf("offered: %s", &c)
		case c.Key == "lock.ttl":
			ttl++
		case strings.HasPrefix(c.Key, "lock."):
			t.Errorf("offered: %s", &c)
		}
	}
	if ttl == 0 {
		t.Error("no other TTL is offered")
	}
	if len(a.Mending) == 0 || !a.keeps(a.Mending[0]) ||
		!slices.ContainsFunc(a.Mending, func(m *Tried) bool { return strings.HasSuffix(m.String(), "fsync: always") }) {
		t.Fatalf("mending: %v", a.Mending)
	}
	text, err := a.File(a.Mending[0])
	if _, bad := scenarios.Parse("advised", text); err != nil || bad != nil || string(text) == forgetful {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestARunInWhichAProgramFailsIsUndecided checks what happens if a client program fails in some runs:
//   - If it fails under faults that are not in the file, the laws are undecided and the search continues.
//   - If it fails with a change, even without faults, the change is rejected.
//   - If it fails under the file's faults, or under each random plan, there is no advice.
func TestARunInWhichAProgramFailsIsUndecided(t *testing.T) {
	o := Options{From: 1, Seeds: 3, Crew: campaign.Crew{Workers: 1}}
	own := func(_ *scenarios.Scenario, p nemesis.Plan) bool {
		const first = "crash redis-1 losing unsynced writes at 500ms"
		return len(p.Faults) == 1 && strings.HasPrefix(p.Faults[0].String(), first)
	}
	sometimes := func(s *scenarios.Scenario, p nemesis.Plan) bool {
		alone := len(s.Clients) == 1 && strings.Contains(string(s.Text()), "always")
		return alone || len(p.Faults) > 0 && !own(s, p) && p.Seed%2 == 0
	}
	a, err := Try(context.Background(), ofPrograms(t, forgetful, sometimes), o)
	if err != nil {
		t.Fatal(err)
	}
	undecided := 0
	for i := range a.Base.Fresh.Laws {
		undecided += a.Base.Fresh.Laws[i].Undecided
	}
	if want := len(checker.Laws); undecided < want || !slices.Contains(a.Broken, checker.MutualExclusion) {
		t.Errorf("undecided: %d, broken: %v", undecided, a.Broken)
	}
	for _, m := range a.Mending {
		if strings.Contains(m.String(), "always") {
			t.Errorf("%s mends it, although the program fails with that", m)
		}
	}
	if _, err = Try(context.Background(), ofPrograms(t, forgetful, own), o); err == nil ||
		!strings.Contains(err.Error(), "as it is, seed 1: it ended with status 1") {
		t.Errorf("under the faults of the file: %v", err)
	}
	free, _, _ := strings.Cut(forgetful, "faults:")
	random := func(_ *scenarios.Scenario, p nemesis.Plan) bool { return len(p.Faults) > 0 }
	if _, err = Try(context.Background(), ofPrograms(t, free, random), o); err == nil ||
		!strings.Contains(err.Error(), "no run could be judged: a client failed, first with seed 1: it e") {
		t.Errorf("in each random plan: %v", err)
	}
}

// TestNothingIsBrokenBecauseAClientEnded checks what happens if, in each run, a client ends before its work is done.
// Laws that were not broken must then be undecided, and the advice must say so.
func TestNothingIsBrokenBecauseAClientEnded(t *testing.T) {
	text, _, _ := strings.Cut(strings.Replace(forgetful, "name: forgetful", "name: ended", 1), "  - crash")
	s := ofPrograms(t, text+"  - pause client-1 for 1s after acquired\n", nil)
	a, err := Try(context.Background(), s, Options{From: 1, Seeds: 3, Crew: campaign.Crew{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Advice: a, Scenario: s}
	const want = "mutual-exclusion was undecided in 20 of 20 runs"
	if r.Standing() != document.Undecided || !slices.Contains(r.open(), want) {
		t.Errorf("%v: %q", r.Standing(), r.open())
	}
}
