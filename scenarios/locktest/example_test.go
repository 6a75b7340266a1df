package locktest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// lease is the TTL of a mutex's key.
const lease = 8 * time.Second

// mutex is a lock on one Redis server. It retries until SET NX PX succeeds, and its release is a script that deletes
// the key only if it has the client's own value.
type mutex struct {
	client     *locktest.Client
	conn       net.Conn
	replies    *bufio.Reader
	owner      string // a new one for each Lock
	n          int
	validUntil time.Time
}

func newMutex(c *locktest.Client) (locktest.Lock, error) { return openMutex(c) }

func openMutex(c *locktest.Client) (*mutex, error) {
	conn, err := c.Dial("tcp", c.Addr(0))
	if err != nil {
		return nil, err
	}
	return &mutex{client: c, conn: conn, replies: bufio.NewReader(conn)}, nil
}

// do sends a command and returns the first line of the reply.
func (m *mutex) do(args ...string) (string, error) {
	request := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := m.conn.Write([]byte(request)); err != nil {
		return "", err
	}
	line, err := m.replies.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (m *mutex) Lock(ctx context.Context) error {
	m.n++
	m.owner = fmt.Sprintf("%s/%d", m.client.Name, m.n)
	for ctx.Err() == nil {
		m.validUntil = time.Now().Add(lease) // the lease begins with the request, not with the reply
		reply, err := m.do("SET", m.client.Key, m.owner, "NX", "PX", fmt.Sprint(lease.Milliseconds()))
		if err != nil {
			return err
		}
		if reply == "+OK" && time.Now().Before(m.validUntil) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (m *mutex) Unlock(context.Context) error {
	const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	reply, err := m.do("EVAL", script, "1", m.client.Key, m.owner)
	if err == nil && reply != ":1" {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

func (m *mutex) Close() error { return m.conn.Close() }

// Example shows a lock on one Redis server and its complete test. Clients pause at random, and the lock must uphold the
// laws that a lock with a lease can uphold.
func Example() {
	TestMutex := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newMutex, Servers: locktest.Redis(1), TTL: lease,
			Faults: locktest.Pauses, Laws: locktest.LeaseLaws})
	}
	_ = TestMutex // in a file named _test.go it would be a test function
}
