package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// notifying is a mutex that closes a channel when its lease ends.
type notifying struct {
	*mutex
	lost chan struct{}
	end  *time.Timer
}

func newNotifying(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return &notifying{mutex: m}, nil
}

func (n *notifying) Lock(ctx context.Context) error {
	if err := n.mutex.Lock(ctx); err != nil {
		return err
	}
	lost := make(chan struct{})
	n.lost = lost
	n.end = time.AfterFunc(time.Until(n.validUntil), func() { close(lost) })
	return nil
}

func (n *notifying) Unlock(ctx context.Context) error {
	n.end.Stop()
	return n.mutex.Unlock(ctx)
}

func (n *notifying) Lost() <-chan struct{} { return n.lost }

// With StopsWhenLost, the client stops working when the channel is closed.
func ExampleLossNotifier() {
	TestNotifying := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newNotifying, TTL: lease, Faults: locktest.Pauses,
			Precautions: locktest.Precautions{StopsWhenLost: true}, Laws: locktest.LeaseLaws})
	}
	_ = TestNotifying
}
