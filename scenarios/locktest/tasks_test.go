package locktest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// inObject is a lock with the mistake described in https://github.com/redis/redis-py/issues/416: it stores the owner
// value in the object that the tasks share. It does not have a ForTask method.
type inObject struct {
	locker *locker
	owner  string
}

func newInObject(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	return &inObject{locker: &locker{mutex: m}}, err
}

func (o *inObject) Lock(ctx context.Context) error {
	owner, err := o.locker.obtain(ctx)
	if err == nil {
		o.owner = owner
	}
	return err
}

func (o *inObject) Unlock(context.Context) error {
	owner := o.owner
	o.owner = ""
	return o.locker.giveBack(owner)
}

// byClient is a lock that a client may acquire again while it is holding it. Therefore, one task mistakes another
// task's hold for its own.
type byClient struct{ locker *locker }

func newByClient(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	return byClient{&locker{mutex: m}}, err
}

func (b byClient) Lock(ctx context.Context) error {
	const script = `local owner = redis.call("get", KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
return 1`
	for ctx.Err() == nil {
		asked := time.Now()
		reply, err := b.locker.ask("EVAL", script, "1", b.locker.client.Key, b.locker.client.Name,
			fmt.Sprint(lease.Milliseconds()))
		if err != nil || reply == ":1" && time.Since(asked) < lease {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (b byClient) Unlock(context.Context) error { return b.locker.giveBack(b.locker.client.Name) }

// piped is a lock that sends all tasks' requests on one goroutine.
type piped struct {
	*inObject
	requests chan func()
}

func newPiped(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	p := &piped{&inObject{locker: &locker{mutex: m}}, make(chan func())}
	go func() {
		for f := range p.requests {
			go f() // starts the next one while this one waits for its reply
		}
	}()
	return p, err
}

func (p *piped) Lock(ctx context.Context) (err error) {
	done := make(chan struct{})
	p.requests <- func() {
		defer close(done)
		err = p.inObject.Lock(ctx)
	}
	<-done
	return err
}

func (p *piped) Close() error {
	close(p.requests)
	return p.locker.Close()
}

// handless is a lock with a ForTask method that does not return a Lock for the second task.
type handless struct{ *inObject }

func (h handless) ForTask(n int) locktest.Lock {
	if n == 2 {
		return nil
	}
	return h.inObject
}

// TestTasksShareTheLockObjectOfTheirClient runs three kinds of locks. If a lock has an owner value for each
// acquisition, it does not violate any lease law, under all fault groups that leases survive. If the owner value is in
// the shared object, the next task overwrites it, and the first task then deletes the second task's key. If a lock
// compares only client names, two of a client's tasks can hold it at the same time.
func TestTasksShareTheLockObjectOfTheirClient(t *testing.T) {
	removed := checker.Cause{Kind: checker.RemovedByNonOwner}
	overwritten := checker.Cause{Kind: checker.RemovedByNonOwner, Detail: checker.Overwritten}
	for _, test := range []struct {
		name   string
		open   func(*locktest.Client) (locktest.Lock, error)
		faults locktest.Faults
		causes []checker.Cause // expected causes of breaches of lease-exclusion; none: sound
	}{
		{"sound, pauses", newLocker, locktest.Pauses, nil},
		{"sound, network", newLocker, locktest.Network, nil},
		{"sound, restarts", newLocker, locktest.Restarts, nil},
		{"in the object", newInObject, locktest.Pauses, []checker.Cause{removed}},
		{"by client", newByClient, locktest.Pauses, []checker.Cause{overwritten, removed}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			c := locktest.Config{New: test.open, Tasks: 2, Clients: 2, TTL: lease, Faults: test.faults,
				Without: locktest.ServerDataLoss, Laws: locktest.LeaseLaws, Seeds: testkit.Size(2, 5, 200)}
			first, ok := locktest.Explore(t, c)
			again, okAgain := locktest.Explore(t, c)
			if !ok || !okAgain {
				return
			}
			var causes []checker.Cause
			for _, b := range first.Breaches {
				if b.Law == checker.LeaseExclusion {
					causes = append(causes, b.Cause)
				}
			}
			if !slices.Equal(causes, test.causes) || len(causes) == 0 && len(first.Breaches) > 0 {
				t.Errorf("lease-exclusion is broken by %v, want %v: %+v", causes, test.causes, first.Breaches)
			}
			if len(first.Digests()) != c.Seeds || !maps.Equal(first.Digests(), again.Digests()) {
				t.Errorf("%d runs, and %d runs that are not equal", len(first.Digests()), len(again.Digests()))
			}
		})
	}
}

// TestALockThatCannotBeSharedIsAFailure checks that a run fails and is not judged if a request cannot be attributed to
// a task, or if ForTask does not return a Lock for a task.
func TestALockThatCannotBeSharedIsAFailure(t *testing.T) {
	for _, test := range []struct {
		name, want string
		open       func(*locktest.Client) (locktest.Lock, error)
	}{
		{"piped", "SET was sent by a goroutine that none of their calls has started", newPiped},
		{"no handle", "ForTask returned no Lock for task 2 of client-1",
			func(c *locktest.Client) (locktest.Lock, error) {
				m, err := openMutex(c)
				return handless{&inObject{locker: &locker{mutex: m}}}, err
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, ok := locktest.Explore(t, locktest.Config{New: test.open, Tasks: 2, Clients: 1, Plan: []string{},
				TTL: lease, Seeds: 1, SkipTrial: true})
			if ok && (len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Text, test.want)) {
				t.Errorf("%+v, want %q", r.Failures, test.want)
			}
		})
	}
}
