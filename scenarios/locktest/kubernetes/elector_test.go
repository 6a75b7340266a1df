package kubernetes

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestElection checks the laws that hold for the election with its default settings. Scenarios that violate the other
// laws are in agreement_test.go.
func TestElection(t *testing.T) {
	c := clients[0].Config
	c.Seeds, c.Laws, c.Without = 50, []checker.Law{checker.Ownership, checker.TokenOrder}, locktest.ServerDataLoss
	locktest.Run(t, c)
}

// clients lists the clients under test: with kube-controller-manager's and controller-runtime's defaults, and with
// ReleaseOnCancel (controller-runtime's LeaderElectionReleaseOnCancel).
var clients = []matrixtest.Client{
	{Name: "election", Config: locktest.Config{Servers: locktest.Kubernetes(3), TTL: 15 * time.Second,
		New: defaults.join}},
	{Name: "release-on-cancel", Config: locktest.Config{Servers: locktest.Kubernetes(3), TTL: 15 * time.Second,
		New: releasing.join}},
}

type settings struct {
	leaseDuration, renewDeadline, retryPeriod time.Duration
	// The request timeout: half the renew deadline (resourcelock.NewFromKubeconfig).
	timeout time.Duration
	release bool
	// how long a process keeps its identity: per-acquire, per-client, or fixed (one identity for all)
	identity string
}

var (
	defaults  = settings{15 * time.Second, 10 * time.Second, 2 * time.Second, 5 * time.Second, false, "per-acquire"}
	releasing = settings{15 * time.Second, 10 * time.Second, 2 * time.Second, 5 * time.Second, true, "per-acquire"}
)

// requestTimeout returns the timeout for a request. It is slightly longer than s.timeout, because executing code takes
// no virtual time in a simulation. With s.timeout, if two requests in a row got no answer, the second one would time
// out exactly at the renew deadline, and which of the two timers fires first would be random. On a real machine, the
// second request starts a little later, so the deadline comes first.
func (s settings) requestTimeout() time.Duration { return s.timeout + time.Microsecond }

// TestNoRequestEndsAtTheRenewDeadline checks requests that remain unanswered and are sent one after another from the
// beginning of a renewal. None of them may time out exactly at the renew deadline. Otherwise equal seeds would give
// different runs: in a synctest bubble, if two timers fire at the same instant, their order differs between processes.
func TestNoRequestEndsAtTheRenewDeadline(t *testing.T) {
	for _, s := range []settings{defaults, releasing} {
		if s.renewDeadline%s.requestTimeout() == 0 {
			t.Errorf("%d requests of %v take exactly the renew deadline, %v", s.renewDeadline/s.requestTimeout(),
				s.requestTimeout(), s.renewDeadline)
		}
	}
}

// elector is a client that takes part in an election from Lock to Unlock.
type elector struct {
	settings
	client  *locktest.Client
	leases  coordination.LeasesGetter
	terms   int
	record  *recorder
	stop    context.CancelFunc
	stopped chan struct{}
}

// join creates an API server client. It emulates a load balancer: each new connection goes to the next server.
func (s settings) join(c *locktest.Client) (locktest.Lock, error) {
	dials := 0
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		dials++
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // as in client-go's own dialer (transport/cache.go)
		defer cancel()
		return c.DialContext(ctx, network, c.Addr((dials-1)%len(c.Addrs)))
	}
	// client-go caches each Dial function's transport forever. The transport's connections and their timers would
	// affect later runs. client-go does not cache a transport that has a Proxy function, because it cannot compare such
	// functions.
	direct := func(*http.Request) (*url.URL, error) { return nil, nil }
	leases, err := coordination.NewForConfig(&rest.Config{Host: "http://" + c.Addr(0), Dial: dial, Proxy: direct,
		Timeout: s.requestTimeout(), ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		return nil, err
	}
	return &elector{settings: s, client: c, leases: leases}, nil
}

// name returns the identity that the process writes to the record.
func (e *elector) name() string {
	switch e.identity {
	case "fixed":
		return "controller"
	case "per-client":
		return e.client.Name
	}
	return e.client.Name + "_" + strconv.Itoa(e.terms)
}

// Lock waits until OnStartedLeading has been called.
func (e *elector) Lock(ctx context.Context) error {
	e.terms++
	e.record = &recorder{Interface: &resourcelock.LeaseLock{Client: e.leases,
		LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: e.client.Key},
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.name()}}}
	started, stopped := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{Lock: e.record,
		LeaseDuration: e.leaseDuration, RenewDeadline: e.renewDeadline, RetryPeriod: e.retryPeriod,
		ReleaseOnCancel: e.release, Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { close(stopped) }}})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(e.client.Context())
	e.stop, e.stopped = stop, stopped
	go elector.Run(run)
	select {
	case <-started:
		return nil
	case <-ctx.Done():
		stop()
		<-stopped
		return ctx.Err()
	}
}

// Unlock ends the leader's term.
func (e *elector) Unlock(context.Context) error {
	e.stop()
	<-e.stopped
	return nil
}

// Lost returns a channel that OnStoppedLeading closes.
func (e *elector) Lost() <-chan struct{} { return e.stopped }

// FencingToken returns leaseTransitions plus one.
func (e *elector) FencingToken() int64 { return int64(e.record.transitions) + 1 }

// recorder stores the leaseTransitions of the last record that was written.
type recorder struct {
	resourcelock.Interface
	transitions int
}

func (r *recorder) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	r.transitions = record.LeaderTransitions
	return r.Interface.Create(ctx, record)
}

func (r *recorder) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	r.transitions = record.LeaderTransitions
	return r.Interface.Update(ctx, record)
}
