package play

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

var player Player

// begin returns the initial state for a scenario in the catalog.
func begin(t testing.TB, name string) State {
	t.Helper()
	s, err := scenarios.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	state, err := Of(s)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// ask sends a request and decodes the reply, as the page does.
func ask(t testing.TB, r request) *reply {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var a reply
	if err := json.Unmarshal(player.Ask(context.Background(), text, func(Progress) {}), &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

func shown(t testing.TB, s State, e *gesture) *view {
	t.Helper()
	a := ask(t, request{Do: "show", State: s, Edit: e, Messages: true})
	if a.Problem != nil {
		t.Fatalf("%+v: %s", e, a.Problem.Says)
	}
	return a.Shown
}

func each(t *testing.T, visit func(t *testing.T, s *scenarios.Scenario, state State)) {
	for i, name := range scenarios.Names() {
		if i%testkit.Size(32, 8, 1) != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, err := scenarios.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			visit(t, s, begin(t, name))
		})
	}
}

// TestThePageShowsTheRunOfTheCommand checks that the page shows the same digest as the command, for each scenario.
func TestThePageShowsTheRunOfTheCommand(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario, state State) {
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		now := shown(t, state, nil)
		if want := fmt.Sprintf("%016x", uint64(r.Digest)); now.Digest != want {
			t.Errorf("digest %s, and of the command's run %s", now.Digest, want)
		}
		for i, f := range now.Faults {
			struck := f.Idle != "never struck"
			if f.Line != s.Faults[i].String() || struck != (f.Event >= 0) || f.To < f.From {
				t.Errorf("fault %d is %+v", i+1, f)
			}
		}
	})
}

// TestEveryKindOnEveryLane adds each kind of fault to each lane that the palette offers, and then removes it. The other
// faults must stay, and at the end nothing may have changed.
func TestEveryKindOnEveryLane(t *testing.T) {
	each(t, func(t *testing.T, s *scenarios.Scenario, state State) {
		o, err := player.open(state)
		if err != nil {
			t.Fatal(err)
		}
		for _, offer := range o.palette() {
			if (len(offer.On) == 0) != (offer.Why != "") {
				t.Errorf("%s can be put on %q, because %q", offer.Kind, offer.On, offer.Why)
			}
			for _, lane := range offer.On {
				next, p := o.apply(&gesture{Do: "add", Kind: offer.Kind, On: lane, From: 1_500_000})
				if p != nil {
					t.Errorf("%s on %s: %s", offer.Kind, lane, p.Says)
					continue
				}
				n := len(s.Faults)
				added := next.scenario.Faults[n]
				was, is := linesOf(s.Faults), linesOf(next.scenario.Faults)
				if !slices.Equal(is[:n], was) || added.Kind.String() != offer.Kind ||
					!slices.ContainsFunc(added.On(), func(on sim.ProcessID) bool { return string(on) == lane }) {
					t.Errorf("%s on %s made %q of %q", offer.Kind, lane, is, was)
				}
				back, p := next.apply(&gesture{Do: "remove", Fault: n + 1})
				if p != nil {
					t.Fatal(p.Says)
				}
				if left := linesOf(back.scenario.Faults); !slices.Equal(left, was) {
					t.Errorf("%s on %s leaves %q behind", offer.Kind, lane, left)
				}
			}
		}
	})
}

// TestEverySettingAsItIs sets each key to the value that the page shows for it. The run must not change. This proves
// that the page shows the value that is in effect.
func TestEverySettingAsItIs(t *testing.T) {
	for _, name := range testkit.Sample(t, []string{"kleppmann-gc-pause", "etcd-lease-pause", "zookeeper-pause",
		"kubernetes-cut-off", "failover-wait"}) {
		state := begin(t, name)
		before := shown(t, state, nil)
		if len(before.Settings) < 15 {
			t.Errorf("%s has only %d settings", name, len(before.Settings))
		}
		for i, s := range before.Settings {
			if i%testkit.Size(4, 1, 1) > 0 {
				continue
			}
			if s.Value == "" {
				t.Errorf("%s: %s shows no value", name, s.Key)
				continue
			}
			if now := shown(t, state, &gesture{Do: "set", Key: s.Key, Value: s.Value}); now.Digest != before.Digest {
				t.Errorf("%s: %s: %s is not what is in force", name, s.Key, s.Value)
			}
		}
	}
}

