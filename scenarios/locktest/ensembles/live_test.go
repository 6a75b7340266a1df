//go:build linux

package ensembles

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"google.golang.org/protobuf/encoding/protowire"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// etcds lists the servers on which findings are reproduced in real time.
var etcds = map[string]func(*testing.T) string{"simulated": simulatedEtcd, "real": realEtcd}

// onEtcds runs a test on each of the servers in etcds.
func onEtcds(t *testing.T, test func(t *testing.T, address string)) {
	for name, serve := range etcds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, serve(t))
		})
	}
}

// sessionOf begins a session with its own client.
func sessionOf(t *testing.T, address string, ttl int) *concurrency.Session {
	t.Helper()
	s, err := concurrency.NewSession(dial(t, address), concurrency.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waitsInLine waits until there are n keys with the given prefix.
func waitsInLine(t *testing.T, c *clientv3.Client, prefix string, n int64) {
	t.Helper()
	watch := c.Watch(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithRev(1))
	for {
		got, err := c.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		if got.Count == n {
			return
		}
		if w := <-watch; w.Err() != nil {
			t.Fatal(w.Err())
		}
	}
}

// TestAWinnerWithoutItsSession puts three clients in a queue. The second client loses its lease, and then the first one
// leaves. Campaign and the lock service let both the second and the third client hold the lock. For the second client,
// Mutex.Lock must fail.
func TestAWinnerWithoutItsSession(t *testing.T) {
	enter := map[string]func(*concurrency.Session) error{
		"mutex": func(s *concurrency.Session) error { return concurrency.NewMutex(s, "lock").Lock(t.Context()) },
		"election": func(s *concurrency.Session) error {
			return concurrency.NewElection(s, "lock").Campaign(t.Context(), "one")
		},
		"lock-service": func(s *concurrency.Session) error {
			request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "lock")
			request = protowire.AppendVarint(protowire.AppendTag(request, 2, protowire.VarintType), uint64(s.Lease()))
			_, err := call(t.Context(), s.Client(), "/v3lockpb.Lock/Lock", request)
			return err
		},
	}
	for name, enter := range enter {
		t.Run(name, func(t *testing.T) {
			onEtcds(t, func(t *testing.T, address string) {
				var sessions [3]*concurrency.Session
				var entered [3]chan error
				for i := range sessions {
					sessions[i], entered[i] = sessionOf(t, address, 60), make(chan error, 1)
					go func() { entered[i] <- enter(sessions[i]) }()
					waitsInLine(t, sessions[i].Client(), "lock/", int64(i)+1)
				}
				c := sessions[0].Client()
				for _, s := range []*concurrency.Session{sessions[1], sessions[0]} {
					if _, err := c.Revoke(t.Context(), s.Lease()); err != nil {
						t.Fatal(err)
					}
				}
				first, second, third := <-entered[0], <-entered[1], <-entered[2]
				if first != nil || third != nil || (second != nil) != (name == "mutex") {
					t.Errorf("the first: %v, the second, whose lease is gone: %v, the third: %v", first, second, third)
				}
			})
		})
	}
}

// TestTheNextHolderComesBeforeTheNews revokes a mutex's lease. The next client must acquire the mutex before the first
// client's session closes its Done channel.
func TestTheNextHolderComesBeforeTheNews(t *testing.T) {
	onEtcds(t, func(t *testing.T, address string) {
		holder, next := sessionOf(t, address, 60), sessionOf(t, address, 60)
		if err := concurrency.NewMutex(holder, "lock").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Client().Revoke(t.Context(), holder.Lease()); err != nil {
			t.Fatal(err)
		}
		if err := concurrency.NewMutex(next, "lock").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-holder.Done():
			t.Error("the session is done already")
		default:
		}
	})
}

// TestAnUnlockThatFailedLeavesTheKey makes an Unlock fail. The session's next Lock then treats the remaining key as its
// own, with the old revision.
func TestAnUnlockThatFailedLeavesTheKey(t *testing.T) {
	onEtcds(t, func(t *testing.T, address string) {
		s := sessionOf(t, address, 60)
		m := concurrency.NewMutex(s, "lock")
		if err := m.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := m.Header().Revision
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := m.Unlock(over); err == nil {
			t.Fatal("Unlock succeeded")
		}
		again := concurrency.NewMutex(s, "lock")
		if err := again.Lock(t.Context()); err != nil || again.Header().Revision != before {
			t.Errorf("Lock: %v, at revision %d, and before at %d", err, again.Header().Revision, before)
		}
	})
}

// overheard is a connection that stores the first reply, which contains the session and its password.
type overheard struct {
	net.Conn
	mu     *sync.Mutex
	answer *[]byte
}

func (c overheard) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(*c.answer) < connectAnswer {
		*c.answer = append(*c.answer, b[:n]...)
	}
	return n, err
}

// connectAnswer is the length in bytes of a reply to a connect request: length, version, timeout, session, password.
const connectAnswer = 4 + 4 + 4 + 8 + 4 + jute.PasswordLength

// endSession ends a session from a separate connection, as an operator with the session's password could.
func endSession(t *testing.T, address string, answer []byte) {
	t.Helper()
	f := jute.Fields{Rest: answer[4:]}
	version, timeout, session := f.Int(), f.Int(), f.Long()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	connect := jute.Record(nil).Int(version).Long(0).Int(timeout).Long(session)
	connect = append(connect, answer[connectAnswer-4-jute.PasswordLength:connectAnswer]...)
	for _, request := range []jute.Record{connect, jute.Record(nil).Int(1).Int(int32(jute.CloseSession))} {
		if _, err := c.Write(request.Framed()); err != nil {
			t.Fatal(err)
		}
		var head [4]byte
		if _, err := c.Read(head[:]); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, binary.BigEndian.Uint32(head[:]))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALockIsOfNoUseAfterItsSession ends a holder's session, and another client acquires the lock. The holder's Unlock
// must then not find a znode, and from then on its Lock must fail with ErrDeadlock.
func TestALockIsOfNoUseAfterItsSession(t *testing.T) {
	for name, serve := range zooKeepers {
		t.Run(name, func(t *testing.T) {
			address := strings.Split(serve(t), ",")[:1]
			var answer []byte
			kept := overheard{mu: new(sync.Mutex), answer: &answer}
			holder := lockAt(t, address, func(c net.Conn) net.Conn { kept.Conn = c; return kept })
			for holder.Lock() != nil { // a real server takes a while to start
			}
			kept.mu.Lock()
			endSession(t, address[0], answer)
			kept.mu.Unlock()
			next := lockAt(t, address, func(c net.Conn) net.Conn { return c })
			if err := next.Lock(); err != nil {
				t.Fatal(err)
			}
			err := holder.Unlock()
			for slices.Contains([]error{zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrNoServer}, err) {
				err = holder.Unlock() // this fails until the client has another session
			}
			if again := holder.Lock(); !errors.Is(err, zk.ErrNoNode) || !errors.Is(again, zk.ErrDeadlock) {
				t.Errorf("Unlock: %v, then Lock: %v", err, again)
			}
		})
	}
}

// lockAt creates a lock with its own client.
func lockAt(t *testing.T, address []string, wrap func(net.Conn) net.Conn) *zk.Lock {
	t.Helper()
	conn, _, err := zk.Connect(address, ttl, zk.WithLogger(silent{}), zk.WithDialer(
		func(network, address string, patience time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, address, patience)
			if err != nil {
				return nil, err
			}
			return wrap(c), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return zk.NewLock(conn, "/locks/lock", zk.WorldACL(zk.PermAll))
}
