//go:build linux

package ensembles

import (
	"context"

	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// realEtcd starts Debian's etcd, 3.4, with no data, and returns its address. What it writes is kept in memory.
func realEtcd(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		if full() {
			t.Fatal(err)
		}
		t.Skip("there is no etcd here: apt install etcd-server")
	}
	folder, err := os.MkdirTemp("/dev/shm", "fencepost-etcd-")
	if err != nil {
		t.Fatal(err)
	}
	client, peer := freeAddress(t), freeAddress(t)
	cmd := exec.Command(program, "--data-dir", folder, "--listen-client-urls", "http://"+client,
		"--advertise-client-urls", "http://"+client, "--listen-peer-urls", "http://"+peer,
		"--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer,
		"--log-level", "error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(folder)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := dial(t, client)
	if _, err := c.Status(ctx, client); err != nil {
		t.Fatal(err)
	}
	return client
}

func freeAddress(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// simulatedEtcd serves a simulated member on a port of this machine, and returns its address.
func simulatedEtcd(t *testing.T) string {
	t.Helper()
	clock, err := realtime.NewHostClock()
	if err != nil {
		t.Fatal(err)
	}
	w := sim.New(1, sim.Options{Endless: true, Wall: clock.Begin().UnixNano()})
	members := etcd.New(raft.Config{}, []sim.ProcessID{"etcd-1"})
	members.AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	w.AddClient("programs", 0, func(env sim.Env) { env.Sleep(sim.Forever) })
	loop := realtime.NewLoop(w, clock)
	gate := realtime.NewGate(loop, front.Etcd{}, "programs")
	at, err := gate.Listen("127.0.0.1", "etcd-1")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	stop := false
	go func() {
		defer close(over)
		loop.Run(sim.Time(sim.Forever), func() bool { return stop })
	}()
	t.Cleanup(func() {
		loop.Do(func() { stop = true })
		<-over
		gate.Close()
		clock.Close()
		if err := loop.Err(); err != nil {
			t.Error(err)
		}
	})
	return at.String()
}

// dial opens etcd's client to one address.
func dial(t *testing.T, address string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// connect opens a connection of gRPC to one address.
func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
