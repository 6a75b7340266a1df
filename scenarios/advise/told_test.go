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

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// remedyTrials tries out each sentence that an explanation gives as a remedy, on its own and under the same plan. A
// sentence helps if one way of complying with it helps. A sentence that the scenario cannot comply with does not help.
// One that the scenario already complies with is counted as already in force.
type remedyTrials struct {
	t                       *testing.T
	wrongs                  *claims.Wrongs
	applied                 int
	made, helped, notFormat map[string]int // counts by sentence
}

func newRemedyTrials(t *testing.T, wrongs *claims.Wrongs) *remedyTrials {
	return &remedyTrials{t: t, wrongs: wrongs, made: map[string]int{}, helped: map[string]int{},
		notFormat: map[string]int{}}
}

// idle returns how many remedies did not help. inForce returns how many remedies the scenario already complied with.
func (r *remedyTrials) idle() int    { return r.wrongs.Count("no help") + r.wrongs.Count("impossible") }
func (r *remedyTrials) inForce() int { return r.wrongs.Count("in force") }

// report logs how many times each remedy was tried and how many times it helped. It also logs which remedies were not
// tried, and why.
func (r *remedyTrials) report() {
	r.t.Logf("%d applied: %d helped, %d did not, %d were in force already", r.applied,
		r.applied-r.idle()-r.inForce(), r.idle(), r.inForce())
	for _, c := range confirmations {
		if n := r.made[c.text]; n > 0 {
			r.t.Logf("%d times, %d helped: %s", n, r.helped[c.text], c.text)
		} else if n := r.notFormat[c.text]; n > 0 {
			r.t.Logf("%d times, not followed here (%s): %s", n, c.reason, c.text)
		}
	}
}

func (r *remedyTrials) story(s *claims.Story) {
	rest := s.Remedy
	for i := range confirmations {
		c := &confirmations[i]
		said := c.text
		if first, isOther := strings.CutPrefix(said, "Or "); isOther && !strings.Contains(rest, said) {
			said = strings.ToUpper(first[:1]) + first[1:] // the first advice does not begin with "Or"
		}
		if !strings.Contains(rest, said) {
			continue
		}
		rest = strings.TrimSpace(strings.Replace(rest, said, "", 1))
		if c.none {
			r.applied++
			r.wrongs.Add(fmt.Sprintf("no help: none is known against %s by %s", s.Law, s.Cause), s, "")
			continue
		}
		if c.reason != "" && len(c.changes) == 0 {
			r.notFormat[c.text]++
			continue
		}
		r.remedy(s, c)
	}
	if rest != "" {
		r.t.Errorf("%s: nothing says how to apply %q", s.Scenario.Name, rest)
	}
}

