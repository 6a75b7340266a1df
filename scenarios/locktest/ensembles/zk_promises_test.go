package ensembles

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// TestASilentMemberHoldsUpZK shows how long a client waits if it connects to a silent member even though other members
// are available: almost seven times the session timeout (ten times two thirds of it).
func TestASilentMemberHoldsUpZK(t *testing.T) {
	config := clients[len(clients)-2].Config
	config.Plan, config.Clients, config.Cycles = []string{"pause zookeeper-3 for 70s at 1ms"}, 1, 1
	config.Seeds, config.Laws = 6, []checker.Law{checker.FaultTolerance}
	r, ok := locktest.Explore(t, config)
	if ok && (len(r.Breaches) != 1 || !strings.Contains(r.Breaches[0].Story, "took 53.3")) {
		t.Errorf("%+v", r.Breaches)
	}
}

// TestWhatZKLockKeeps shows how a single fault at a specific point affects zk.Lock clients. ZOOKEEPER.md names the
// lines in the library that are responsible.
func TestWhatZKLockKeeps(t *testing.T) {
	const stuck = checker.DeadlockFreedom
	for _, c := range []struct {
		what     string
		lost     string      // the operation whose reply is lost because the connection breaks; empty: the session ends
		lock     checker.Law // the law that a client breaks if it continues after an error; empty: none
		closing  checker.Law // the law that a client breaks if it begins a new session instead
		clients  int
		careless bool
	}{
		{"the answer to create is lost: the znode is found again by its mark", "CREATE", "", "", 2, false},
		{"the answer to the list of children is lost", "GETCHILDREN2", stuck, "", 1, false},
		{"the answer to the deletion is lost", "DELETE", stuck, "", 1, false},
		{"the session of a holder ends", "", stuck, "", 1, false},
		{"the session of a holder ends that works on", "", checker.MutualExclusion, checker.MutualExclusion, 2, true},
	} {
		for i, want := range []checker.Law{c.lock, c.closing} {
			t.Run(clients[len(clients)-2+i].Name+"/"+c.what, func(t *testing.T) {
				config := clients[len(clients)-2+i].Config
				config.Servers = locktest.ZooKeeper(1)
				config.Plan = []string{"expire session of client-1 after acquired"}
				if c.lost != "" {
					config.Plan = []string{"break client-1 | zookeeper-1 before the answer to the " + c.lost}
				}
				config.Clients, config.Cycles, config.Hold, config.Seeds = c.clients, 100, 200*time.Millisecond, 5
				config.Laws = []checker.Law{stuck, checker.MutualExclusion}
				config.Precautions = locktest.Precautions{StopsWhenLost: !c.careless}
				r, ok := locktest.Explore(t, config)
				if !ok {
					return
				}
				for _, b := range r.Breaches {
					if b.Law != want {
						t.Errorf("it breaks %s: %s", b.Law, b.Story)
					}
				}
				if want != "" && r.Violated(want) == 0 || len(r.Failures) > 0 {
					t.Errorf("it breaks %+v, want %s; failures %+v", r.Breaches, want, r.Failures)
				}
			})
		}
	}
}

// curious is a lock whose client first sends a request that the simulated server does not support.
type curious struct{ *zkLock }

func (l curious) Lock(ctx context.Context) error {
	if _, err := l.conn.IncrementalReconfig(nil, nil, -1); err == nil {
		return errors.New("reconfig was answered")
	}
	return l.zkLock.Lock(ctx)
}

// curiousMutex is an etcd lock whose client first sends an unsupported request. The simulated members answer it with an
// error.
type curiousMutex struct{ *mutex }

func (l curiousMutex) Lock(ctx context.Context) error {
	if _, err := l.client.MemberRemove(ctx, 1); err == nil || !strings.Contains(err.Error(), "MemberRemove") {
		return fmt.Errorf("the removal of a member was answered: %w", err)
	}
	return l.mutex.Lock(ctx)
}

// TestWhatIsNotSimulatedIsReported checks that the report names the unsupported requests, and that every run is judged.
func TestWhatIsNotSimulatedIsReported(t *testing.T) {
	for _, c := range []struct {
		request string
		config  locktest.Config
		open    func(*locktest.Client) (locktest.Lock, error)
	}{
		{"reconfig", clients[len(clients)-2].Config, func(c *locktest.Client) (locktest.Lock, error) {
			l, err := newZKLock(c)
			if err != nil {
				return nil, err
			}
			return curious{l.(*zkLock)}, nil
		}},
		{"etcdserverpb.Cluster/MemberRemove", clients[0].Config, func(c *locktest.Client) (locktest.Lock, error) {
			l, err := newMutex(c)
			if err != nil {
				return nil, err
			}
			return curiousMutex{l.(*mutex)}, nil
		}},
	} {
		t.Run(c.request, func(t *testing.T) {
			c.config.New, c.config.Plan, c.config.Seeds = c.open, []string{}, 4
			c.config.Laws = []checker.Law{checker.MutualExclusion}
			r, ok := locktest.Explore(t, c.config)
			if ok && (r.Runs != 4 || r.UnsimulatedRequests[c.request] != 4 || len(r.Failures)+len(r.Breaches) > 0) {
				t.Errorf("%d runs, refused %v, failures %+v, breaches %+v", r.Runs, r.UnsimulatedRequests, r.Failures,
					r.Breaches)
			}
		})
	}
}
