//go:build linux

package redisserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

func TestProgramsThatAreNoRedisServer(t *testing.T) {
	old := testkit.Script(t, "redis-server", `echo "Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=a3fdef44459b3ad6"`)
	other := testkit.Script(t, "redis-server", `echo "usage: something else"; exit 1`)
	hangs := testkit.Script(t, "redis-server", `case "$1" in --version) echo "Redis server v=7.0.0";; *) echo "# Fatal: no such thing"; exit 1;; esac`)
	for program, want := range map[string]string{
		old:   old + " has version 6.0: it is too old: 6.2 or later is needed",
		other: other + ` --version does not say the version of a redis-server, but "usage: something else"`,
		"/no/such/server": "/no/such/server is no redis-server that can be executed: stat /no/such/server: " +
			"no such file or directory",
		hangs: "starting redis-1: redis-1: " + hangs + " ended by itself: it ended with exit status 1; it said\n" +
			"  # Fatal: no such thing",
	} {
		_, err := Launch(Config{Keeper: newKeeper(t), Program: program, Groups: [][]sim.ProcessID{{"redis-1"}}}, nil)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", program, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Launch(Config{Groups: [][]sim.ProcessID{{"redis-1"}}}, nil); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a redis-server: %v", err)
	}
}

// gateOf is the port of a server's on a relay of its own.
func gateOf(t *testing.T) *relay.Port {
	t.Helper()
	r := relay.New(func(err error) { t.Error(err) })
	t.Cleanup(r.Close)
	gate, err := r.Listen("redis-1", os.Getpid)
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

// TestPortThatIsTaken: another is taken.
func TestPortThatIsTaken(t *testing.T) {
	testkit.Needs(t, "redis-server")
	k := newKeeper(t)
	gate := gateOf(t)
	l, err := net.Listen("tcp", gate.Own()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	c := &settings{Config: Config{Keeper: k, Program: usual}, seven: true}
	p := &program{cfg: c, name: "redis-1", folder: filepath.Join(k.Folder(), "redis-1"), port: taken, gate: gate}
	if err := p.launch("", nil); err != nil || p.port == taken {
		t.Errorf("it listens on port %d, and %d was taken: %v", p.port, taken, err)
	}
}

// TestServerThatDies: the run fails, with the end of the server's log.
func TestServerThatDies(t *testing.T) {
	testkit.Needs(t, "redis-server")
	r := start(t, Config{})
	r.l.w.AddClient("client-1", 0, func(e sim.Env) {
		c := &client{t: t, Env: e, w: r.l.w, server: "redis-1"}
		c.as("client-1/1", "SET", "lock", "1")
		if err := syscall.Kill(r.fleet.servers["redis-1"].program.daemon.PID(), syscall.SIGSEGV); err != nil {
			t.Error(err)
		}
		c.as("client-1/1", "SET", "lock", "2")
	})
	r.l.run(t, func() bool { return r.failure() != nil })
	const want = "redis-1: redis-server ended by itself: it was ended by signal 11 (segmentation fault); it said"
	if err := r.failure(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("reported: %v", err)
	}
}

// TestFullDisk: a server that cannot write says so to its clients, or ends; either way the run goes on or fails.
func TestFullDisk(t *testing.T) {
	testkit.Needs(t, "redis-server")
	for _, p := range []store.Policy{store.Everysec, store.Always} {
		k := newKeeper(t)
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
				reply := c.as("client-1/1", "SET", fmt.Sprint("key", i), strings.Repeat("x", 4096))
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

// TestServerThatIsFullFromTheStart cannot start, and says why.
func TestServerThatIsFullFromTheStart(t *testing.T) {
	testkit.Needs(t, "redis-server")
	k := newKeeper(t)
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