// remedy complies with the advice in a sentence, in one way after another, until one of them helps.
func (r *remedyTrials) remedy(s *claims.Story, c *confirmation) {
	b, err := newSubject(s.Scenario, Options{From: 1, Seeds: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	// a run in which the law was not checked does not show whether the remedy upholds it
	if c.keeps != "" && s.Verdict.Of(c.keeps).Outcome == checker.Unchecked {
		r.notFormat[c.text]++
		return
	}
	b.plans = []nemesis.Plan{s.Plan}
	tries := c.tries(b, s.Plan)
	if c.reason != "" && !slices.ContainsFunc(tries, func(t try) bool { return !t.idle(s) }) {
		r.notFormat[c.text]++
		return
	}
	r.applied++
	r.made[c.text]++
	if len(tries) == 0 && severalTasks(s.Scenario) {
		r.leave(c)
		return
	}
	if len(tries) == 0 {
		r.wrongs.Add("impossible: "+c.text, s, "the format takes none of %q", c.changes)
		return
	}
	if !c.asksNothing {
		tries = slices.DeleteFunc(tries, func(t try) bool { return t.idle(s) })
	}
	if len(tries) == 0 {
		r.wrongs.Add("in force: "+c.text, s, "%q changes nothing", c.changes)
		return
	}
	var came []string
	for _, try := range tries {
		if c.helps(r.t, b, try, &s.Finding) {
			r.helped[c.text]++
			if c.but[s.Scenario.Name] != "" {
				r.wrongs.Add("helps: "+c.text, s, "although %s", c.but[s.Scenario.Name])
			}
			return
		}
		came = append(came, fmt.Sprintf("%s: %v", try.change, try.made.Given.Findings))
	}
	if len(tries) < len(c.changes) && severalTasks(s.Scenario) {
		r.leave(c)
		return
	}
	if c.but[s.Scenario.Name] == "" {
		r.wrongs.Add(fmt.Sprintf("no help against %s by %s: %s", s.Law, s.Cause, c.text), s, "%s",
			strings.Join(came, "; "))
	}
}

// leave counts a remedy as not permitted by the format, although it has already been counted as applied. It is called
// if the remedy requires a protocol that the format rejects for clients with several tasks.
func (r *remedyTrials) leave(c *confirmation) {
	r.applied--
	r.made[c.text]--
	r.notFormat[c.text]++
}

func severalTasks(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Clients, func(c scenarios.Client) bool { return c.Work.Tasks > 1 })
}

func (c try) idle(s *claims.Story) bool {
	was, is := s.Scenario, c.made.scenario
	return restartOf(c.made.Changes) == 0 && c.plan.String() == s.Plan.String() &&
		reflect.DeepEqual(was.Servers, is.Servers) && reflect.DeepEqual(was.Clients, is.Clients) &&
		reflect.DeepEqual(was.Resource, is.Resource) && reflect.DeepEqual(was.Network, is.Network)
}

// TestRemediesAreConfirmed applies each remedy in the reports of the catalog's scenarios, and of some more scenarios.
// Unless this is a full run (see testkit.Full), it uses only some of them. Each remedy must help, except in the
// scenarios named in the confirmations table.
func TestRemediesAreConfirmed(t *testing.T) {
	r := newRemedyTrials(t, claims.NewWrongs(t))
	var all []*scenarios.Scenario
	for _, name := range scenarios.Names() {
		all = append(all, named(t, name))
	}
	for _, text := range moreScenarios {
		all = append(all, parsed(t, text))
	}
	seeds := testkit.Size(1, 1, 3)
	for _, s := range testkit.Sample(t, all) {
		runner := scenarios.NewRunner(s)
		for seed := range uint64(seeds) {
			result, err := runner.Run(s.Plan(seed + 1))
			if err != nil {
				t.Fatal(err)
			}
			of := &claims.Run{Scenario: s, Result: result, Verdict: checker.Check(result.History)}
			for b := range of.Verdict.Breaches() {
				r.story(&claims.Story{Run: of, Finding: *b})
			}
		}
	}
	r.report()
	if least := testkit.Size(10, 30, 200); r.applied < least {
		t.Errorf("only %d remedies were applied, fewer than %d", r.applied, least)
	}
	if wrong := r.wrongs.Count(""); wrong > 0 {
		t.Errorf("of %d remedies %d do not come out as the table says", r.applied, wrong)
	}
}

// TestRemediesHelpWhateverStrikes applies each remedy in the runs from package claims (claims.Stories). At least 98% of
// the remedies must help, and the scenario must not already comply with any of them. With FENCEPOST_FULL=1, the test
// continues until it has applied 500 remedies.
func TestRemediesHelpWhateverStrikes(t *testing.T) {
	enough, rounds, each := 40, 10, 1
	if testkit.Full() {
		enough, rounds, each = 500, 200, 2
	}
	r := newRemedyTrials(t, claims.NewWrongs(t))
	claims.Stories(t, rounds, each, func(s *claims.Story) bool {
		r.story(s)
		return r.applied < enough
	})
	r.report()
	if r.applied < enough {
		t.Errorf("only %d remedies were applied", r.applied)
	}
	if 50*r.idle() > r.applied || r.inForce() > 0 {
		t.Errorf("of %d remedies %d did not help, and %d were in force already", r.applied, r.idle(), r.inForce())
	}
}

// TestEveryRemedyIsAppliedOrSaysWhyNot checks that the confirmations table contains exactly the remedies that the
// checker's source code contains as sentences.
func TestEveryRemedyIsAppliedOrSaysWhyNot(t *testing.T) {
	given := remedySentences(t)
	known := func(text string) bool {
		return slices.ContainsFunc(confirmations, func(c confirmation) bool { return c.text == text })
	}
	for _, c := range confirmations {
		if !slices.Contains(given, c.text) {
			t.Errorf("no report gives the remedy %q", c.text)
		}
		if c.reason == "" && len(c.changes) == 0 && c.apply == nil || c.reason != "" && c.apply != nil {
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

// remedySentences returns every string that ends with a period in the checker's remedy files.
func remedySentences(t *testing.T) (all []string) {
	t.Helper()
	for name, only := range map[string][]string{"remedy.go": nil, "advice.go": nil, "permits.go": {"semaphores",
		"byServersClock", "limitedResource"}} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../checker/"+name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, is := n.(*ast.FuncDecl); is && only != nil {
				return false
			}
			if v, is := n.(*ast.ValueSpec); is && only != nil && !slices.Contains(only, v.Names[0].Name) {
				return false
			}
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
	}
	return all
}

// stringOf returns the value of a string literal, or of several string literals joined by +.
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