// reached reports whether the user has reached the goal. The page's script uses the same rule.
func (g *goal) reached(begin, now *view) bool {
	return slices.Contains(now.Laws, judgedLaw{string(g.Law), g.Outcome}) &&
		(!g.Faults || len(now.Faults) >= len(begin.Faults))
}

// TestTheTourIsAnswered performs the experiment at each stop on the tour. The goal must not be reached before the
// experiment, and must be reached after it.
func TestTheTourIsAnswered(t *testing.T) {
	second := int64(1_000_000_000)
	pull := func(fault int, to int64) func(*view) *gesture {
		return func(s *view) *gesture {
			f := s.Faults[fault-1]
			return &gesture{Do: "end", Fault: fault, From: f.From, To: f.From + to}
		}
	}
	put := func(fault int, at int64) func(*view) *gesture {
		return func(*view) *gesture { return &gesture{Do: "move", Fault: fault, From: at} }
	}
	set := func(key, value string) func(*view) *gesture {
		return func(*view) *gesture { return &gesture{Do: "set", Key: key, Value: value} }
	}
	answers := []func(*view) *gesture{pull(1, 9*second), put(1, second/5), put(2, 20*second), pull(2, 12*second),
		pull(2, 5*second), set("faults.1.by", "1s"), set("resource.fencing", "on"), set("resource.fencing", "off")}
	if len(answers) != len(tour) {
		t.Fatalf("the tour has %d steps", len(tour))
	}
	for i := range tour {
		step := &tour[i]
		before := shown(t, begin(t, step.Scenario), nil)
		if step.Goal.reached(before, before) {
			t.Errorf("%s: answered from the beginning", step.Title)
		}
		edit := answers[i](before)
		after := shown(t, before.State, edit)
		if !step.Goal.reached(before, after) {
			t.Errorf("%s: %+v does not answer it: %v", step.Title, edit, after.Laws)
		}
		none := shown(t, before.State, &gesture{Do: "faults"})
		if step.Goal.reached(before, none) {
			t.Errorf("%s: answered by taking the faults away", step.Title)
		}
	}
}

// TestAMessageIsPulled delays a message, reduces the delay, and then removes the delay. At the end, no fault may
// remain.
func TestAMessageIsPulled(t *testing.T) {
	before := shown(t, begin(t, "kleppmann-gc-pause"), nil)
	for _, m := range before.Messages[:4] {
		late := shown(t, before.State, &gesture{Do: "late", Sent: m.Number, To: m.To + 5e8})
		if n := len(late.Faults); n != 2 || !late.Faults[1].Size || late.Faults[1].Event < 0 {
			t.Fatalf("%s: the faults are %+v", m.Words, late.Faults)
		}
		at := slices.IndexFunc(late.Messages, func(l carried) bool { return l.Words == m.Words })
		if late.Messages[at].To != m.To+5e8 {
			t.Errorf("%s arrives at %d, not at %d", m.Words, late.Messages[at].To, m.To+5e8)
		}
		for _, by := range []int64{3e8, -2e8} {
			pulled := shown(t, late.State, &gesture{Do: "end", Fault: 2, To: by})
			if want := fmt.Sprintf(" by %s", nemesis.FormatDuration(time.Duration(5e8+by))); !strings.HasSuffix(
				pulled.Faults[1].Line, want) {
				t.Errorf("%s: pulled by %d ns, the fault is %q", m.Words, by, pulled.Faults[1].Line)
			}
		}
		less := shown(t, late.State, &gesture{Do: "late", Sent: late.Messages[at].Number, To: m.To + 2e8})
		if len(less.Faults) != 2 || !strings.HasSuffix(less.Faults[1].Line, " by 200ms") {
			t.Errorf("%s: less late, the faults are %+v", m.Words, less.Faults)
		}
		at = slices.IndexFunc(less.Messages, func(l carried) bool { return l.Words == m.Words })
		in := shown(t, less.State, &gesture{Do: "late", Sent: less.Messages[at].Number, To: m.To - 1e6})
		if len(in.Faults) != 1 || in.Digest != before.Digest {
			t.Errorf("%s: in time again, the faults are %+v", m.Words, in.Faults)
		}
	}
	a := ask(t, request{Do: "show", State: before.State, Edit: &gesture{Do: "late", Sent: 0, To: 1}})
	if a.Problem == nil || !strings.Contains(a.Problem.Says, "later") {
		t.Errorf("a message that is to arrive before it does: %+v", a.Problem)
	}
}

