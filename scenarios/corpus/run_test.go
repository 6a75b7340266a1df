package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// fewOptions are the options for a short corpus run.
var fewOptions = Options{First: 5, Seeds: 2, Starts: 1, Sound: 44}

// someMutants leaves out most mutants until the test ends. In a full test, it does not leave out any.
func someMutants(t *testing.T) {
	t.Helper()
	all := mutants
	t.Cleanup(func() { mutants = all })
	mutants = nil
	for i := 0; i < len(all); i += testkit.Size(20, 5, 1) {
		mutants = append(mutants, all[i])
	}
}

func strangers(t *testing.T, o Options) *campaigntest.Strangers {
	t.Helper()
	sent, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	worker := func() (campaign.Worker, error) {
		var o Options
		err := json.Unmarshal(sent, &o)
		o.Now = ticking()
		return NewWorker(o), err
	}
	same := func(a, b []byte) bool {
		var x, y []outcome
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil { // the part comes from an exploration
			return string(a) == string(b)
		}
		for i := range x {
			x[i].Took, y[i].Took = 0, 0
		}
		return reflect.DeepEqual(x, y)
	}
	return &campaigntest.Strangers{T: t, Worker: worker, Same: same}
}

// ticking returns a clock that advances by one second each time it is read.
func ticking() func() time.Time {
	var t time.Time
	return func() time.Time { t = t.Add(time.Second); return t }
}

func ran(t *testing.T, o Options) *Corpus {
	t.Helper()
	c, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// equal compares two results, ignoring their times.
func equal(t *testing.T, what string, got, want *Corpus) {
	t.Helper()
	for _, c := range []*Corpus{got, want} {
		for i := range c.Mutants {
			c.Mutants[i].Took = 0
		}
	}
	if !reflect.DeepEqual(got.Slowest, want.Slowest) {
		t.Errorf("%s: slowest %+v, want %+v", what, got.Slowest, want.Slowest)
	}
	if !reflect.DeepEqual(got.Mutants, want.Mutants) {
		t.Errorf("%s: mutants %+v, want %+v", what, got.Mutants, want.Mutants)
	}
	for i := range want.Sound {
		if g, w := got.Sound[i].Result, want.Sound[i].Result; !reflect.DeepEqual(g, w) {
			t.Errorf("%s: %s: %+v, want %+v", what, want.Sound[i].Lock.Name, g, w)
		}
	}
	a, errA := got.Document().JSON("corpus")
	b, errB := want.Document().JSON("corpus")
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s: %s\n%v, want\n%s\n%v", what, a, errA, b, errB)
	}
}

// TestTheCorpusIsTheSameWhoeverRunsIt checks that the result is the same for any number of workers, in this process or
// in others.
func TestTheCorpusIsTheSameWhoeverRunsIt(t *testing.T) {
	testkit.ThoroughOnly(t)
	someMutants(t)
	o := fewOptions
	if testkit.Full() {
		o.Starts, o.Unaimed = 2, true
	}
	o.Workers = 1
	want := ran(t, o)
	if n := len(want.caught()); n == 0 || n == len(mutants) || len(want.Sound) != len(names) ||
		want.soundRuns() != fewOptions.Sound {
		t.Fatalf("%d of %d mutants were caught, and %d locks had %d runs", n, len(mutants), len(want.Sound),
			want.soundRuns())
	}
	o.Workers = 3
	equal(t, "3 workers", ran(t, o), want)
	o.Hands = strangers(t, o)
	last := map[string]int{}
	o.Progress = func(what string, done, of int) {
		if done <= last[what] || done > of {
			t.Errorf("%d of %d %s after %d", done, of, what, last[what])
		}
		last[what] = done
	}
	got := ran(t, o)
	for i := range got.Mutants {
		if m := &got.Mutants[i]; m.Took != time.Duration(o.searches()/len(mutants))*time.Second {
			t.Errorf("%s took %v", m.Name, m.Took)
		}
	}
	equal(t, "others", got, want)
	if last["mutants"] != o.searches() || last["runs"] != fewOptions.Sound {
		t.Errorf("progress ended at %v", last)
	}
}

