//go:build linux

package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/apiserver"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// TestCost gets and updates a Lease object with client-go, once with three simulated API servers, and once with a
// connection that immediately answers each request with the object that was sent most recently. It logs the processor
// time in both cases.
func TestCost(t *testing.T) {
	const requests = 1000
	work := func(dial matrixtest.Dial, addresses []string) time.Duration {
		c := &rest.Config{Host: "http://" + addresses[0], QPS: -1,
			ContentConfig: rest.ContentConfig{ContentType: "application/json"},
			Dial:          func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, addresses[0]) }}
		wire, err := rest.HTTPClientFor(c)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer utilnet.CloseIdleConnectionsFor(wire.Transport)
		client, err := coordination.NewForConfigAndClient(c, wire)
		if err != nil {
			t.Error(err)
			return 0
		}
		leases, ctx := client.Leases("default"), context.Background()
		lease, err := leases.Create(ctx, &v1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		begin := processor.Time()
		for i := range requests {
			if err == nil && i%2 == 0 {
				lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
			} else if err == nil {
				lease, err = leases.Get(ctx, "a", metav1.GetOptions{})
			}
		}
		if err != nil {
			t.Error(err)
		}
		return (processor.Time() - begin) / requests
	}
	names := []sim.ProcessID{"kubernetes-1", "kubernetes-2", "kubernetes-3"}
	matrixtest.LogSimulationCost(t, names, func(w *sim.World) {
		etcd.New(raft.Config{}, names).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	}, apiserver.Front(), work, func() net.Conn {
		client, server := net.Pipe()
		go answerAtOnce(server)
		return client
	})
}

// answerAtOnce answers each request with the most recent object that the client has sent.
func answerAtOnce(c net.Conn) {
	defer c.Close()
	in, latest := bufio.NewReader(c), []byte(nil)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if sent, err := io.ReadAll(r.Body); err == nil && len(sent) > 0 {
			latest = bytes.Clone(sent)
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(latest),
			latest)
	}
}
