package locktest_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// fenced is a mutex whose holder gets a fencing token from a counter on the server.
type fenced struct {
	*mutex
	token int64
}

func newFenced(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return &fenced{mutex: m}, nil
}

func (f *fenced) Lock(ctx context.Context) error {
	if err := f.mutex.Lock(ctx); err != nil {
		return err
	}
	reply, err := f.do("INCR", f.client.Key+":token")
	if err != nil {
		return err
	}
	f.token, err = strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
	if err == nil && !time.Now().Before(f.validUntil) {
		err = context.DeadlineExceeded // the lease has ended, so the next holder may have a lower token
	}
	return err
}

func (f *fenced) FencingToken() int64 { return f.token }

// With Fences, the resource compares each write's token with earlier tokens. It refuses a late write from a client
// whose lease ended while it was paused.
func ExampleFenced() {
	TestFenced := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newFenced, TTL: lease, Faults: locktest.Pauses,
			Precautions: locktest.Precautions{Fences: true}, Laws: locktest.FencedLaws})
	}
	_ = TestFenced
}