// TestMistakes sends requests that cannot be carried out. Each answer must contain only the reason and the name of the
// part of the page with the mistake.
func TestMistakes(t *testing.T) {
	state := begin(t, "kleppmann-gc-pause")
	for _, c := range []struct {
		edit     gesture
		in, says string
	}{
		{gesture{Do: "fly"}, "text", `"fly"`},
		{gesture{Do: "move", Fault: 2}, "faults", "no fault 2"},
		{gesture{Do: "remove", Fault: -1}, "faults", "no fault -1"},
		{gesture{Do: "add", Kind: "fail over", On: "redis-1"}, "faults", "this fault cannot strike redis-1"},
		{gesture{Do: "add", Kind: "slow fsync", On: "client-1"}, "faults", "this fault cannot strike client-1"},
		{gesture{Do: "add", Kind: "paus"}, "faults", `"paus"`},
		{gesture{Do: "late", Sent: 1 << 30}, "faults", "no longer sent"},
		{gesture{Do: "faults", Lines: []string{"", "paus client-1 for 1s at 1s"}}, "faults", `line 2: column 1: expected`},
		{gesture{Do: "set", Key: "lock.ttl", Value: "soon"}, "lock.ttl", `"soon"`},
		{gesture{Do: "set", Key: "lock.tll", Value: "1s"}, "lock.tll", `unknown key "tll"`},
		{gesture{Do: "set", Key: "seed", Value: "-1"}, "seed", "a seed is a number"},
		{gesture{Do: "set", Key: "servers.redis", Value: "4000"}, "servers.redis", "99"},
		{gesture{Do: "set", Key: "faults.1.for", Value: "long"}, "faults.1.for", "long"},
		{gesture{Do: "scenario", Value: "nowhere"}, "text", "nowhere"},
		{gesture{Do: "text", Text: "name: x"}, "text", `"servers" is missing`},
	} {
		a := ask(t, request{Do: "show", State: state, Edit: &c.edit})
		if a.Shown != nil || a.Problem == nil {
			t.Errorf("%+v is done", c.edit)
			continue
		}
		if a.Problem.In != c.in || !strings.Contains(a.Problem.Says, c.says) {
			t.Errorf("%+v: in %s: %s", c.edit, a.Problem.In, a.Problem.Says)
		}
	}
	for _, text := range []string{"", "[]", `{"seed": 1}`, `{"do": "show", "text": "", "seed": "1"}`,
		`{"do": "dance", "seed": "1", "text": "", "edit": {"do": "scenario", "value": "kleppmann-gc-pause"}}`} {
		var a reply
		err := json.Unmarshal(player.Ask(context.Background(), []byte(text), nil), &a)
		if err != nil || a.Problem == nil {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
}

// TestAnOwnTextIsMended checks that a user can replace text that contains a mistake. The page ignores expectations, but
// does not remove them from the user's own text.
func TestAnOwnTextIsMended(t *testing.T) {
	own := begin(t, "kleppmann-gc-pause").Text + "expect: {mutual-exclusion: holds}\n# mine\n"
	now := shown(t, State{Text: "name: x", Seed: 3}, &gesture{Do: "text", Text: own})
	if now.Text != own || now.Seed != 3 || now.Verdict != "broken" {
		t.Errorf("seed %d, %s:\n%s", now.Seed, now.Verdict, now.Text)
	}
	if pulled := shown(t, now.State, &gesture{Do: "remove", Fault: 1}); !strings.Contains(pulled.Text, "expect:") ||
		pulled.Verdict != "held" {
		t.Errorf("%s:\n%s", pulled.Verdict, pulled.Text)
	}
}

// TestWhatIsTakenAlong checks the files that a user can download. The scenario must expect the current outcome, the
// plan must be valid for the scenario, and the Go test must fail by violating the law that its description names.
func TestWhatIsTakenAlong(t *testing.T) {
	each(t, func(t *testing.T, _ *scenarios.Scenario, state State) {
		a := ask(t, request{Do: "take", State: state})
		if a.Problem != nil {
			t.Fatal(a.Problem.Says)
		}
		s, err := scenarios.Parse("kept.yaml", []byte(a.Files[0].Text))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := nemesis.ParsePlan("plan.txt", []byte(a.Files[1].Text))
		if err != nil {
			t.Fatal(err)
		}
		plan.Scenario = s.Name
		r, err := scenarios.NewRunner(s).Run(plan)
		if err != nil {
			t.Fatal(err)
		}
		judged := s.Judge(r)
		if result := judged.Standing(); result.String() != "as expected" && result.String() != "passed" {
			t.Errorf("the scenario that is kept comes out %s", result)
		}
		broken := judged.Verdict.Violated()
		if test := len(a.Files) == 5; test != broken {
			t.Fatalf("there are %d files, and broken is %t", len(a.Files), broken)
		}
		if !broken {
			return
		}
		named := 0
		for _, f := range judged.Verdict.Findings {
			if !strings.Contains(a.Files[3].Is, " "+string(f.Law)+" ") {
				continue
			}
			named++
			failed := scenarios.CheckLaw(a.Files[0].Text, plan.Seed, f.Law) != nil
			if !failed || f.Outcome != checker.Violated {
				t.Errorf("the test of %s does not fail", f.Law)
			}
		}
		if named != 1 {
			t.Errorf("the description names %d laws: %s", named, a.Files[3].Is)
		}
	})
}

// TestWorks sends a request for each of the longer tasks. The answers to "cut", "explore" and "advise" must contain a
// report and proposed states. The states proposed by "cut" and "explore" must break a law. The answer to "edge" must
// contain the edge. A plan that breaks no law cannot be shrunk. A request that is stopped immediately must not return
// an error.
func TestWorks(t *testing.T) {
	state := begin(t, "resource-compare-and-set")
	for _, r := range []request{{Do: "cut"}, {Do: "explore"}, {Do: "advise"}}[:testkit.Size(1, 3, 3)] {
		r.State = state
		a := ask(t, r)
		if a.Problem != nil || len(a.Done.States) == 0 || a.Done.Report == "" {
			t.Errorf("%s: %+v", r.Do, a)
			continue
		}
		for _, found := range a.Done.States {
			now := shown(t, found.State, nil)
			if r.Do != "advise" && !strings.HasPrefix(now.Verdict, "broken") {
				t.Errorf("%s proposes %s, which %s", r.Do, found.Words, now.Verdict)
			}
		}
	}
	edge := ask(t, request{Do: "edge", State: begin(t, "kleppmann-gc-pause"), Vary: "faults.1.for=1s..20s/1s"})
	if edge.Problem != nil || !strings.Contains(edge.Done.Words, "9.89") {
		t.Errorf("the edge: %+v", edge)
	}
	sound := ask(t, request{Do: "cut", State: begin(t, "delayed-restart")})
	if sound.Problem == nil || !strings.Contains(sound.Problem.Says, "no law is broken") {
		t.Errorf("shrinking a plan that breaks nothing: %+v", sound)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	// this cannot fail, because the same request was encoded above
	text, _ := json.Marshal(request{Do: "explore", State: state})
	var a reply
	if err := json.Unmarshal(player.Ask(ctx, text, func(Progress) {}), &a); err != nil || a.Problem != nil {
		t.Errorf("an exploration that is stopped: %+v, %v", a, err)
	}
}

// TestAnExplorationSaysWhatItLeavesOut explores a scenario that breaks in many ways. The answer must say how many of
// the findings the report shows.
func TestAnExplorationSaysWhatItLeavesOut(t *testing.T) {
	a := ask(t, request{Do: "explore", State: State{Seed: 1, Text: "name: x\nservers: {redis: 1}\nclients: 3\n" +
		"lock: {protocol: setnx-expire, ttl: 1s, release: del}\nwork: {hold: 2s, writes: 2}\n"}})
	if a.Problem != nil {
		t.Fatal(a.Problem.Says)
	}
	shown := len(a.Done.States)
	want := fmt.Sprintf("the report shows %d of ", mostCut)
	if shown != mostCut || !strings.HasPrefix(a.Done.Words, want) {
		t.Errorf("%d findings are shown, and the page says %q", shown, a.Done.Words)
	}
}

func BenchmarkShow(b *testing.B) {
	text, err := json.Marshal(request{Do: "show", State: begin(b, "kleppmann-gc-pause")})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		player.Ask(context.Background(), text, nil)
	}
}

// TestOnlyAStaticPageLeadsToTheScoreboard checks that a served page does not link to the scoreboard, because there are
// no other pages in its folder.
func TestOnlyAStaticPageLeadsToTheScoreboard(t *testing.T) {
	for _, served := range []bool{false, true} {
		var page strings.Builder
		if err := (&Page{Start: State{Text: "name: x\n", Seed: 1}, Served: served}).Write(&page); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), `href="`+Scoreboard+`"`) == served || strings.Contains(page.String(), "BOARD") {
			t.Errorf("served: %v; the page leads to the scoreboard, or the mark for it is left", served)
		}
	}
}
