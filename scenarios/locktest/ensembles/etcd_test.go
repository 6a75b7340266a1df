package ensembles

import (
	"context"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"go.uber.org/zap"
	"google.golang.org/grpc"

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

func newClient(c *locktest.Client) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Addrs, Context: c.Context(), Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (conn, error) {
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
	if m.session == nil {
		if m.session, err = concurrency.NewSession(m.client, concurrency.WithTTL(8)); err != nil {
			return err
		}
	}
	m.mutex = concurrency.NewMutex(m.session, m.key)
	return m.mutex.Lock(ctx)
}

func (m *mutex) Unlock(ctx context.Context) error { return m.mutex.Unlock(ctx) }
func (m *mutex) Lost() <-chan struct{}            { return m.session.Done() }
func (m *mutex) Token() int64                     { return m.mutex.Header().Revision }

func (m *mutex) Close() error {
	if m.session != nil {
		m.session.Close()
	}
	return m.client.Close()
}
