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
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

func init() {
	clients = append(clients,
		matrixtest.Client{Name: "zk-lock", Tokenless: true,
			Config: locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, New: newZKLock}},
		matrixtest.Client{Name: "zk-anew",
			Config: locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, New: newZKLockAnew}})
}

// zkLock is go-zookeeper's zk.Lock. When a session has ended, the client opens a new one. It uses the same Lock in all
// its sessions.
type zkLock struct {
	c       *locktest.Client
	timeout time.Duration // the session timeout
	answer  time.Duration // how long to wait for the answer to a request for a session; 0: go-zookeeper's default
	conn    *zk.Conn
	lock    *zk.Lock

	drawn   tokens
	token   int64
	closing atomic.Bool

	mu   sync.Mutex
	lost chan struct{} // closed when the connection breaks
}

// tokens determines where a client gets its fencing tokens.
type tokens int

const (
	none       tokens = iota
	byCounting        // how many times a znode next to the lock has been set
	byFolder          // the czxid of the lock's folder, which is the same for all holders
)

func newZKLock(c *locktest.Client) (locktest.Lock, error) { return openZKLock(c, ttl, none) }

func openZKLock(c *locktest.Client, timeout time.Duration, drawn tokens) (locktest.Lock, error) {
	l := &zkLock{c: c, timeout: timeout, drawn: drawn, lost: make(chan struct{})}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open begins a session.
func (l *zkLock) open() (err error) {
	dial := func(network, address string, patience time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(l.c.Context(), patience)
		defer cancel()
		c, err := l.c.DialContext(ctx, network, address)
		if err == nil && l.answer > 0 {
			c = &promptConn{Conn: c, longest: l.answer}
		}
		return c, err
	}
	l.conn, _, err = zk.Connect(l.c.Addrs, l.timeout, zk.WithDialer(dial), zk.WithEventCallback(l.observe),
		zk.WithLogger(silent{}))
	l.closing.Store(false)
	if err == nil {
		l.lock = zk.NewLock(l.conn, "/locks/"+l.c.Key, zk.WorldACL(zk.PermAll))
	}
	return err
}

// promptConn limits how long the first read on a connection may take. go-zookeeper waits almost seven times the session
// timeout for the reply to its session request, and does not try any other member in the meantime.
type promptConn struct {
	net.Conn
	longest  time.Duration
	answered bool
}

func (c *promptConn) SetReadDeadline(t time.Time) error {
	if longest := time.Now().Add(c.longest); !c.answered && t.After(longest) {
		t = longest
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *promptConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.answered = c.answered || n > 0
	return n, err
}

// observe handles a session event.
func (l *zkLock) observe(e zk.Event) {
	if e.Type == zk.EventSession && e.State == zk.StateDisconnected {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.lost)
		l.lost = make(chan struct{})
	}
}

// Lock acquires the lock. When its context ends, it closes the connection, because nothing else makes zk.Lock.Lock
// return.
func (l *zkLock) Lock(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.close)()
	if err := l.lock.Lock(); err != nil || l.drawn == none {
		return err
	}
	err := l.draw()
	if err != nil {
		err = errors.Join(err, l.lock.Unlock())
	}
	return err
}

func (l *zkLock) Unlock(context.Context) error { return l.lock.Unlock() }

// FencingToken returns the token obtained by the most recent call to Lock.
func (l *zkLock) FencingToken() int64 { return l.token }

// draw gets a fencing token by setting a znode. If the session has changed by then, the lock is lost.
func (l *zkLock) draw() error {
	if l.drawn == byFolder {
		_, stat, err := l.conn.Exists("/locks/" + l.c.Key)
		if err == nil {
			l.token = stat.Czxid
		}
		return err
	}
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

// Lost returns a channel that is closed when the connection breaks. From then on, the session may end at any time.
func (l *zkLock) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *zkLock) Close() error {
	l.close()
	return nil
}

// close closes the connection, unless another call is already closing it. zk.Conn.Close holds a mutex while it waits,
// so a second call would stop the synctest bubble's clock.
func (l *zkLock) close() {
	if l.closing.CompareAndSwap(false, true) {
		l.conn.Close()
	}
}

// anewZKLock is a zkLock that opens a new session and creates a new Lock after each error. The previous session's
// znodes disappear with that session. The lock has a fencing token.
type anewZKLock struct{ *zkLock }

func newZKLockAnew(c *locktest.Client) (locktest.Lock, error) {
	l, err := openZKLock(c, ttl, byCounting)
	if err != nil {
		return nil, err
	}
	return anewZKLock{l.(*zkLock)}, nil
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
