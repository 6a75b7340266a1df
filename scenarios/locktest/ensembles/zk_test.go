package ensembles

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// timeout is the session timeout that each client asks for.
const timeout = 8 * time.Second

// zkLock is zk.Lock of go-zookeeper. A client has one session after the other, and one Lock, which it uses again.
type zkLock struct {
	lock *zk.Lock
	conn *zk.Conn

	mu   sync.Mutex
	lost chan struct{} // closed when the connection breaks
}

func newZKLock(c *locktest.Client) locktest.Lock {
	l := &zkLock{lost: make(chan struct{})}
	dial := func(network, address string, patience time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(c.Context(), patience)
		defer cancel()
		return c.DialContext(ctx, network, address)
	}
	conn, _, err := zk.Connect(c.Addrs, timeout, zk.WithDialer(dial), zk.WithEventCallback(l.observe),
		zk.WithHostProvider(new(inTurn)), zk.WithLogger(silent{}))
	if err != nil {
		return locktest.Refused(err)
	}
	l.conn, l.lock = conn, zk.NewLock(conn, "/locks/"+c.Key, zk.WorldACL(zk.PermAll))
	return l
}

// observe sees each event of the session.
func (l *zkLock) observe(e zk.Event) {
	if e.Type == zk.EventSession && e.State == zk.StateDisconnected {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.lost)
		l.lost = make(chan struct{})
	}
}

// Lock ends with its context by closing the connection: nothing else ends zk.Lock.Lock.
func (l *zkLock) Lock(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.conn.Close)()
	return l.lock.Lock()
}

func (l *zkLock) Unlock(context.Context) error { return l.lock.Unlock() }

// Lost is the end of the connection: the session may be over from then on.
func (l *zkLock) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *zkLock) Close() error {
	l.conn.Close()
	return nil
}

// inTurn is zk's own order of servers without its shuffle, which is seeded by the clock.
type inTurn struct {
	servers  []string
	at, last int
}

func (p *inTurn) Init(servers []string) error {
	p.servers, p.at, p.last = servers, -1, -1
	return nil
}

func (p *inTurn) Len() int { return len(p.servers) }

func (p *inTurn) Next() (server string, retry bool) {
	p.at = (p.at + 1) % len(p.servers)
	retry = p.at == p.last
	if p.last == -1 {
		p.last = 0
	}
	return p.servers[p.at], retry
}

func (p *inTurn) Connected() { p.last = p.at }

type silent struct{}

func (silent) Printf(string, ...any) {}

func TestZKLock(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.ZooKeeper(3), TTL: timeout, New: newZKLock})
}
