package libraries

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// failFast uses redsync with WithFailFast, as its documentation shows. An attempt to acquire the lock ends as soon as a
// majority of the servers has granted or refused it. The requests to the other servers continue, and go-redis opens
// connections for them while it is holding a mutex.
var failFast = locktest.Config{Servers: locktest.Redis(3), TTL: TTL, Compute: TTL * 5 / 2, Cycles: 2,
	Faults: locktest.Network, Laws: []checker.Law{checker.Ownership},
	Precautions: locktest.Precautions{ChecksValidity: true, StopsWhenLost: true, ExtendEvery: TTL / 3},
	New: func(c *locktest.Client) (locktest.Lock, error) {
		return newRedsync(onGoRedis, with(redsync.WithFailFast(true)))(c, false)
	}}

// notified is a lock that uses SET NX PX. As in many locks, waiting clients subscribe to keyspace notifications instead
// of polling. To subscribe, go-redis dials while it is holding a mutex that its pings need.
type notified struct {
	client *redis.Client
	key    string
	value  string
	until
}

func newNotified(c *locktest.Client) (locktest.Lock, error) {
	return &notified{client: goRedis(c, 0), key: c.Key}, nil
}

func (l *notified) Lock(ctx context.Context) error {
	l.client.ConfigSet(ctx, "notify-keyspace-events", "KEA")
	subscription := l.client.Subscribe(ctx, "__keyspace@0__:"+l.key)
	defer subscription.Close()
	events := subscription.Channel()
	for {
		l.value = rand.Text()
		asked := time.Now()
		ok, err := l.client.SetNX(ctx, l.key, l.value, TTL).Result()
		if ok && err == nil && time.Since(asked) < TTL {
			l.begun(asked)
			return nil
		}
		if ok || err != nil {
			l.Unlock(ctx) // delete the key, which may have been set
		}
		look := time.After(2 * time.Second) // in case a notification was lost
		for waits := true; waits; {
			select {
			case e := <-events:
				waits = e == nil || e.Payload != "del" && e.Payload != "expired"
			case <-look:
				waits = false
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (l *notified) Unlock(ctx context.Context) error {
	n, err := release.Run(ctx, l.client, []string{l.key}, l.value).Int()
	if err == nil && n == 0 {
		return errNotOwner
	}
	return err
}

func (l *notified) Close() error { return l.client.Close() }

// TestAMutexThatIsHeldOverADial checks that a mutex held during a dial does not stop any run, and that the same seed
// gives the same run.
func TestAMutexThatIsHeldOverADial(t *testing.T) {
	for name, c := range map[string]locktest.Config{"redsync": failFast,
		"notified": {Servers: locktest.Redis(1), TTL: TTL, Faults: locktest.Restarts, Laws: checker.Laws,
			New: newNotified}} {
		t.Run(name, func(t *testing.T) { matrixtest.EqualSeedsGiveEqualRuns(t, c, 10) })
	}
}

// TestSoundLocksSurviveRestarts checks that clients stop dialing a server that is down, and stop waiting for a reply
// that the server will never send.
func TestSoundLocksSurviveRestarts(t *testing.T) {
	for name, lock := range map[string]func(*locktest.Client) (locktest.Lock, error){
		"notified by go-redis": newNotified,
		"on go-redis":          newHandmade(drivers["go-redis"], handmade{release: byScript}),
		"on redigo":            newHandmade(drivers["redigo"], handmade{release: byScript}),
		"on rueidis":           newHandmade(drivers["rueidis"], handmade{release: byScript}),
	} {
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, locktest.Config{Servers: locktest.Redis(1), TTL: TTL, Faults: locktest.Restarts,
				Without: locktest.ServerDataLoss, Laws: locktest.LeaseLaws, Seeds: testkit.Size(25, 100, 1000),
				Precautions: locktest.Precautions{ChecksValidity: true, StopsWhenLost: true}, New: lock})
		})
	}
}