// TestWhatIsLostOfTheCorpusIsSaid checks that a mutant whose search was lost counts as neither caught nor escaped, and
// that the report says that the search was lost.
func TestWhatIsLostOfTheCorpusIsSaid(t *testing.T) {
	testkit.ThoroughOnly(t)
	someMutants(t)
	o := fewOptions
	o.Sound = len(names)
	hands := strangers(t, o)
	const why = "it brought its workers down"
	hands.Change = func(s campaign.Stage, p campaign.Part) campaign.Part {
		if p.First == 0 {
			p.Value, p.Lost = nil, why
		}
		return p
	}
	o.Hands = hands
	c := ran(t, o)
	m := &c.Mutants[0]
	if m.Lost != why || m.searched() || c.Interrupted || c.Sound[0].Done() != 0 || len(c.Sound[0].open()) == 0 {
		t.Errorf("%+v; interrupted %v; of the first lock %d runs, open %q", m, c.Interrupted, c.Sound[0].Done(),
			c.Sound[0].open())
	}
	text, err := c.Document().JSON("corpus")
	if err != nil || strings.Count(string(text), why) < 1 {
		t.Errorf("%s\n%v", text, err)
	}
	for i := range c.Mutants {
		if m := &c.Mutants[i]; !m.searched() && m.Lost == "" {
			t.Errorf("%s is missing", m.Name)
		}
	}
}

// TestAnInterruptionOfOthersLeavesWhatTheyMade checks that if other processes are interrupted, their results so far are
// kept, and there is no error.
func TestAnInterruptionOfOthersLeavesWhatTheyMade(t *testing.T) {
	someMutants(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := fewOptions
	hands := strangers(t, o)
	hands.Change = func(_ campaign.Stage, p campaign.Part) campaign.Part { cancel(); return p }
	o.Hands = hands
	c, err := Run(ctx, o)
	if err != nil || !c.Interrupted || c.Standing() == document.Passed || c.soundRuns() != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	made := 0
	for i := range c.Mutants {
		if c.Mutants[i].searched() {
			made++
		}
	}
	if made == 0 || made > 5 {
		t.Errorf("%d mutants were searched", made)
	}
}

func TestWhatCannotBeAPartOfTheCorpusIsAnError(t *testing.T) {
	someMutants(t)
	for name, change := range map[string]func(campaign.Stage, campaign.Part) campaign.Part{
		"empty":   func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value = nil; return p },
		"beyond":  func(s campaign.Stage, p campaign.Part) campaign.Part { p.First += s.Size; return p },
		"too few": func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Size++; return p },
	} {
		o := fewOptions
		hands := strangers(t, o)
		hands.Change, o.Hands = change, hands
		if c, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	o := fewOptions
	o.Hands = campaigntest.Nothing{}
	c, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("only 0 of the %d mutants", len(mutants))) {
		t.Errorf("hands that make nothing: %+v, %v", c, err)
	}
	w := NewWorker(fewOptions)
	for _, x := range []struct {
		name        string
		first, size uint64
	}{{"mutants", 0, 0}, {"mutants", 1 << 40, 1}, {"mutants", 1<<64 - 1, 2}, {"seeds", 0, 1},
		{"seeds of nothing", 0, 1}, {"seeds of cad", 0, 1}, {"", 0, 1}} {
		if value, err := w.Make(t.Context(), campaign.Stage{Name: x.name, Spec: []byte("null"),
			Size: uint64(len(mutants))}, x.first, x.size); err == nil {
			t.Errorf("%+v: %s", x, value)
		}
	}
}

// TestSearchesOfAMutantShareNoSeed checks that each search for each mutant is performed exactly once, and that a
// mutant's searches have no seeds in common.
func TestSearchesOfAMutantShareNoSeed(t *testing.T) {
	for _, o := range []Options{{Seeds: 20_000, Starts: 8, Unaimed: true}, {First: 7, Seeds: 1, Starts: 1},
		{Seeds: seedDistance, Starts: 3}, {Seeds: seedDistance + 1, Starts: 3}} {
		made := map[place]bool{}
		for i := range o.searches() {
			at := o.place(i)
			if made[at] || at.mutant >= len(mutants) || at.number >= o.Starts || at.unaimed && !o.Unaimed {
				t.Errorf("%+v: the %dth is %+v", o, i, at)
			}
			made[at] = true
		}
		for n := range o.Starts - 1 {
			if o.start(n)+uint64(o.Seeds) > o.start(n+1) {
				t.Errorf("%+v: from %d, then from %d", o, o.start(n), o.start(n+1))
			}
		}
		if last, ok := o.Last(); !ok || last != o.start(o.Starts-1)+uint64(o.Seeds)-1 {
			t.Errorf("%+v: the last is %d, %v", o, last, ok)
		}
	}
	for _, o := range []Options{{First: 1<<64 - 1, Seeds: 2, Starts: 1}, {Seeds: 1, Starts: 1 << 50},
		{First: 1<<64 - seedDistance, Seeds: 1, Starts: 2}, {First: 1<<64 - 9, Seeds: 1, Starts: 1, Sound: 10}} {
		if last, ok := o.Last(); ok {
			t.Errorf("%+v: the last is %d", o, last)
		}
	}
}
