package campaign

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestResultsComeInOrderWhateverTheWorkers(t *testing.T) {
	for workers := 1; workers <= 7; workers++ {
		var got []int
		done, err := InOrder(context.Background(), workers, 100, func() func(int) (int, error) {
			return func(job int) (int, error) { return job * job, nil }
		}, func(job, square int) error {
			if square != job*job {
				t.Errorf("job %d gave %d", job, square)
			}
			got = append(got, job)
			return nil
		})
		if done != 100 || err != nil || !slices.IsSorted(got) || len(got) != 100 {
			t.Errorf("%d workers: %d done, %v, %v", workers, done, err, got)
		}
	}
}

func TestTheFirstErrorInOrderStopsAll(t *testing.T) {
	wrong := errors.New("wrong")
	for workers := 1; workers <= 4; workers++ {
		done, err := InOrder(context.Background(), workers, 1000, func() func(int) (int, error) {
			return func(job int) (int, error) {
				if job >= 37 {
					return 0, wrong
				}
				return job, nil
			}
		}, func(int, int) error { return nil })
		if done != 37 || !errors.Is(err, wrong) {
			t.Errorf("%d workers: %d done, %v", workers, done, err)
		}
	}
	if done, err := InOrder(context.Background(), 3, 1000, func() func(int) (int, error) {
		return func(job int) (int, error) { return job, nil }
	}, func(job, _ int) error {
		if job == 11 {
			return wrong
		}
		return nil
	}); done != 11 || !errors.Is(err, wrong) {
		t.Errorf("%d done, %v", done, err)
	}
}

func TestAnInterruptionLeavesAWholeBeginning(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	taken := 0
	done, err := InOrder(ctx, 3, 1_000_000, func() func(int) (int, error) {
		return func(job int) (int, error) { return job, nil }
	}, func(job, _ int) error {
		taken++
		if job == 50 {
			cancel()
		}
		return nil
	})
	if err != nil || done != taken || done < 51 || done > 100 {
		t.Errorf("%d done of %d taken, %v", done, taken, err)
	}
}
