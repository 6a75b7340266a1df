package claims

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// plans returns the number of random plans for each scenario: few, or many in a full test.
func plans(few, many int) int {
	if testkit.Full() {
		return many
	}
	return few
}

// tally counts the combinations of scenario, plan and seed for which a relation was tested.
type tally struct{ tried int }

// newTally returns a tally for a relation. At the end of the test it logs the number of combinations. If there are
// none, the test fails.
func newTally(t *testing.T, relation string) *tally {
	t.Helper()
	n := &tally{}
	t.Cleanup(func() {
		t.Logf("%s: %d triples", relation, n.tried)
		if n.tried == 0 {
			t.Errorf("%s: nothing was tried", relation)
		}
	})
	return n
}

func (n *tally) done() { n.tried++ }

// subjects returns the scenarios in the catalog and the locks in the corpus. If this is not a full test, it returns
// only some of them, chosen by the test's name.
func subjects(t *testing.T) (list []*scenarios.Scenario) {
	t.Helper()
	shares := testkit.Size(80, 10, 1)
	for i, name := range slices.Concat(scenarios.Names(), corpus.Names()) {
		if (i+len(t.Name()))%shares > 0 {
			continue
		}
		named := scenarios.Named
		if slices.Contains(corpus.Names(), name) {
			named = corpus.Lock
		}
		s, err := named(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// plansOf returns the scenario's own plan and n random plans.
func plansOf(t *testing.T, s *scenarios.Scenario, n int) []nemesis.Plan {
	t.Helper()
	list := []nemesis.Plan{s.Plan(1)}
	random, err := search.NewPlans(s)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	for seed := range uint64(n) {
		list = append(list, random.Plan(1000+seed))
	}
	return list
}

// outcome is the result of a run.
type outcome struct {
	events  []string // all events except nemesis events, in order
	history *history.History
	verdict checker.Verdict
	limited bool
}

// run runs a plan, and fails the test if the run fails.
func run(t *testing.T, s *scenarios.Scenario, p nemesis.Plan) *outcome {
	t.Helper()
	r, err := scenarios.NewRunner(s).Run(p)
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.Name, err, p)
	}
	o := &outcome{verdict: checker.Check(r.History), limited: r.Limited, history: r.History}
	for i := range r.History.Events {
		if e := &r.History.Events[i]; e.Process != history.Nemesis {
			o.events = append(o.events, line(e))
		}
	}
	return o
}

// isDeadline reports whether a member's value ends with its expiry, as Unix time in milliseconds. It assumes that a
// number above 1e12 (a time in 2001) is a Unix time, because no counter gets that high.
func isDeadline(e *history.Event) bool {
	millis, err := strconv.ParseInt(e.Value[strings.LastIndex(e.Value, " ")+1:], 10, 64)
	return e.F == history.KeySet && e.Member != "" && err == nil && millis > 1e12
}

// line returns an event's contents as text, without the index and absolute times.
func line(e *history.Event) string {
	value := e.Value
	if isDeadline(e) {
		value = "a time of day"
	}
	grant := ""
	if e.Grant != nil {
		grant = fmt.Sprint(*e.Grant)
	}
	return fmt.Sprint(e.Time, " ", e.Process, " ", e.Type, " ", e.F, " ", e.Lock, " ", e.Shared, " ", e.Attempt, " ",
		e.Token, " ", value, " ", e.Of, " ", e.Member, " ", e.By, " ", e.Why, " ", e.Op, " ", e.Until, " ", grant)
}

// laws returns each of a verdict's laws with its outcome and, if causes is true, its cause, as text.
func laws(v checker.Verdict, causes bool) string {
	var b strings.Builder
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "%s %v", f.Law, f.Outcome)
		if causes {
			fmt.Fprintf(&b, " %v%s", f.Cause, f.Also())
		}
		b.WriteString("; ")
	}
	return b.String()
}

// differ reports whether two runs had different effects. If so, it fails the test and says where they begin to differ.
func differ(t *testing.T, what string, a, b *outcome, p, q nemesis.Plan) bool {
	t.Helper()
	if slices.Equal(a.events, b.events) {
		return false
	}
	i := 0
	for i < min(len(a.events), len(b.events)) && a.events[i] == b.events[i] {
		i++
	}
	at := func(o *outcome) string {
		if i < len(o.events) {
			return o.events[i]
		}
		return "the end"
	}
	t.Errorf("%s: effects differ at event %d\n%s\n%s\n%s%s", what, i, at(a), at(b), p, q)
	return true
}

func withFaults(p nemesis.Plan, faults ...nemesis.Fault) nemesis.Plan {
	p.Faults = faults
	return p
}
