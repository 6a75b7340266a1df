package locktest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// counted is a plain lock with a fencing token. To get the token, it increments a counter on its server while it holds
// the lock.
type counted struct {
	plain
	token int64
}

func newCounted(c *Client) (Lock, error) {
	return &counted{plain: plain{c: c, ttl: 8 * time.Second}}, nil
}

func (l *counted) Lock(ctx context.Context) error {
	if err := l.plain.Lock(ctx); err != nil {
		return err
	}
	said, err := l.do(ctx, "INCR", l.c.Key+":token")
	if err != nil {
		return err
	}
	l.token, err = strconv.ParseInt(strings.TrimPrefix(said, ":"), 10, 64)
	if err == nil && !time.Now().Before(l.until) {
		err = context.DeadlineExceeded
	}
	return err
}

func (l *counted) FencingToken() int64 { return l.token }

// TestASoundLockKeepsTheLawsOfItsKind checks that, under each group of faults, a sound lock of each kind upholds the
// laws that the documentation lists for its kind. Another test covers libraries that switch to the new master after a
// failover, with the faults in Failovers.
func TestASoundLockKeepsTheLawsOfItsKind(t *testing.T) {
	lease := Precautions{ChecksValidity: true}
	one := Redis(1)
	for _, test := range []Config{
		{Faults: Pauses, Laws: LeaseLaws, Precautions: lease, Servers: one},
		{Faults: Network, Laws: LeaseLaws, Precautions: lease, Servers: one},
		{Faults: Restarts, Without: ServerDataLoss, Laws: LeaseLaws, Precautions: lease, Servers: one},
		{Faults: Clocks, Laws: EfficiencyLaws, Servers: one},
		{Faults: Pauses, Laws: FencedLaws, Precautions: Precautions{Fences: true}, Servers: one},
		{Faults: Network, Laws: FencedLaws, Precautions: Precautions{Fences: true}, Servers: one},
		{Faults: Restarts, Without: ServerDataLoss, Laws: FencedLaws, Precautions: Precautions{Fences: true},
			Servers: one},
		{Faults: Clocks, Laws: FencedLaws, Precautions: Precautions{Fences: true}, Servers: one},
	} {
		t.Run(fmt.Sprintf("%s fenced=%t", test.Faults[0], test.Precautions.Fences), func(t *testing.T) {
			testkit.OneIn(t, 4)
			if test.New, test.Seeds = newPlain, testkit.Size(2, 4, 30); test.Precautions.Fences {
				test.New = newCounted
			}
			if p := examine(t, test); p != nil && (len(p.failures()) > 0 || len(p.runs) != test.Seeds) {
				t.Errorf("%d runs of %d: %v %v\n%s", len(p.runs), test.Seeds, found(p), p.problems, p.summary())
			}
		})
	}
}

// TestTheLossOfAllServersIsNotPromised checks what happens if the only server never comes back. The report must say
// that deadlock-freedom is violated, but the test must not fail unless Config.Availability is set.
func TestTheLossOfAllServersIsNotPromised(t *testing.T) {
	for _, promised := range []bool{false, true} {
		t.Run(fmt.Sprint(promised), func(t *testing.T) {
			p := examine(t, Config{New: newPlain, Seeds: 2, Plan: []string{"shut down redis-1 at 1s"},
				Laws: []checker.Law{checker.DeadlockFreedom}, Availability: promised})
			if p == nil {
				return
			}
			said := strings.Contains(p.summary(), "100%, not promised")
			if broken := found(p)["deadlock-freedom: no quorum left"] == 2; broken != promised || said == promised {
				t.Errorf("%v\n%s", found(p), p.summary())
			}
		})
	}
}

// TestWhatServersDoToEveryLeaseIsSaidFirst checks that the explanation begins with the server fault if that fault
// breaks every lock with a lease. The same run without the fault must not violate any law.
func TestWhatServersDoToEveryLeaseIsSaidFirst(t *testing.T) {
	unsynced := "cut redis-1 -> redis-1-replica-1 at 1s for 3s"
	for name, test := range map[string]struct {
		lock        constructor
		servers     Servers
		plan, mends []string // mends is the plan without the fault that causes the violation
		want        limit
	}{
		"a clock that is set ahead": {newPlain, Redis(1), []string{"jump redis-1 clock by +30s at 2s"},
			[]string{noEffect}, clocks},
		"a clock that runs fast": {newPlain, Redis(1), []string{"drift redis-1 clock by +400000ppm from 0s for 60s"},
			[]string{noEffect}, drifts},
		"a disk that is lost": {newPlain, Redis(1),
			[]string{"crash redis-1 losing everything at 2s, restart after 500ms"},
			[]string{"crash redis-1 losing everything at 2s, restart after 9s"}, losses},
		"writes that were not synced": {newPlain, Redis(1).Persisting("no"),
			[]string{"crash redis-1 losing unsynced writes at 2s, restart after 500ms"},
			[]string{"shut down redis-1 at 2s, restart after 500ms"}, losses},
		"a failover": {newFollower, Redis(1).Replicated(1), []string{unsynced,
			"fail over redis-1 to redis-1-replica-1 at 2s"},
			[]string{unsynced}, failovers},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			config := Config{New: test.lock, Servers: test.servers, Seeds: testkit.Size(2, 2, 6), Hold: 7 * time.Second,
				SkipTrial: true, Plan: test.plan, Laws: []checker.Law{checker.MutualExclusion, checker.ResourceSafety}}
			if p := examine(t, config); p != nil { // in a worker process for the second call, p is nil
				groups := p.groups()
				if len(groups) == 0 {
					t.Fatal("nothing broke")
				}
				for _, g := range groups {
					if story := p.story(g); g.Limit != test.want || !strings.HasPrefix(story, waysOn[test.want]) {
						t.Errorf("%q: %s: %s\n%s", g.Limit, g.Law, g.Cause, story)
					}
				}
			}
			config.Plan = test.mends
			if p := examine(t, config); p != nil && (len(p.groups()) > 0 || len(p.runs) != config.Seeds) {
				t.Errorf("without its cause, %d runs of %d: %v %v", len(p.runs), config.Seeds, found(p), p.problems)
			}
		})
	}
}

// follower is a plain lock that switches to the other server if the current one replies that it is a replica.
type follower struct{ plain }

func newFollower(c *Client) (Lock, error) { return &follower{plain{c: c, ttl: 8 * time.Second}}, nil }

func (l *follower) Lock(ctx context.Context) error {
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		err := l.plain.Lock(short)
		cancel()
		if err == nil {
			return nil
		}
		if said, _ := l.do(ctx, "SET", l.c.Key+":", "1", "PX", "1"); strings.HasPrefix(said, "-READONLY") {
			l.Close()
			l.conn, l.at = nil, 1-l.at
		}
	}
	return ctx.Err()
}
