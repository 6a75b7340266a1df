//go:build linux

package ensembles

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/etcd/front"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	zkfront "github.com/fencepost-sim/fencepost/sim/zookeeper/front"
)

// realEtcd starts Debian's etcd 3.4 without data, and returns its address. The data directory is in memory.
func realEtcd(t *testing.T) string {
	t.Helper()
	testkit.Needs(t, "etcd")
	folder, err := os.MkdirTemp("/dev/shm", "fencepost-etcd-")
	if err != nil {
		t.Fatal(err)
	}
	client, peer := net.JoinHostPort(testkit.FreeAddress(t)), net.JoinHostPort(testkit.FreeAddress(t))
	cmd := exec.Command("etcd", "--data-dir", folder, "--listen-client-urls", "http://"+client,
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

// simulatedEtcd serves a simulated member, and returns its address.
func simulatedEtcd(t *testing.T) string {
	t.Helper()
	members := []sim.ProcessID{"etcd-1"}
	return served(t, members, func(w *sim.World) {
		etcd.New(raft.Config{}, members).AddTo(func(id sim.ProcessID, s sim.Server) { w.AddServer(id, s) })
	}, front.Etcd{})[0]
}

// zooKeepers lists the servers that programs are tested with.
var zooKeepers = map[string]func(*testing.T) string{"simulated": simulatedZooKeeper, "real": realZooKeeper}

// realZooKeeper starts Debian's ZooKeeper as a single server, and returns its address.
func realZooKeeper(t *testing.T) string {
	t.Helper()
	const classes = "/usr/share/java/zookeeper.jar"
	testkit.Needs(t, "java")
	if _, err := os.Stat(classes); err != nil {
		testkit.Lacks(t, fmt.Errorf("%w: apt install libzookeeper-java", err))
	}
	host, port := testkit.FreeAddress(t)
	cmd := exec.Command("java", "-Xmx64m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dznode.container.checkIntervalMs=100000000", "-cp", classes,
		"org.apache.zookeeper.server.ZooKeeperServerMain", port, t.TempDir(), "2000", "0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return net.JoinHostPort(host, port)
}

// simulatedZooKeeper serves a simulated ensemble with three members, and returns their addresses.
func simulatedZooKeeper(t *testing.T) string {
	t.Helper()
	members := []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}
	return strings.Join(served(t, members, func(w *sim.World) {
		zookeeper.NewEnsemble(zookeeper.Config{}, members).AddTo(w.AddServer)
	}, zkfront.ZooKeeper{}), ",")
}

// dial opens etcd's client for one address.
func dial(t *testing.T, address string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// connect opens a gRPC connection to one address.
func connect(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
