//go:build linux

package redisserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

func TestProgramsThatAreNoRedisServer(t *testing.T) {
	path, alone := os.Getenv("PATH"), [][]sim.ProcessID{{"redis-1"}}
	for script, want := range map[string]string{
		`echo "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=a3fdef44459b3ad6"`: "redis-server " +
			"has version 6.0: its version is too old: 6.2 or later is needed",
		`echo "usage: something else"; exit 1`: `redis-server --version does not print its version: it prints "usage: something else\n"`,
		`case "$1" in --version) echo "Redis server v=7.0.0";; *) echo "# Fatal: no such thing"; exit 1;; esac`: "starting " +
			"redis-1: redis-1: redis-server ended by itself: it ended with exit status 1; it printed\n  # Fatal: no " +
			"such thing",
	} {
		t.Setenv("PATH", filepath.Dir(testkit.Script(t, usualName, script))+":"+path)
		_, err := Launch(Config{Keeper: fleettest.Keeper(t), Groups: alone}, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", script, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(Config{Groups: alone}, nil); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a redis-server: %v", err)
	}
}

// TestServerThatDies checks that a run fails if a server dies, and that the error contains the end of the server's log.
func TestServerThatDies(t *testing.T) {
	testkit.Needs(t, "redis-server")
	r := start(t, Config{})
	r.l.w.AddClient("client-1", 0, func(e sim.Env) {
		c := &client{t: t, Env: e, w: r.l.w, server: "redis-1"}
		c.sendAs("client-1/1", "SET", "lock", "1")
		if err := syscall.Kill(r.fleet.all["redis-1"].Daemon.PID(), syscall.SIGSEGV); err != nil {
			t.Error(err)
		}
		c.sendAs("client-1/1", "SET", "lock", "2")
	})
	r.l.run(t, func() bool { return r.failure() != nil })
	const want = "redis-1: redis-server ended by itself: it was ended by signal 11 (segmentation fault); it printed"
	if err := r.failure(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("reported: %v", err)
	}
}

// TestFullDisk checks what happens if a server cannot write to disk. If it returns errors to its clients, the run
// continues; if it ends, the run fails.
func TestFullDisk(t *testing.T) {
	testkit.Needs(t, "redis-server")
	for _, p := range []store.Policy{store.Everysec, store.Always} {
		k := fleettest.Keeper(t)
		folder := filepath.Join(k.Folder(), "redis-1")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=128k"); err != nil {
			t.Skip("a small file system cannot be mounted: ", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
		r := startWith(t, k, Config{Persistence: p})
		refused := ""
		over := false
		r.l.w.AddClient("client-1", 0, func(e sim.Env) {
			c := &client{t: t, Env: e, w: r.l.w, server: "redis-1"}
			for i := 0; i < 1000 && refused == ""; i++ {
				reply := c.sendAs("client-1/1", "SET", fmt.Sprint("key", i), strings.Repeat("x", 4096))
				refused = reply.Error()
			}
			over = true
		})
		r.l.run(t, func() bool { return over || r.failure() != nil })
		err := r.failure()
		if (err == nil || !strings.Contains(err.Error(), "AOF write error")) && !strings.HasPrefix(refused, "MISCONF") {
			t.Errorf("%v on a full disk: clients receive %q, and the run %v", p, refused, err)
		}
	}
}

// TestServerThatIsFullFromTheStart checks that a server with a full disk cannot start, and that the error says why.
func TestServerThatIsFullFromTheStart(t *testing.T) {
	testkit.Needs(t, "redis-server")
	k := fleettest.Keeper(t)
	folder := filepath.Join(k.Folder(), "redis-1")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4k,nr_inodes=3"); err != nil {
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	_, err := Launch(Config{Keeper: k, Groups: [][]sim.ProcessID{{"redis-1"}}, Persistence: store.Always}, nil)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		t.Errorf("on a full disk: %v", err)
	}
}
