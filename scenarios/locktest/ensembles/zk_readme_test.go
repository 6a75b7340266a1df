package ensembles

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// begin: ZOOKEEPER.md
func TestZKLock(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.ZooKeeper(3), TTL: 8 * time.Second, Faults: locktest.Restarts,
		Laws: []checker.Law{checker.MutualExclusion, checker.Ownership}, New: newZK})
}
func newZK(c *locktest.Client) (locktest.Lock, error) {
	dial := func(network, addr string, _ time.Duration) (net.Conn, error) { return c.Dial(network, addr) }
	conn, _, err := zk.Connect(c.Addrs, 8*time.Second, zk.WithDialer(dial), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	return recipe{zk.NewLock(conn, "/locks/"+c.Key, zk.WorldACL(zk.PermAll)), conn}, nil
}

type recipe struct {
	lock *zk.Lock
	conn *zk.Conn
}

func (l recipe) Lock(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.conn.Close)() // nothing else ends Lock
	return l.lock.Lock()
}
func (l recipe) Unlock(context.Context) error { return l.lock.Unlock() }
func (l recipe) Close() error                 { l.conn.Close(); return nil }

// end

// TestTheTextHasTheTest checks that ZOOKEEPER.md contains the test above.
func TestTheTextHasTheTest(t *testing.T) {
	code, err := os.ReadFile("zk_readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("ZOOKEEPER.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(code), "// begin: ZOOKEEPER.md\n")
	shown, _, _ = strings.Cut(shown, "\n// end")
	if !strings.Contains(string(text), "```go\n"+shown+"```") {
		t.Error("ZOOKEEPER.md shows another test")
	}
}
