package libraries

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// watchdog is a lock of the kind that teams write by hand: SET NX PX, a watchdog that renews the key, and DEL. It has
// two mistakes. First, the watchdog extends the key even if another client is holding the lock, so a holder never
// learns that it has lost the lock. Second, Unlock deletes the key even if another client is holding the lock.
type watchdog struct {
	client *redis.Client
	key    string
	ttl    time.Duration
	stop   context.CancelFunc
	over   sync.WaitGroup
}

func (l *watchdog) Lock(ctx context.Context) error {
	value := rand.Text()
	for {
		if got, err := l.client.SetNX(ctx, l.key, value, l.ttl).Result(); err == nil && got {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
	watching, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.over.Go(func() { l.watch(watching) })
	return nil
}

func (l *watchdog) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.ttl / 3):
			l.client.PExpire(ctx, l.key, l.ttl)
		}
	}
}

func (l *watchdog) Unlock(ctx context.Context) error {
	l.stop()
	l.over.Wait()
	return l.client.Del(ctx, l.key).Err()
}

func (l *watchdog) Close() error { return l.client.Close() }

func newWatchdog(c *locktest.Client) (locktest.Lock, error) {
	return &watchdog{client: goRedis(c, 0), key: c.Key, ttl: TTL}, nil
}

// TestTheFirstHourWithALockOfOnesOwn checks that the report lists the lock's two mistakes first, and then their
// consequences.
func TestTheFirstHourWithALockOfOnesOwn(t *testing.T) {
	r, ok := locktest.Explore(t, locktest.Config{New: newWatchdog, Faults: locktest.Pauses, Seeds: 120})
	if !ok {
		return
	}
	if len(r.Breaches) < 3 || len(r.Failures)+len(r.DifferingSeeds) > 0 {
		t.Fatalf("%+v", r)
	}
	for i, want := range []checker.CauseKind{checker.ProlongedByNonOwner, checker.RemovedByNonOwner} {
		if b := r.Breaches[i]; b.Law != checker.Ownership || b.Cause.Kind != want {
			t.Errorf("number %d is %s: %s, want ownership: %s", i+1, b.Law, b.Cause, want)
		}
	}
	for _, b := range r.Breaches[2:] {
		switch b.Cause.Kind {
		case checker.RemovedByNonOwner, checker.HolderOutlivedLease, checker.StaleEffect, checker.LostUpdate:
		default:
			t.Errorf("%s: %s follows from neither mistake", b.Law, b.Cause)
		}
	}
}

// TestCostOfAGoroutineThatNeverEnds logs the cost of a goroutine that never ends, and checks that it has no other
// effect.
func TestCostOfAGoroutineThatNeverEnds(t *testing.T) {
	c := locktest.Config{New: newWatchdog, Faults: locktest.Pauses, Seeds: testkit.Size(20, 20, 200)}
	without, ok := locktest.Explore(t, c)
	c.IgnoredGoroutines = []string{"libraries.count"}
	c.New = func(c *locktest.Client) (locktest.Lock, error) {
		go count()
		return newWatchdog(c)
	}
	with, here := locktest.Explore(t, c)
	if !ok || !here {
		return
	}
	if len(with.Failures)+with.Ignored > 0 || !maps.Equal(with.Digests(), without.Digests()) {
		t.Errorf("%+v", with)
	}
	t.Logf("%d runs: %v of processor time, %v without it", with.Runs, with.CPU, without.CPU)
}

