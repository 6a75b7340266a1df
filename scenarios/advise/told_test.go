package advise

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// TestRemediesHelpWhateverStrikes makes each change that a story gives as a remedy, alone and under the same plan. It
// helps if the law is not broken by the same cause any more; one that the scenario cannot have does not. Of a hundred,
// 98 must help, and none may be in force already. FENCEPOST_FULL=1 goes on until 500 were made.
func TestRemediesHelpWhateverStrikes(t *testing.T) {
	enough, rounds, each := 40, 10, 1
	if testkit.Full() {
		enough, rounds, each = 500, 200, 2
	}
	r := remedyTrials{t: t, wrongs: claims.NewWrongs(t), made: map[string]int{}, reasons: map[string]int{}}
	claims.Stories(t, rounds, each, func(s *claims.Story) bool {
		r.story(s)
		return r.applied < enough
	})
	idle := r.wrongs.Count("no help") + r.wrongs.Count("impossible")
	inForce := r.wrongs.Count("in force")
	t.Logf("%d applied: %d helped, %d did not, %d were in force already", r.applied, r.applied-idle-inForce, idle,
		inForce)
	for _, c := range confirmations {
		if n := r.made[c.text]; n > 0 {
			t.Logf("%d times: %s", n, c.text)
		} else if n := r.reasons[c.text]; n > 0 {
			t.Logf("%d times, no change of the format (%s): %s", n, c.reason, c.text)
		}
	}
	if r.applied < enough {
		t.Errorf("only %d remedies were applied", r.applied)
	}
	if 50*idle > r.applied || inForce > 0 {
		t.Errorf("of %d remedies %d did not help, and %d were in force already", r.applied, idle, inForce)
	}
}

// elsewhere are the remedies that change what the clients do or what strikes, and not the lock: what becomes of the
// document and of the plan.
var elsewhere = map[string]func(*subject, *nemesis.Plan) []edit{
	"Keep the servers' wall clocks from jumping (slew, never step).": func(b *subject, p *nemesis.Plan) []edit {
		known := b.scenario.Targets()
		servers := known.Servers()
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f nemesis.Fault) bool {
			return f.Kind == nemesis.Jump && slices.Contains(servers, f.Target)
		})
		return nil
	},
	"No lock service survives the loss of its quorum: bring servers back, or spread them so that no one failure " +
		"takes a majority.": func(b *subject, p *nemesis.Plan) []edit {
		known := b.scenario.Targets()
		p.Faults = slices.Clone(p.Faults)
		for i := range p.Faults {
			f := &p.Faults[i]
			if f.Kind == nemesis.Cut && f.For == 0 {
				f.For = time.Second
			}
			if !slices.Contains(known.Servers(), f.Target) || !f.Kind.Has(nemesis.FieldRestart) {
				continue
			}
			if f.Restart == 0 {
				f.Restart = time.Second
			}
			if f.Loss == nemesis.LosesEverything && len(known.Consensus) > 0 { // a stranger of its name may not vote
				f.Loss = nemesis.LosesUnsynced
			}
		}
		return nil
	},
	"Subtract an allowance for as much as clocks may drift.":                                                 allowance,
	"Allow for clocks that drift more than is allowed for now.":                                              allowance,
	"Take locks in one fixed order, and bound the wait for the next one by what is left of the first lease.": ordered,
	"Take locks in one fixed order, parents before children, or give up after a timeout, release, and retry after a " +
		"random delay.": ordered,
}

// allowance takes off what a server's clock may run too fast and the client's too slow under the plan, as if each
// process had all of its drifts at once.
func allowance(b *subject, p *nemesis.Plan) []edit {
	known := b.scenario.Targets()
	fast, slow := 0, 0
	for _, id := range slices.Concat(known.Clients, known.Servers()) {
		up, down := 0, 0
		for _, f := range p.Faults {
			if f.Target == id {
				up, down = up+max(0, f.PPM), down+max(0, -f.PPM)
			}
		}
		if slices.Contains(known.Clients, id) {
			slow = max(slow, down)
		} else {
			fast = max(fast, up)
		}
	}
	const whole = 1e6
	share := 1 - (whole-float64(slow))/(whole+float64(fast))
	return []edit{{Path: "lock.drift-allowance", Value: fmt.Sprintf("%d%% + 2ms", 1+int(100*share))}}
}

// ordered has every client take its locks in the order of their names.
func ordered(b *subject, _ *nemesis.Plan) (edits []edit) {
	lists := []string{"work.locks"}
	for _, client := range b.doc.Keys("overrides") {
		lists = append(lists, "overrides."+client+".work.locks")
	}
	for _, list := range lists {
		for i, name := range slices.Sorted(slices.Values(b.doc.List(list))) {
			edits = append(edits, edit{Path: fmt.Sprintf("%s.%d", list, i+1), Value: name})
		}
	}
	return edits
}

