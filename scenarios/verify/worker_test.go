package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// strangers returns workers that are given only the text of the verification's scenario and its options.
func strangers(t *testing.T, s *scenarios.Scenario, o Options) *campaigntest.Strangers {
	t.Helper()
	sent, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	text := s.Text()
	return &campaigntest.Strangers{T: t, Worker: func() (campaign.Worker, error) {
		var o Options
		if err := json.Unmarshal(sent, &o); err != nil {
			return nil, err
		}
		s, err := scenarios.Parse("verified.yaml", text)
		if err != nil {
			return nil, err
		}
		return NewWorker(s, o)
	}}
}

// documentOf returns the report followed by its JSON object, as the command prints them.
func documentOf(t *testing.T, v *Verification) (all []byte) {
	t.Helper()
	r := &Report{Verification: v, Files: "_runs/v", Repeat: "fencepost verify v"}
	if v.Found != nil {
		s := v.Assignments[v.Found.Assignment].Scenario
		result, err := scenarios.NewRunner(s).Run(v.Found.Plan)
		if err != nil {
			t.Fatal(err)
		}
		if r.Run, err = single.Explain(s, result, s.Judge(result)); err != nil {
			t.Fatal(err)
		}
	}
	d := r.Document()
	all, err := json.Marshal(d.Data)
	if err != nil {
		t.Fatal(err)
	}
	return append(all, verifyText(t, r, 100)...)
}

// TestAVerificationThatWasDividedEqualsTheWhole checks that a verification divided among workers has the same fields
// and report as an undivided one.
func TestAVerificationThatWasDividedEqualsTheWhole(t *testing.T) {
	type divided struct {
		name, text string
		o          Options
	}
	small := strings.Replace(soundRedlock, "redis: 3", "redis: 1", 1)
	broken := strings.Replace(small, "protocol: redlock", "protocol: set-nx-px, release: del", 1)
	list := []divided{
		{"sound, no fault", soundRedlock, Options{}},
		{"sound", small, Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Break, nemesis.Crash, nemesis.Drift}}},
		{"sound, two faults", small, Options{Faults: 2, Kinds: []nemesis.Kind{nemesis.Break}}},
		{"other orders", small, Options{Faults: 1, Kinds: []nemesis.Kind{nemesis.Pause}, Orders: true}},
		{"broken", broken, Options{Faults: 2}},
		{"each single fault of a run", small, Options{Faults: 1, Requests: true}},
		{"some single fault of a run breaks it", lateReleaseBy("del"), Options{Faults: 1, Requests: true}},
		{"out of budget", small, Options{Faults: 2, Kinds: []nemesis.Kind{nemesis.Pause}, Budget: 700}},
	}
	if testkit.Full() {
		everyNth(t, 20, func(s *scenarios.Scenario) {
			list = append(list, divided{s.Name, string(s.Text()),
				Options{Faults: 1, Budget: 100, KeepFaults: len(list)%3 == 0}})
		})
	}
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) {
			testkit.OneIn(t, 6)
			s, err := scenarios.Parse("verified.yaml", []byte(x.text))
			if err != nil {
				t.Fatal(err)
			}
			if x.o.Seed = 1; !x.o.Requests {
				x.o.Delays = 2
			}
			whole, err := Scenario(t.Context(), s, x.o)
			if errors.Is(err, errNoKind) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			x.o.Hands = strangers(t, s, x.o)
			parts, err := Scenario(t.Context(), s, x.o)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := documentOf(t, parts), documentOf(t, whole); !bytes.Equal(a, b) {
				t.Errorf("divided:\n%s\nwhole:\n%s", a, b)
			}
			parts.Options, parts.Scenario, parts.Assignments = whole.Options, whole.Scenario, whole.Assignments
			if !reflect.DeepEqual(parts, whole) {
				t.Errorf("divided: %+v\nwhole: %+v", parts, whole)
			}
			for _, l := range whole.Lengths {
				t.Logf("%d faults: %d schedules", l.Faults, l.Schedules)
			}
		})
	}
}

