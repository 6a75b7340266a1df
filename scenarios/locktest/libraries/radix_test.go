package libraries

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// radixLock is a lock that uses SET NX PX, and a script to release it, on one radix connection. radix does not have a
// lock of its own. The lock does not use radix's pool, because the pool waits for the network while holding a mutex,
// which stops a synctest bubble's clock.
type radixLock struct {
	conn radix.Conn // nil: no connection is open
	c    *locktest.Client
	n    int
	fence
	until
}

// radixDialer is a locktest client that implements radix's dialer interface.
type radixDialer struct{ *locktest.Client }

func (d radixDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d.Client.DialContext(ctx, network, addr)
}

// radixTimeout is the timeout for a request. radix does not have a default timeout: it waits until the context ends.
const radixTimeout = 3 * time.Second

func newRadix(c *locktest.Client, fenced bool) (locktest.Lock, error) {
	return &radixLock{c: c, fence: fence{on: fenced}}, nil
}

func (l *radixLock) do(ctx context.Context, a radix.Action) (err error) {
	ctx, cancel := context.WithTimeout(ctx, radixTimeout)
	defer cancel()
	if l.conn == nil {
		d := radix.Dialer{NetDialer: radixDialer{l.c}}
		if l.conn, err = d.Dial(ctx, "tcp", l.c.Addr(0)); err != nil {
			l.conn = nil
			return err
		}
	}
	if err = l.conn.Do(ctx, a); err != nil {
		l.conn.Close()
		l.conn = nil
	}
	return err
}

func (l *radixLock) value() string { return l.c.Name + "." + strconv.Itoa(l.n) }

func (l *radixLock) Lock(ctx context.Context) error {
	l.n++
	for {
		asked := time.Now()
		var said string
		maybe := radix.Maybe{Rcv: &said}
		err := l.do(ctx, radix.Cmd(&maybe, "SET", l.c.Key, l.value(), "NX", "PX",
			strconv.FormatInt(TTL.Milliseconds(), 10)))
		if err == nil && !maybe.Null {
			l.begun(asked)
			return l.take(ctx, l, func() (n int64, err error) {
				err = l.do(ctx, radix.Cmd(&n, "INCR", counter(l.c)))
				return n, err
			}, l.ahead)
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		time.Sleep(retryEvery)
	}
}

var radixRelease = radix.NewEvalScript(compareAndDelete)

func (l *radixLock) Unlock(ctx context.Context) error {
	var n int
	err := l.do(ctx, radixRelease.Cmd(&n, []string{l.c.Key}, l.value()))
	if err == nil && n == 0 {
		return errNotOwner
	}
	return err
}

func (l *radixLock) Close() error {
	if l.conn == nil {
		return nil
	}
	return l.conn.Close()
}