// mistakes lists mistakes that new users make, each with the beginning of the first line that the test then prints.
var mistakes = map[string]struct {
	locktest.Config
	want string
}{
	"no dialer": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		return &watchdog{client: redis.NewClient(&redis.Options{Addr: "localhost:6379"}), key: c.Key, ttl: TTL}, nil
	}}, "the lock opened no connection: pass c.DialContext"},
	"an address of its own": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		client := redis.NewClient(&redis.Options{Addr: "localhost:6379", Dialer: c.DialContext})
		return &watchdog{client: client, key: c.Key, ttl: TTL}, nil
	}}, "worker-10 dialed localhost:6379, which is not a server of the simulated world: its servers are " +
		"10.0.0.1:6379"},
	"a prefix": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		return &watchdog{client: goRedis(c, 0), key: "orders:" + c.Key, ttl: TTL}, nil
	}}, `the servers saw no key "lock", but they saw "orders:lock": set Config.Keys`},
	"a key of its own": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		return &watchdog{client: goRedis(c, 0), key: "stock", ttl: TTL}, nil
	}}, `the servers saw no key "lock", but they saw "stock": set Config.Keys, or make the lock use c.Key`},
	"an owner value that begins another's": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		return &tokened{client: goRedis(c, 0), key: c.Key, token: c.Name}, nil
	}}, "Lock of worker-1 returned nil after "},
	"another TTL": {locktest.Config{New: newWatchdog, TTL: 30 * time.Second},
		`the key "lock" expires 8s after Lock has set it, but Config.TTL is 30s`},
	"a misspelt fault": {locktest.Config{New: newWatchdog, Faults: locktest.Faults{"paus"}},
		`locktest: Config.Faults: unknown key "paus" in mix.weights: did you mean pause or client pause?`},
	"a goroutine that never ends": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		go count()
		return newWatchdog(c)
	}}, "4 goroutines are still there ten minutes after 1 run: libraries.count (stranger_test.go:"},
	"a loop that never blocks": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		for began := time.Now(); time.Since(began) < time.Second; {
		}
		return newWatchdog(c)
	}}, "the trial run, which has no faults, failed: the run did not end within 5s of processor time: libraries."},
	"no Close": {locktest.Config{New: func(c *locktest.Client) (locktest.Lock, error) {
		return newPooled(c)
	}}, "4 goroutines are still there ten minutes after 1 run: libraries.newPooled.func1 (stranger_test.go:"},
}

// pooled is a lock with a goroutine that never ends, because the lock has no Close method.
type pooled struct {
	of  *watchdog
	end chan struct{}
}

func newPooled(c *locktest.Client) (locktest.Lock, error) {
	of, err := newWatchdog(c)
	if err != nil {
		return nil, err
	}
	l := pooled{of.(*watchdog), make(chan struct{})}
	go func() { <-l.end }()
	return l, nil
}

func (l pooled) Lock(ctx context.Context) error   { return l.of.Lock(ctx) }
func (l pooled) Unlock(ctx context.Context) error { return l.of.Unlock(ctx) }

// tokened is a redislock lock with an owner value chosen by the user. If a key's value begins with the owner value,
// Obtain acquires the lock although another client has it.
type tokened struct {
	client     *redis.Client
	key, token string
	held       *redislock.Lock
}

func (l *tokened) Lock(ctx context.Context) (err error) {
	l.held, err = redislock.New(l.client).Obtain(ctx, l.key, TTL,
		&redislock.Options{Token: l.token, RetryStrategy: redislock.LinearBackoff(retryEvery)})
	return err
}

func (l *tokened) Unlock(ctx context.Context) error { return l.held.Release(ctx) }
func (l *tokened) Close() error                     { return l.client.Close() }

// count runs forever, as a library's metrics goroutine does.
func count() {
	for {
		time.Sleep(50 * time.Millisecond)
	}
}

// mistaken is the environment variable that tells TestMistake which mistake to make.
const mistaken = "FENCEPOST_MISTAKE"

// TestMistake is a user's test that makes a mistake and therefore fails.
func TestMistake(t *testing.T) {
	name := os.Getenv(mistaken)
	if name == "" {
		t.Skip("TestTheFirstLineSaysWhatTheMistakeIs runs it")
	}
	locktest.Run(t, mistakes[name].Config)
}

// firstLine matches the first line that a failed test prints.
var firstLine = regexp.MustCompile(`--- FAIL: TestMistake.*\n\s+\w+\.go:\d+: (.*)`)

func TestTheFirstLineSaysWhatTheMistakeIs(t *testing.T) {
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			run := exec.Command(os.Args[0], "-test.run=^TestMistake$")
			run.Env = append(os.Environ(), mistaken+"="+name)
			text, err := run.CombinedOutput()
			first := firstLine.FindStringSubmatch(string(text))
			if err == nil || first == nil || !strings.HasPrefix(first[1], m.want) {
				t.Errorf("%v, want %s\n%s", err, m.want, text)
			}
		})
	}
}
