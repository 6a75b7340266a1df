package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/recorder"
)

// Mutex lists the lock library methods that a service uses. redsync.Mutex has them.
type Mutex interface {
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context) (bool, error)
	Until() time.Time
}

// workLocked does work while holding a lock, and records it.
func workLocked(ctx context.Context, r *recorder.Recorder, name history.Lock, m Mutex, work func()) error {
	a := r.Acquiring(name)
	if err := m.LockContext(ctx); err != nil {
		a.NotAcquired(history.Info) // some of its keys may have been set
		return err
	}
	a.Acquired(m.Until(), 0)
	work()
	a.Releasing()
	ok, err := m.UnlockContext(ctx)
	switch {
	case ok:
		a.Released(history.OK)
	case err == nil:
		a.Released(history.Fail)
	default:
		a.Released(history.Info)
	}
	return err
}

// broken is a lock that admits everybody.
type broken struct{}

func (broken) LockContext(context.Context) error           { return nil }
func (broken) UnlockContext(context.Context) (bool, error) { return true, nil }
func (broken) Until() time.Time                            { return time.Now().Add(time.Minute) }

func Example() {
	var file bytes.Buffer // usually recorder.Create
	r, err := recorder.New(&file, recorder.Options{Process: "orders-7", ClockError: 2 * time.Millisecond,
		Header: history.Header{Locks: []history.Lock{"stock"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	err = workLocked(ctx, r, "stock", broken{}, func() {
		err := workLocked(ctx, r, "stock", broken{}, func() {}) // another request of the service at the same time
		if err != nil {
			fmt.Println(err)
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	if err := r.Close(); err != nil {
		fmt.Println(err)
	}
	h, err := history.Decode(&file) // usually fencepost check FILE
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, law := range []checker.Law{checker.MutualExclusion, checker.LeaseExclusion, checker.Ownership} {
		fmt.Println(law, checker.Check(h).Of(law).Outcome)
	}
	// Output:
	// mutual-exclusion violated
	// lease-exclusion violated
	// ownership unchecked
}
