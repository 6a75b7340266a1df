package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// pool is the object that a program gets all its keys' locks from. The locks share its connection and take turns using
// it.
type pool struct {
	mu sync.Mutex
	*mutex
	owners map[string]string // the owner value of each key that the program has locked
}

func openPool(c *locktest.Client) (*pool, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return &pool{mutex: m, owners: map[string]string{}}, nil
}

func (p *pool) ask(args ...string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.do(args...)
}

// obtain waits until it has acquired a key's lock.
func (p *pool) obtain(ctx context.Context, key string) error {
	p.n++
	owner := fmt.Sprintf("%s/%d", p.client.Name, p.n)
	for ctx.Err() == nil {
		asked := time.Now()
		reply, err := p.ask("SET", key, owner, "NX", "PX", fmt.Sprint(lease.Milliseconds()))
		if err != nil {
			return err
		}
		if reply == "+OK" && time.Since(asked) < lease {
			p.owners[key] = owner
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

// giveBack releases a key's lock. kept is the name under which the pool has stored the owner value.
func (p *pool) giveBack(key, kept string) error {
	const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	reply, err := p.ask("EVAL", script, "1", key, p.owners[kept])
	if err == nil && reply != ":1" {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

// pooled is one key's lock.
type pooled struct {
	*pool
	key string
}

func newPooled(c *locktest.Client) (locktest.Lock, error) {
	p, err := locktest.Shared(c, func() (*pool, error) { return openPool(c) })
	if err != nil {
		return nil, err
	}
	return &pooled{p, c.Key}, nil
}

func (l *pooled) Lock(ctx context.Context) error { return l.obtain(ctx, l.key) }
func (l *pooled) Unlock(context.Context) error   { return l.giveBack(l.key, l.key) }

// Each client holds the locks for two keys at the same time, and gets both from one pool.
func ExampleShared() {
	TestPool := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newPooled, Locks: []string{"account", "order"}, TTL: lease,
			Faults: locktest.Pauses, Laws: locktest.LeaseLaws})
	}
	_ = TestPool
}

// forgetful is a lock from a faulty pool that stores one owner value for all keys.
type forgetful struct{ *pooled }

func newForgetful(c *locktest.Client) (locktest.Lock, error) {
	l, err := newPooled(c)
	if err != nil {
		return nil, err
	}
	return &forgetful{l.(*pooled)}, nil
}

func (l *forgetful) Lock(ctx context.Context) error {
	err := l.pooled.Lock(ctx)
	if err == nil {
		l.owners["last"] = l.owners[l.key]
	}
	return err
}

func (l *forgetful) Unlock(context.Context) error { return l.giveBack(l.key, "last") }

// TestAPoolIsOneObjectOfItsClient checks that all of a client's locks get the same pool, and that different clients get
// different pools. Therefore, Explore detects a pool that mixes up its keys' owners.
func TestAPoolIsOneObjectOfItsClient(t *testing.T) {
	own := func(open func(*locktest.Client) (locktest.Lock, error), pool func(locktest.Lock) *pool) locktest.Config {
		return locktest.Config{Locks: []string{"account", "order"}, TTL: lease, Plan: []string{}, Seeds: 4,
			New: func(c *locktest.Client) (locktest.Lock, error) {
				l, err := open(c)
				if err == nil && pool(l).client.Name != c.Name {
					panic(c.Name + " has the pool of " + pool(l).client.Name)
				}
				return l, err
			}}
	}
	locktest.Run(t, own(newPooled, func(l locktest.Lock) *pool { return l.(*pooled).pool }))
	r, _ := locktest.Explore(t, own(newForgetful, func(l locktest.Lock) *pool { return l.(*forgetful).pool }))
	if !slices.ContainsFunc(r.Breaches, func(b locktest.Breach) bool { return b.Law == checker.FaultTolerance }) {
		t.Errorf("a pool that mixes up its owners is not found: %v", r.Breaches)
	}
}
