//go:build linux

package ensembles

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// cutting is a connection that, if armed is set, breaks when the client asks for a list of children. The request is
// sent, but the reply is lost.
type cutting struct {
	net.Conn
	armed, over *atomic.Bool
}

func (c cutting) Write(b []byte) (int, error) {
	lists := len(b) > 12 && jute.Op(binary.BigEndian.Uint32(b[8:])) == jute.GetChildren2
	if lists && c.armed.CompareAndSwap(true, false) {
		c.over.Store(true)
		defer c.Close()
	}
	return c.Conn.Write(b)
}

func (c cutting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.over.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// TestAZnodeIsLeftInLine makes a Lock lose the reply to its request for a list of children. The Lock fails, and its
// znode stays in line. The next Lock in the same session waits behind that znode. A real server and a simulated one
// behave the same way.
func TestAZnodeIsLeftInLine(t *testing.T) {
	for name, serve := range zooKeepers {
		t.Run(name, func(t *testing.T) {
			address := strings.Split(serve(t), ",")
			armed := new(atomic.Bool)
			dial := func(network, address string, patience time.Duration) (net.Conn, error) {
				c, err := net.DialTimeout(network, address, patience)
				return cutting{c, armed, new(atomic.Bool)}, err
			}
			conn, _, err := zk.Connect(address, ttl, zk.WithDialer(dial), zk.WithLogger(silent{}))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			lock := zk.NewLock(conn, "/locks/lock", zk.WorldACL(zk.PermAll))
			for { // a real server takes a while to start
				if err = lock.Lock(); err == nil {
					break
				}
			}
			session := conn.SessionID()
			if err := lock.Unlock(); err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			if err := lock.Lock(); !errors.Is(err, zk.ErrConnectionClosed) {
				t.Fatal(err)
			}
			if _, _, err := conn.Exists("/locks"); err != nil { // check that the client is connected again
				t.Fatal(err)
			}
			again := make(chan error, 1)
			go func() { again <- lock.Lock() }()
			for { // wait until the session has two znodes
				list, _, more, err := conn.ChildrenW("/locks/lock")
				if err != nil {
					t.Fatal(err)
				}
				if len(list) == 2 {
					break
				}
				<-more
			}
			select {
			case err := <-again:
				t.Errorf("Lock returned %v", err)
			case <-time.After(time.Second):
			}
			if conn.SessionID() != session {
				t.Error("the session is another")
			}
		})
	}
}
