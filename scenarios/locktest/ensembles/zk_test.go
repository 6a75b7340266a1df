package ensembles

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

func init() {
	clients = append(clients,
		client{Name: "zk-lock", Tokenless: true,
			Config: locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, New: newZKLock}},
		client{Name: "zk-anew",
			Config: locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, New: newZKLockAnew}})
}

// zkLock is zk.Lock of go-zookeeper. A client has one session after the other, and one Lock, which it uses again.
type zkLock struct {
	c    *locktest.Client
	conn *zk.Conn
	lock *zk.Lock

	fenced  bool
	token   int64
	closing atomic.Bool

	mu   sync.Mutex
	lost chan struct{} // closed when the connection breaks
}

func newZKLock(c *locktest.Client) locktest.Lock {
	l := &zkLock{c: c, lost: make(chan struct{})}
	if err := l.open(); err != nil {
		return locktest.Refused(err)
	}
	return l
}

// open begins a session.
func (l *zkLock) open() (err error) {
	dial := func(network, address string, patience time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(l.c.Context(), patience)
		defer cancel()
		return l.c.DialContext(ctx, network, address)
	}
	l.conn, _, err = zk.Connect(l.c.Addrs, ttl, zk.WithDialer(dial), zk.WithEventCallback(l.observe),
		zk.WithLogger(silent{}))
	l.closing.Store(false)
	if err == nil {
		l.lock = zk.NewLock(l.conn, "/locks/"+l.c.Key, zk.WorldACL(zk.PermAll))
	}
	return err
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
	defer context.AfterFunc(ctx, l.close)()
	if err := l.lock.Lock(); err != nil || !l.fenced {
		return err
	}
	err := l.count()
	if err != nil {
		err = errors.Join(err, l.lock.Unlock())
	}
	return err
}

func (l *zkLock) Unlock(context.Context) error { return l.lock.Unlock() }

// Token is how often a znode beside the lock has been set, in the session that has the lock, while it had it.
func (l *zkLock) Token() int64 { return l.token }

// count sets that znode. If the session is another then, the lock is lost.
func (l *zkLock) count() error {
	path, session := "/token-"+l.c.Key, l.conn.SessionID()
	stat, err := l.conn.Set(path, nil, -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = l.conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			stat, err = l.conn.Set(path, nil, -1)
		}
	}
	switch {
	case err != nil:
		return err
	case l.conn.SessionID() != session:
		return zk.ErrSessionExpired
	}
	l.token = int64(stat.Version)
	return nil
}

// Lost is the end of the connection: the session may be over from then on.
func (l *zkLock) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *zkLock) Close() error {
	l.close()
	return nil
}

// close closes the connection, if nobody else does: zk.Conn.Close holds a mutex while it waits, which would stop the
// clock.
func (l *zkLock) close() {
	if l.closing.CompareAndSwap(false, true) {
		l.conn.Close()
	}
}

// anewZKLock begins anew, with another session and another Lock, after each error: the znodes of the session before
// go with it. It has a token.
type anewZKLock struct{ *zkLock }

func newZKLockAnew(c *locktest.Client) locktest.Lock {
	l := newZKLock(c)
	if open, is := l.(*zkLock); is {
		open.fenced = true
		return anewZKLock{open}
	}
	return l
}

func (l anewZKLock) Lock(ctx context.Context) error { return l.anew(l.zkLock.Lock(ctx)) }

func (l anewZKLock) Unlock(ctx context.Context) error { return l.anew(l.zkLock.Unlock(ctx)) }

func (l anewZKLock) anew(err error) error {
	if err == nil {
		return nil
	}
	l.close()
	return cmp.Or(err, l.open())
}

type silent struct{}

func (silent) Printf(string, ...any) {}
