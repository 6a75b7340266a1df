package campaign_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
)

// squares is a Work that computes the squares of numbers.
func squares(of []int) *campaign.Work[int] {
	return &campaign.Work[int]{Name: "squares", Size: len(of), Spec: of, Portion: 3,
		Fits: func(i, square int) bool { return square == of[i]*of[i] },
		Start: func() func(int) (int, error) {
			return func(i int) (int, error) { return of[i] * of[i], nil }
		}}
}

// squarer returns a worker that computes squares.
func squarer() (campaign.Worker, error) {
	return campaign.NewWorker(func(stage string, spec func(any) error) (campaign.Jobs, error) {
		var of []int
		if err := spec(&of); err != nil {
			return campaign.Jobs{}, err
		}
		return campaign.Jobs{Size: len(of), Do: func(_ context.Context, i int) (any, error) {
			return of[i] * of[i], nil
		}}, nil
	}), nil
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, 3*i+1)
	}
	return all
}

func TestAWorkIsTheSameHoweverItIsDivided(t *testing.T) {
	for _, size := range []int{1, 2, 50} {
		campaigntest.HoweverItIsDivided(t, squarer, func(hands campaign.Hands) []byte {
			var got []int
			done, err := squares(numbers(size)).Do(t.Context(), campaign.Crew{Workers: 2, Hands: hands},
				func(i, square int) error {
					if i != len(got) {
						t.Errorf("job %d came after %d others", i, len(got))
					}
					got = append(got, square)
					return nil
				})
			return fmt.Append(nil, done, err, got)
		})
	}
}

// Results may arrive in any order. Each is passed on once, when it arrives.
func TestResultsMayComeInAnyOrder(t *testing.T) {
	w := squares(numbers(50))
	w.AnyOrder = true
	var order []int
	done, err := w.Do(t.Context(), campaign.Crew{Hands: &campaigntest.Strangers{T: t, Worker: squarer}},
		func(i, square int) error {
			order = append(order, i)
			return nil
		})
	if err != nil || done != 50 || slices.IsSorted(order) {
		t.Errorf("%d done, %v, in the order %v", done, err, order)
	}
	slices.Sort(order)
	if len(slices.Compact(order)) != 50 {
		t.Errorf("results were lost or came twice: %v", order)
	}
}

// A missing result, or another Work's result, is an error. So is a lost result, unless the Work has a result for lost
// jobs.
func TestAResultThatIsNotOfTheWorkIsAnError(t *testing.T) {
	value := func(text string) func(campaign.Stage, campaign.Part) campaign.Part {
		return func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value = []byte(text); return p }
	}
	lost := func(_ campaign.Stage, p campaign.Part) campaign.Part { p.Value, p.Lost = nil, "crashed"; return p }
	for want, change := range map[string]func(campaign.Stage, campaign.Part) campaign.Part{
		"cannot be read":                 value(`["1"]`),
		"has 7 elements":                 value(`[1,2,3,4,5,6,7]`),
		"does not belong to this search": value(`[7]`),
		"was lost: crashed":              lost,
		"is beyond the last": func(s campaign.Stage, p campaign.Part) campaign.Part {
			p.First += s.Size
			return p
		},
	} {
		hands := &campaigntest.Strangers{T: t, Worker: squarer, Change: change, Parts: 4}
		_, err := squares(numbers(4)).Do(t.Context(), campaign.Crew{Hands: hands}, func(int, int) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	w, sum := squares(numbers(4)), 0
	w.Lost = func(why string) int { return -len(why) }
	hands := &campaigntest.Strangers{T: t, Worker: squarer, Change: lost}
	done, err := w.Do(t.Context(), campaign.Crew{Hands: hands}, func(_, r int) error { sum += r; return nil })
	if done != 4 || err != nil || sum != -4*len("crashed") {
		t.Errorf("%d done, %v, sum %d", done, err, sum)
	}
	if _, err := w.Do(t.Context(), campaign.Crew{Hands: campaigntest.Nothing{}}, nil); err == nil ||
		err.Error() != "only 0 of the 4 squares were completed" {
		t.Error(err)
	}
}

// An interruption is not an error. The results before the first missing one are passed on.
func TestAnInterruptionLeavesTheFirstResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hands := &campaigntest.Strangers{T: t, Worker: squarer}
	taken := 0
	done, err := squares(numbers(500)).Do(ctx, campaign.Crew{Hands: hands}, func(i, _ int) error {
		if taken++; i == 20 {
			cancel()
		}
		return nil
	})
	if err != nil || done != taken || done < 21 || done > 50 {
		t.Errorf("%d done, %d taken, %v", done, taken, err)
	}
}

// A worker refuses a stage that it cannot read, and positions outside the stage.
func TestAWorkerRefusesWhatIsNotItsWork(t *testing.T) {
	w, _ := squarer()
	spec, err := json.Marshal(numbers(4))
	if err != nil {
		t.Fatal(err)
	}
	good := campaign.Stage{Name: "squares", Spec: spec, Size: 4}
	if value, err := w.Make(t.Context(), good, 1, 2); err != nil || string(value) != "[16,49]" {
		t.Fatalf("%s, %v", value, err)
	}
	for _, x := range []struct {
		spec              string
		size, first, many uint64
	}{
		{string(spec), 4, 0, 0}, {string(spec), 4, 0, 5}, {string(spec), 4, 4, 1}, {string(spec), 4, 1<<64 - 1, 2},
		{string(spec), 5, 0, 1}, {`{"of":1}`, 4, 0, 1}, {"", 4, 0, 1},
	} {
		s := campaign.Stage{Name: "squares", Spec: []byte(x.spec), Size: x.size}
		if value, err := w.Make(t.Context(), s, x.first, x.many); err == nil {
			t.Errorf("%+v: %s", x, value)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Make(ended, good, 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
