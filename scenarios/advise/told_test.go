package advise

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/amend"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// TestRemediesHelpWhateverStrikes makes each change that a story gives as a remedy, alone and under the same plan. It
// helps if the law is not broken by the same cause any more. Of a hundred, 98 must; none may be in force already, and
// none may be one that the scenario cannot have. FENCEPOST_FULL=1 goes on until 500 were made.
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
	idle, inForce, impossible := r.wrongs.Count("no help"), r.wrongs.Count("in force"), r.wrongs.Count("impossible")
	t.Logf("%d applied: %d helped, %d did not, %d in force already; %d impossible; %d no change of the format",
		r.applied, r.applied-idle-inForce, idle, inForce, impossible, len(r.reasons))
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
	if 50*idle > r.applied || inForce > 0 || impossible > 0 {
		t.Errorf("of %d remedies %d did not help, and %d were in force; %d are impossible", r.applied, idle, inForce,
			impossible)
	}
	for text := range elsewhere {
		if !slices.ContainsFunc(confirmations, func(c confirmation) bool { return c.text == text }) {
			t.Errorf("no remedy says %q", text)
		}
	}
}

// elsewhere are the remedies that change what the clients do or what strikes, and not the lock: what becomes of the
// document and of the plan.
var elsewhere = map[string]func(*subject, *nemesis.Plan) []amend.Edit{
	"Keep the servers' wall clocks from jumping (slew, never step).": func(b *subject, p *nemesis.Plan) []amend.Edit {
		known := b.scenario.Targets()
		servers := known.Servers()
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f nemesis.Fault) bool {
			return f.Kind == nemesis.Jump && slices.Contains(servers, f.Target)
		})
		return nil
	},
	"No lock service survives the loss of its quorum: bring servers back, or spread them so that no one failure takes a " +
		"majority.": func(b *subject, p *nemesis.Plan) []amend.Edit {
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
	"Take locks in one fixed order, and bound the wait for the next one by what is left of the first lease.": ordered,
	"Take locks in one fixed order, parents before children, or give up after a timeout, release, and retry after a " +
		"random delay.": ordered,
}

// ordered has every client take its locks in the order of their names.
func ordered(b *subject, _ *nemesis.Plan) (edits []amend.Edit) {
	lists := []string{"work.locks"}
	for _, client := range b.doc.Keys("overrides") {
		lists = append(lists, "overrides."+client+".work.locks")
	}
	for _, list := range lists {
		for i, name := range slices.Sorted(slices.Values(b.doc.List(list))) {
			edits = append(edits, amend.Edit{Path: fmt.Sprintf("%s.%d", list, i+1), Value: name})
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
	if len(tries) == 0 {
		r.wrongs.Add("impossible: "+c.text, s, "the format takes none of %q", c.changes)
		return
	}
	r.applied++
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
