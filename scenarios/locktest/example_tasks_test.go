package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// locker is a lock object shared by a client's tasks. They take turns using its connection.
type locker struct {
	mu sync.Mutex
	*mutex
}

func newLocker(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return &locker{mutex: m}, nil
}

// obtain waits until it has acquired the lock, and returns the owner value that it has stored in the key.
func (l *locker) obtain(ctx context.Context) (owner string, err error) {
	l.mu.Lock()
	l.n++
	owner = fmt.Sprintf("%s/%d", l.client.Name, l.n)
	l.mu.Unlock()
	for ctx.Err() == nil {
		asked := time.Now()
		reply, err := l.ask("SET", l.client.Key, owner, "NX", "PX", fmt.Sprint(lease.Milliseconds()))
		if err != nil {
			return "", err
		}
		if reply == "+OK" && time.Since(asked) < lease {
			return owner, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", ctx.Err()
}

// giveBack deletes the key if it contains the given owner value.
func (l *locker) giveBack(owner string) error {
	const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	reply, err := l.ask("EVAL", script, "1", l.client.Key, owner)
	if err == nil && reply != ":1" {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

func (l *locker) ask(args ...string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.do(args...)
}

// handle is one task's lock. It stores the owner value from the task's own acquisition.
type handle struct {
	*locker
	owner string
}

func (l *locker) ForTask(int) locktest.Lock { return &handle{locker: l} }

func (h *handle) Lock(ctx context.Context) (err error) {
	h.owner, err = h.obtain(ctx)
	return err
}

func (h *handle) Unlock(context.Context) error { return h.giveBack(h.owner) }

// Each client has two goroutines that share one lock object. ForTask gives each of them its own handle.
func ExampleTaskLock() {
	TestLocker := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newLocker, Tasks: 2, Clients: 2, TTL: lease, Faults: locktest.Pauses,
			Laws: locktest.LeaseLaws})
	}
	_ = TestLocker
}
