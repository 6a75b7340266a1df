package ensembles

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestRemediesHelp checks that, under the same fault, a client that complies with a remedy upholds the law that another
// client breaks.
func TestRemediesHelp(t *testing.T) {
	for _, c := range []struct {
		client, fault string
		law           checker.Law
		remedy        string
		applies       string
		precautions   locktest.Precautions
	}{
		{"zk-lock", "pause zookeeper-2 for 10s after released by client-1", checker.DeadlockFreedom,
			"After an acquire or a release that failed, end the session", "zk-anew", locktest.Precautions{}},
		{"zk-anew", "delay the WRITE of client-1 to resource by 10s", checker.ResourceSafety,
			"Let the resource compare fencing tokens", "zk-anew", locktest.Precautions{Fences: true}},
	} {
		explored := func(t *testing.T, name string, p locktest.Precautions) *locktest.Report {
			at := slices.IndexFunc(clients, func(c matrixtest.Client) bool { return c.Name == name })
			config := clients[at].Config
			config.Plan, config.Precautions, config.Laws = []string{c.fault}, p, []checker.Law{c.law}
			config.Cycles, config.Seeds = 2, 10
			r, ok := locktest.Explore(t, config)
			if !ok {
				t.FailNow()
			}
			return r
		}
		t.Run(c.client+"/"+string(c.law), func(t *testing.T) {
			r := explored(t, c.client, locktest.Precautions{})
			if len(r.Breaches) == 0 {
				t.Fatal("it keeps the law anyway")
			}
			small, err := r.Shrink(r.Breaches[0])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(strings.Fields(small.Text), " "); !strings.Contains(text, c.remedy) {
				t.Errorf("%q is not the remedy of:\n%s", c.remedy, small.Text)
			}
		})
		t.Run(c.applies+"/remedied "+string(c.law), func(t *testing.T) {
			for _, b := range explored(t, c.applies, c.precautions).Breaches {
				t.Errorf("it breaks the law too: %s", b.Story)
			}
		})
	}
}

// TestBoundingTheRequestForASessionHelps drops everything that a client sends to the first member it dials, including
// go-zookeeper's session request. The client waits so long for the reply that it violates deadlock-freedom. A client
// with a shorter timeout for that reply asks another member.
func TestBoundingTheRequestForASessionHelps(t *testing.T) {
	const fault = "cut client-1 -> zookeeper-1 at 2500us"
	stuck := func(t *testing.T, answer time.Duration) (remedies []string) {
		r, ok := locktest.Explore(t, locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, Plan: []string{fault},
			Clients: 1, Seeds: 20, Laws: []checker.Law{checker.DeadlockFreedom},
			New: func(c *locktest.Client) (locktest.Lock, error) {
				l := &zkLock{c: c, timeout: ttl, answer: answer, lost: make(chan struct{})}
				if err := l.open(); err != nil {
					return nil, err
				}
				return l, nil
			}})
		if !ok {
			t.FailNow()
		}
		for _, b := range r.Breaches {
			small, err := r.Shrink(b)
			if err != nil {
				t.Fatal(err)
			}
			remedies = append(remedies, strings.Join(strings.Fields(small.Text), " "))
		}
		return remedies
	}
	t.Run("waits", func(t *testing.T) {
		got := stuck(t, 0)
		for _, words := range []string{"no request of client-1 for the lock reached a server until",
			"remedy: set a timeout far below the ttl for each connection attempt, " +
				"each request (including the one for a session)"} {
			if len(got) == 0 || !strings.Contains(strings.ToLower(got[0]), words) {
				t.Errorf("want %q in %q", words, got)
			}
		}
	})
	t.Run("does not wait", func(t *testing.T) {
		if got := stuck(t, ttl/8); len(got) > 0 {
			t.Errorf("it is stuck, too: %q", got)
		}
	})
}
