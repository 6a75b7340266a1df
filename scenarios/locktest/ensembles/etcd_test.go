package ensembles

import (
	"context"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

func TestMutex(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Etcd(3), TTL: 8 * time.Second, New: newMutex})
}

// mutex is package concurrency's: its lease lasts as long as its session, and each Lock has a session if there is none.
type mutex struct {
	client  *clientv3.Client
	key     string
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

// steadyBackoff is gRPC's own without its jitter, whose randomness cannot be seeded.
var steadyBackoff = grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 20 * time.Second,
	Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, MaxDelay: 2 * time.Minute}})

func newClient(c *locktest.Client) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Addrs, Context: c.Context(), Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{steadyBackoff, grpc.WithContextDialer(func(ctx context.Context, addr string) (conn, error) {
			return c.DialContext(ctx, "tcp", addr)
		})}})
}

func newMutex(c *locktest.Client) locktest.Lock {
	client, err := newClient(c)
	if err != nil {
		return locktest.Refused(err)
	}
	return &mutex{client: client, key: c.Key}
}

func (m *mutex) Lock(ctx context.Context) (err error) {
	if m.session == nil || over(m.session.Done()) {
		if m.session, err = concurrency.NewSession(m.client, concurrency.WithTTL(8)); err != nil {
			return err
		}
	}
	m.mutex = concurrency.NewMutex(m.session, m.key)
	return m.mutex.Lock(ctx)
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Unlock ends the session if the lock could not be given back: the key would still be there, and the next Lock of this
// session would take it for its own.
func (m *mutex) Unlock(ctx context.Context) error {
	err := m.mutex.Unlock(ctx)
	if err != nil {
		m.session.Close()
		m.session = nil
	}
	return err
}

func (m *mutex) Lost() <-chan struct{} { return m.session.Done() }

func (m *mutex) Close() error {
	if m.session != nil {
		m.session.Close()
	}
	return m.client.Close()
}

// clients are what is tested.
var clients = map[string]locktest.Config{
	"etcd-mutex": {Servers: locktest.Etcd(3), TTL: 8 * time.Second, New: newMutex},
}