type remedyTrials struct {
	t             *testing.T
	wrongs        *claims.Wrongs
	applied       int
	made, reasons map[string]int // by sentence
}

func (r *remedyTrials) story(s *claims.Story) {
	rest := s.Remedy
	for _, c := range confirmations {
		if !strings.Contains(rest, c.text) {
			continue
		}
		rest = strings.TrimSpace(strings.Replace(rest, c.text, "", 1))
		if elsewhere[c.text] == nil && len(c.changes) == 0 {
			r.reasons[c.text]++
			continue
		}
		r.made[c.text]++
		r.remedy(s, &c)
	}
	if rest != "" {
		r.t.Errorf("%s: nothing says how to apply %q", s.Scenario.Name, rest)
	}
}

// remedy makes the changes that a sentence can mean, one after another, until one helps.
func (r *remedyTrials) remedy(s *claims.Story, c *confirmation) {
	b, err := newSubject(s.Scenario, Options{From: 1, Seeds: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	b.plans = []nemesis.Plan{s.Plan}
	var tries []try
	if change := elsewhere[c.text]; change != nil {
		plan := s.Plan
		tries = append(tries, try{"elsewhere", b.build(&Tried{Changes: []Change{{edits: change(b, &plan)}}}), plan})
	}
	for _, change := range c.changes {
		tries = append(tries, try{change, remedied(b, change), s.Plan})
	}
	tries = slices.DeleteFunc(tries, func(try try) bool { return try.made == nil })
	if r.applied++; len(tries) == 0 {
		r.wrongs.Add("impossible: "+c.text, s, "the format takes none of %q", c.changes)
		return
	}
	tries = slices.DeleteFunc(tries, func(try try) bool { return try.idle(s) })
	if len(tries) == 0 {
		r.wrongs.Add("in force: "+c.text, s, "%q changes nothing", c.changes)
		return
	}
	var came []string
	for _, try := range tries {
		b.plans = []nemesis.Plan{try.plan}
		if err := b.worker(try.made).given(r.t.Context(), nil); err != nil {
			r.t.Fatal(err)
		}
		same := func(g tallied) bool { return g.Law == s.Law && g.Cause == s.Cause }
		if try.made.Given.Runs > 0 && !slices.ContainsFunc(try.made.Given.Findings, same) {
			return
		}
		came = append(came, fmt.Sprintf("%s: %v", try.change, try.made.Given.Findings))
	}
	r.wrongs.Add(fmt.Sprintf("no help against %s by %s: %s", s.Law, s.Cause, c.text), s, "%s", strings.Join(came, "; "))
}

// try is a change that a sentence can mean.
type try struct {
	change string
	made   *Tried // nil if the format does not take it
	plan   nemesis.Plan
}

// idle reports whether the change leaves everything as it is.
func (c try) idle(s *claims.Story) bool {
	was, is := s.Scenario, c.made.scenario
	return restartOf(c.made.Changes) == 0 && c.plan.String() == s.Plan.String() &&
		reflect.DeepEqual(was.Servers, is.Servers) && reflect.DeepEqual(was.Clients, is.Clients) &&
		reflect.DeepEqual(was.Resource, is.Resource)
}

// TestEveryRemedyIsAppliedOrSaysWhyNot holds the table of confirmations to the sentences that the checker gives, which
// it reads in its source.
func TestEveryRemedyIsAppliedOrSaysWhyNot(t *testing.T) {
	given := remedySentences(t)
	known := func(text string) bool {
		return slices.ContainsFunc(confirmations, func(c confirmation) bool { return c.text == text })
	}
	for text := range elsewhere {
		if !known(text) {
			t.Errorf("nothing confirms %q", text)
		}
	}
	for _, c := range confirmations {
		if !slices.Contains(given, c.text) {
			t.Errorf("no report gives the remedy %q", c.text)
		}
		if (c.reason == "") != (len(c.changes) > 0) {
			t.Errorf("%q: changes %q, and none because %q", c.text, c.changes, c.reason)
		}
	}
	for _, text := range given {
		if !known(text) {
			t.Errorf("nothing says how to apply %q", text)
		}
	}
	if len(given) < 40 {
		t.Errorf("read %d remedies", len(given))
	}
}

// remedySentences reads every string of the checker's source of remedies that ends as a sentence does.
func remedySentences(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../checker/remedy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, is := stringOf(e)
		if is && strings.HasSuffix(text, ".") && !slices.Contains(all, text) {
			all = append(all, text)
		}
		return !is
	})
	return all
}

// stringOf is the value of a string literal, or of several that are joined.
func stringOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, left := stringOf(e.X)
		b, right := stringOf(e.Y)
		return a + b, left && right && e.Op == token.ADD
	}
	return "", false
}
