package libraries

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// rueidisLock is a lock of rueidislock, which keeps itself alive and tells by its context that it is lost.
type rueidisLock struct {
	locker rueidislock.Locker
	c      *locktest.Client
	ctx    context.Context
	cancel context.CancelFunc
	fence
}

func newRueidislock(c *locktest.Client, fenced bool) locktest.Lock {
	locker, err := rueidislock.NewLocker(
		rueidislock.LockerOption{KeyMajority: 1, KeyValidity: TTL, ClientOption: rueidis.ClientOption{
			InitAddress: []string{c.Addr(0)}, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true,
			RetryDelay: evenly,
			DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return within(ctx, d.Timeout, c, addr)
			}}})
	if err != nil {
		return locktest.Refused(err)
	}
	return &rueidisLock{locker: locker, c: c, fence: fence{on: fenced}}
}

// evenly is rueidis' own delay before a retry (retry.go, defaultRetryDelayFn), without its jitter: that is drawn by
// math/rand/v2, which cannot be seeded.
func evenly(attempts int, _ rueidis.Completed, _ error) time.Duration {
	return min(time.Second, time.Duration(1<<min(20, attempts))*time.Microsecond*3/2)
}

func (l *rueidisLock) Lock(ctx context.Context) (err error) {
	if l.ctx, l.cancel, err = l.locker.WithContext(ctx, l.c.Key); err != nil {
		return err
	}
	client := l.locker.Client()
	return l.take(ctx, l, func() (int64, error) {
		return client.Do(l.ctx, client.B().Incr().Key(counter(l.c)).Build()).AsInt64()
	}, func() bool { return l.ctx.Err() == nil })
}

func (l *rueidisLock) Unlock(context.Context) error {
	l.cancel()
	return nil
}

func (l *rueidisLock) Lost() <-chan struct{} { return l.ctx.Done() }

func (l *rueidisLock) Close() error {
	l.locker.Close()
	return nil
}