// TestWhatIsTriedCanBeWrittenDown checks that the text of each fault that is tried parses back to exactly that fault.
func TestWhatIsTriedCanBeWrittenDown(t *testing.T) {
	shares := testkit.Size(1024, 256, 64)
	tried := map[nemesis.Kind]bool{}
	if testkit.Full() {
		everyNth(t, 15, func(s *scenarios.Scenario) { writtenDown(t, s, shares, tried) })
	}
	small := "servers: {redis: 1}\nlock: {protocol: set-nx-px}\n"
	for _, text := range append(clocked[:len(clocked):len(clocked)], small) {
		s, err := scenarios.Parse("clocked.yaml", []byte("name: clocked\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if text == small {
			shares = 16
		}
		writtenDown(t, s, shares, tried)
	}
	t.Logf("kinds that were tried: %v", tried)
	if len(tried) < 5 {
		t.Errorf("only %v were tried", tried)
	}
}

// writtenDown checks that a scenario's single-fault placements are the same after they have been encoded and decoded.
// To save time, it divides the starts of each kind of fault into the given number of shares, and checks only the middle
// share. For jumps, it checks all starts. tried receives the kinds that were checked.
func writtenDown(t *testing.T, s *scenarios.Scenario, shares int, tried map[nemesis.Kind]bool) {
	v, err := begun(s, Options{Faults: 2, Delays: 1, Seed: 1, AllEnds: true})
	if errors.Is(err, errNoKind) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	g := newGrower(t.Context(), v)
	for _, k := range v.Scope.Every {
		of := share{shares / 2, shares}
		if k == nemesis.Jump {
			of = share{0, 1}
		}
		grown, err := g.grow(&branch{stands: 1}, k, of, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range grown.next {
			text, err := json.Marshal(b)
			var again branch
			if err == nil {
				err = json.Unmarshal(text, &again)
			}
			if err != nil || !reflect.DeepEqual(again, b) {
				t.Fatalf("%s: %+v as %s: %+v, %v", s.Name, b, text, again, err)
			}
			tried[k] = true
		}
	}
}

// TestWhatIsLostIsSaid checks that a verification reports the positions (jobs) whose results were lost, and is
// undecided if there are any.
func TestWhatIsLostIsSaid(t *testing.T) {
	s, err := scenarios.Parse("verified.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Faults: 1, Delays: 1, Seed: 1, Kinds: []nemesis.Kind{nemesis.Break, nemesis.Drift}}
	hands := strangers(t, s, o)
	const why = "they brought their workers down"
	hands.Change = func(s campaign.Stage, p campaign.Part) campaign.Part {
		if s.Name == "parts with 1 fault" && p.First <= 30 && p.First+p.Size > 20 ||
			s.Name == "random parts with 1 fault" && p.First == 0 {
			p.Value, p.Lost = nil, why
		}
		return p
	}
	o.Hands = hands
	v, err := Scenario(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Lost) != 2 || v.Lost[0].First > 20 || v.Lost[0].First+v.Lost[0].Size <= 30 || v.Lost[0].Of < 256 {
		t.Fatalf("%+v", v.Lost)
	}
	standing, open := v.Standing()
	if standing != document.Undecided || len(open) != 2 || open[0] != v.Lost[0].String() || v.Lengths[1].Whole ||
		!v.Lengths[0].Whole || v.Ending != campaign.Complete {
		t.Errorf("standing %v, open %q, whole %v", standing, open, v.Lengths[1].Whole)
	}
	loss := Loss{"parts with 1 fault", 4, 1, 256, why}
	if got := loss.String(); got != "there is no result for 1 of the 256 parts with 1 fault (number 5): "+why {
		t.Error(got)
	}
	loss.Size = 3
	if got := loss.String(); got != "there is no result for 3 of the 256 parts with 1 fault (numbers 5 to 7): "+why {
		t.Error(got)
	}
}

// TestAnInterruptionOfOthersLeavesItUndecided checks that the verification is undecided if the worker processes are
// interrupted. The results before the first missing one must still count.
func TestAnInterruptionOfOthersLeavesItUndecided(t *testing.T) {
	s, err := scenarios.Parse("verified.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Faults: 1, Delays: 1, Seed: 1, Kinds: []nemesis.Kind{nemesis.Break}}
	ctx, cancel := context.WithCancel(t.Context())
	hands := strangers(t, s, o)
	hands.Change = func(s campaign.Stage, p campaign.Part) campaign.Part {
		if s.Name == "parts with 1 fault" && p.First > 100 {
			cancel()
		}
		return p
	}
	o.Hands = hands
	v, err := Scenario(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if standing, open := v.Standing(); standing != document.Undecided || len(open) != 1 || len(v.Lost) > 0 ||
		v.Ending != campaign.Interrupted || !v.Lengths[0].Whole || v.Lengths[1].Whole || v.Lengths[1].Schedules == 0 {
		t.Errorf("standing %v, open %q, ending %v, %+v", standing, open, v.Ending, v.Lengths)
	}
}

// TestWhatCannotBeAPartIsAnError checks that an invalid result from a worker causes an error, and not a panic or an
// incomplete verification.
func TestWhatCannotBeAPartIsAnError(t *testing.T) {
	s, err := scenarios.Parse("verified.yaml", []byte(soundRedlock))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Faults: 1, Delays: 1, Seed: 1, Kinds: []nemesis.Kind{nemesis.Break}}
	replace := func(old, by string) func(campaign.Stage, campaign.Part) campaign.Part {
		return func(_ campaign.Stage, p campaign.Part) campaign.Part {
			p.Value = bytes.Replace(p.Value, []byte(old), []byte(by), 1)
			return p
		}
	}
	for name, change := range map[string]func(campaign.Stage, campaign.Part) campaign.Part{
		"empty":         func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value = nil; return p },
		"beyond":        func(s campaign.Stage, p campaign.Part) campaign.Part { p.First += s.Size; return p },
		"too few":       func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Size++; return p },
		"other laws":    replace("lease-exclusion", "mutual-exclusion"),
		"other fields":  replace("Runs", "Walks"),
		"no growth":     func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value = []byte("[null]"); return p },
		"other delays":  replace(`}}`, `},"found":{"Assignment":7}}`),
		"cut in middle": func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value = p.Value[:40]; return p },
	} {
		hands := strangers(t, s, o)
		hands.Change = change
		o.Hands = hands
		if v, err := Scenario(t.Context(), s, o); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
	o.Hands = campaigntest.Nothing{}
	if v, err := Scenario(t.Context(), s, o); err == nil || !strings.Contains(err.Error(), "only 0 of the 1 parts") {
		t.Errorf("hands that make nothing: %+v, %v", v, err)
	}
	w, err := NewWorker(s, o)
	if err != nil {
		t.Fatal(err)
	}
	const spec = `{"Faults":0,"Level":[{"stands":1}],"Random":false}`
	known := campaign.Stage{Name: "parts with 0 faults", Spec: []byte(spec), Size: 1}
	if _, err := w.Make(t.Context(), known, 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		change      func(*campaign.Stage)
		first, size uint64
	}{
		{nil, 0, 0}, {nil, 0, 2}, {nil, 1, 1}, {nil, 1<<64 - 1, 1}, {nil, 1<<64 - 1, 2},
		{func(s *campaign.Stage) { s.Name = "seeds" }, 0, 1},
		{func(s *campaign.Stage) { s.Size = 2 }, 0, 1},
		{func(s *campaign.Stage) { s.Spec = nil }, 0, 1},
		{func(s *campaign.Stage) { s.Spec = []byte(strings.Replace(spec, "0", "9", 1)) }, 0, 1},
		{func(s *campaign.Stage) { s.Spec = []byte(strings.Replace(spec, "0", "-1", 1)) }, 0, 1},
		{func(s *campaign.Stage) { s.Spec = []byte(strings.Replace(spec, "Random", "Else", 1)) }, 0, 1},
		{func(s *campaign.Stage) { s.Spec = []byte(strings.Replace(spec, "{", `{"assignment":1,`, 2)) }, 0, 1},
	} {
		s := known
		if x.change != nil {
			x.change(&s)
		}
		if value, err := w.Make(t.Context(), s, x.first, x.size); err == nil {
			t.Errorf("%+v from %d, %d: %s", s, x.first, x.size, value)
		}
	}
}
