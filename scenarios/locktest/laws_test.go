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

// counted is a plain lock with a token, which it counts on its server while it holds the lock.
type counted struct {
	plain
	token int64
}

func newCounted(c *Client) Lock { return &counted{plain: plain{c: c, ttl: 8 * time.Second}} }

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

func (l *counted) Token() int64 { return l.token }

// A sound lock keeps under each family of faults what is said of its kind; the libraries that follow a master through
// Failovers have a test of their own.
func TestASoundLockKeepsTheLawsOfItsKind(t *testing.T) {
	lease := Care{ChecksValidity: true}
	one := Redis(1)
	for _, test := range []Config{
		{Faults: Pauses, Laws: LeaseLaws, Care: lease, Servers: one},
		{Faults: Network, Laws: LeaseLaws, Care: lease, Servers: one},
		{Faults: Restarts, Without: ServerLosses, Laws: LeaseLaws, Care: lease, Servers: one},
		{Faults: Clocks, Laws: EfficiencyLaws, Servers: one},
		{Faults: Pauses, Laws: FencedLaws, Care: Care{Fences: true}, Servers: one},
		{Faults: Network, Laws: FencedLaws, Care: Care{Fences: true}, Servers: one},
		{Faults: Restarts, Without: ServerLosses, Laws: FencedLaws, Care: Care{Fences: true}, Servers: one},
		{Faults: Clocks, Laws: FencedLaws, Care: Care{Fences: true}, Servers: one},
	} {
		t.Run(fmt.Sprintf("%s fenced=%t", test.Faults[0], test.Care.Fences), func(t *testing.T) {
			if test.New, test.Seeds = newPlain, 10; testkit.Full() {
				test.Seeds = 30
			}
			if test.Care.Fences {
				test.New = newCounted
			}
			if p := examine(t, test); p != nil && len(p.failures()) > 0 {
				t.Errorf("%v\n%s", found(p), p.summary())
			}
		})
	}
}

// The loss of the only server is shown and named as not promised, until it is promised.
func TestTheLossOfAllServersIsNotPromised(t *testing.T) {
	for _, promised := range []bool{false, true} {
		t.Run(fmt.Sprint(promised), func(t *testing.T) {
			p := examine(t, Config{New: newPlain, Seeds: 2, Plan: []string{"shut down redis-1 at 1s"},
				Laws: []checker.Law{checker.DeadlockFreedom}, Availability: promised})
			if p == nil {
				return
			}
			said := strings.Contains(p.summary(), "100 %, not promised")
			if broken := found(p)["deadlock-freedom: no quorum left"] == 2; broken != promised || said == promised {
				t.Errorf("%v\n%s", found(p), p.summary())
			}
		})
	}
}

// What is the limit of every lease is said so first, and nothing else is.
func TestAPauseThatNoLeaseSurvivesIsSaidFirst(t *testing.T) {
	for name, test := range map[string]struct {
		lock  func(*Client) Lock
		limit bool
	}{
		"a sound lock":              {newPlain, true},
		"a lock that everybody has": {func(*Client) Lock { return open{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := examine(t, Config{New: test.lock, Seeds: 6, Hold: 3 * time.Second, Untried: true,
				Plan: []string{"pause client-1 for 12s after acquired"},
				Laws: []checker.Law{checker.MutualExclusion, checker.ResourceSafety}})
			if p == nil {
				return
			}
			groups := p.groups()
			if len(groups) == 0 {
				t.Fatal("nothing broke")
			}
			for _, g := range groups {
				if story := p.story(g); strings.HasPrefix(story, twoWays) != test.limit {
					t.Errorf("%s\n%s", g.Cause, story)
				}
			}
		})
	}
}
