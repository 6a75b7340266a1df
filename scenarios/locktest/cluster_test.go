package locktest

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// TestNamesOfServersHaveAddresses checks that, in each run, Redis Cluster clients can look up the host names that its
// members report.
func TestNamesOfServersHaveAddresses(t *testing.T) {
	lookUp := func(c *Client) error {
		for i, name := range []string{"redis-1", "redis-2", "redis-3", "redis-1-replica-1"} {
			all, err := net.LookupHost(name)
			if want, _, _ := net.SplitHostPort(c.Addr(i)); err != nil || !slices.Equal(all, []string{want}) {
				panic(fmt.Sprintf("%s has the addresses %v, want %s: %v", name, all, want, err))
			}
		}
		return nil
	}
	p := examine(t, Config{Servers: Redis(3).Replicated(1).Clustered(time.Second), Seeds: 3, SkipTrial: true,
		Plan: []string{noEffect}, Laws: []checker.Law{checker.Ownership},
		New: making(func(c *Client) Lock { return &elsewhere{plain{c: c, ttl: 8 * time.Second, at: 1}, lookUp} })})
	if p == nil {
		return
	}
	if len(p.runs) != 3 {
		t.Errorf("%d runs, want 3: %v", len(p.runs), p.problems)
	}
	for _, r := range p.runs {
		if r.Failure != "" {
			t.Error(r.Failure)
		}
	}
}

// TestOneMasterOfAClusterServesALock checks that a lock on a Redis Cluster works as long as its key's master is up. It
// does not need a majority of the masters.
func TestOneMasterOfAClusterServesALock(t *testing.T) {
	c := Config{Servers: Redis(5).Replicated(1).Clustered(2 * time.Second)}
	s, err := c.scenario("lock")
	if err != nil {
		t.Fatal(err)
	}
	if s.Servers.NodeTimeout != 2*time.Second || !s.Servers.Cluster || s.Servers.Replicas != 1 || s.Servers.N != 5 {
		t.Errorf("%+v", s.Servers)
	}
	if quorum := locks.Define(locks.FromLibrary).Quorum(&s.Clients[0].Lock); quorum != 1 {
		t.Errorf("the quorum is %d", quorum)
	}
}
