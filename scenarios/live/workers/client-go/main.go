// Command client-go is a client for Fencepost's runs in real time and in virtual time. It uses Kubernetes leader
// election to guard a read and a write of the protected resource.
//
// It uses kube-controller-manager's default settings. With the argument "fenced", each section has a fencing token,
// leaseTransitions plus one. With "releases", the leader gives up the lease when its section ends, or when it could not
// renew the lease (ReleaseOnCancel); otherwise its lease must expire. With "patient", requests do not have a timeout of
// their own, as in a rest.Config that does not set one; otherwise the timeout is half the renew deadline, as in
// kube-controller-manager.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const leaseDuration, renewDeadline, retryPeriod = 15 * time.Second, 10 * time.Second, 2 * time.Second

func env(name string) string { return os.Getenv("FENCEPOST_" + name) }

func main() {
	options, err := redis.ParseURL(env("RESOURCE"))
	if err != nil {
		log.Fatal(err)
	}
	options.ReadTimeout, options.MaxRetries = -1, -1 // a reply may take as long as a pause
	resource := redis.NewClient(options)
	say := func(words ...any) any {
		answer, err := resource.Do(context.Background(), words...).Result()
		if err != nil {
			log.Fatal(err)
		}
		return answer
	}
	leases := servers()
	cycles, _ := strconv.Atoi(env("CYCLES"))
	for n := range cycles {
		section(say, leases, fmt.Sprint(env("CLIENT"), "_", n))
	}
}

// servers returns a client for the API servers. Each new connection goes to the next one, as with a load balancer.
func servers() coordination.LeasesGetter {
	all := strings.Split(env("KUBERNETES"), ",")
	var dials atomic.Int64 // client-go may dial on several goroutines at once
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		u, err := url.Parse(all[int(dials.Add(1)-1)%len(all)])
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{Timeout: 30 * time.Second}).DialContext(ctx, network, u.Host)
	}
	config := &rest.Config{Host: all[0], Dial: dial,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	if !slices.Contains(os.Args, "patient") {
		config.Timeout = renewDeadline / 2
	}
	leases, err := coordination.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	return leases
}

// section takes part in the election until the client is the leader, and then does the leader's work.
func section(say func(...any) any, leases coordination.LeasesGetter, identity string) {
	name := env("LOCK")
	ctx, stop := context.WithCancel(context.Background())
	lock := &resourcelock.LeaseLock{Client: leases, LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}
	started, stopped := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{Lock: lock,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: slices.Contains(os.Args, "releases"), Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() { close(stopped) }}})
	if err != nil {
		log.Fatal(err)
	}
	say("FENCEPOST", "ACQUIRING", name)
	go elector.Run(ctx)
	<-started
	var token []any
	if slices.Contains(os.Args, "fenced") {
		record, _, err := lock.Get(ctx)
		if err != nil {
			log.Fatal(err)
		}
		token = []any{"TOKEN", record.LeaderTransitions + 1}
	}
	say(append([]any{"FENCEPOST", "ACQUIRED", name, identity}, token...)...)
	say(append([]any{"READ", name}, token...)...)
	if leads(stopped, "COMPUTE_MS") {
		say(append([]any{"WRITE", name, identity}, token...)...)
		leads(stopped, "HOLD_MS")
	}
	select {
	case <-stopped:
		say("FENCEPOST", "LOST", name, identity)
	default:
	}
	say("FENCEPOST", "RELEASING", name, identity)
	stop()
	<-stopped
	say("FENCEPOST", "RELEASED", name, identity)
}

// leads waits for the number of milliseconds in an environment variable, and reports whether the client is still the
// leader then. If the client loses the lead while waiting, leads returns false immediately.
func leads(stopped <-chan struct{}, variable string) bool {
	n, err := strconv.Atoi(env(variable))
	if err != nil {
		log.Fatal(err)
	}
	select {
	case <-stopped:
		return false
	case <-time.After(time.Duration(n) * time.Millisecond):
		return true
	}
}
