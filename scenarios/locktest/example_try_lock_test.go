package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// tryLock is a mutex that gives up when its context ends, even if a server has not answered yet.
type tryLock struct{ *mutex }

func newTryLock(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return tryLock{m}, nil
}

// Lock deletes the key if it does not acquire the lock, because the server may have set the key even though its answer
// was lost.
func (l tryLock) Lock(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	l.conn.SetDeadline(deadline)
	err := l.mutex.Lock(ctx)
	l.conn.SetDeadline(time.Time{})
	if err != nil {
		l.cleanUp()
	}
	return err
}

// cleanUp deletes the key on a new connection, because a late answer may still arrive on the old one.
func (l tryLock) cleanUp() {
	m, err := openMutex(l.client)
	if err != nil {
		return // then the key ends with its lease
	}
	l.conn.Close()
	l.conn, l.replies = m.conn, m.replies
	l.conn.SetDeadline(time.Now().Add(time.Second))
	l.mutex.Unlock(context.Background())
	l.conn.SetDeadline(time.Time{})
}

// With Patience, Lock's context ends after a while. The test also checks what Lock leaves on the servers when it gives
// up: a leftover key must not make other clients wait longer than a lease.
func ExampleConfig_patience() {
	TestTryLock := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newTryLock, Patience: 3 * time.Second, TTL: lease,
			Faults: locktest.Network, Laws: locktest.LeaseLaws})
	}
	_ = TestTryLock
}
