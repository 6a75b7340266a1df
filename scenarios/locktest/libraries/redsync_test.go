package libraries

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// goRedis is a client of go-redis for one server.
func goRedis(c *locktest.Client, i int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: c.Addr(i), Dialer: c.DialContext})
}

// redsyncLock is a mutex of redsync.
type redsyncLock struct {
	*redsync.Mutex
	clients []*redis.Client
}

func newRedsync(c *locktest.Client) locktest.Lock {
	l := &redsyncLock{}
	var pools []rsredis.Pool
	for i := range c.Addrs {
		l.clients = append(l.clients, goRedis(c, i))
		pools = append(pools, goredis.NewPool(l.clients[i]))
	}
	l.Mutex = redsync.New(pools...).NewMutex(c.Key, redsync.WithExpiry(8*time.Second))
	return l
}

func (l *redsyncLock) Lock(ctx context.Context) error { return l.LockContext(ctx) }
func (l *redsyncLock) Unlock(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}
func (l *redsyncLock) Close() error {
	for _, c := range l.clients {
		c.Close()
	}
	return nil
}

var _ net.Conn

func TestRedsync(t *testing.T) {
	locktest.Run(t, locktest.Config{
		Servers: locktest.Redis(5), TTL: 8 * time.Second, New: newRedsync,
		Faults: locktest.Pauses, Laws: []checker.Law{checker.LeaseExclusion, checker.MutualExclusion},
	})
}
