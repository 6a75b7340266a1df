package locktest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// clusterMutex is a mutex on a Redis Cluster. It sends its requests to the server that stores its key.
type clusterMutex struct {
	*mutex
	next int // which server is asked next if the current one does not answer
}

func newClusterMutex(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	return &clusterMutex{mutex: m}, nil
}

// ask sends a command and follows redirections. If there is no answer, or an error such as CLUSTERDOWN, it connects to
// another server. It then returns an error, because an unanswered request may have been executed.
func (m *clusterMutex) ask(args ...string) (string, error) {
	for range 3 {
		m.conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
		reply, err := m.do(args...)
		moved, redirected := strings.CutPrefix(reply, "-MOVED ")
		switch {
		case err == nil && !strings.HasPrefix(reply, "-"):
			return reply, nil
		case redirected:
			_, address, _ := strings.Cut(moved, " ")
			m.turnTo(address)
		default:
			m.next = (m.next + 1) % len(m.client.Addrs)
			m.turnTo(m.client.Addr(m.next))
			return "", errors.Join(err, errors.New("no answer from the server of the key"))
		}
	}
	return "", errors.New("too many redirections")
}

// turnTo connects to another server. If that fails, the next request will fail.
func (m *clusterMutex) turnTo(address string) {
	m.conn.Close()
	if conn, err := m.client.Dial("tcp", address); err == nil {
		m.conn, m.replies = conn, bufio.NewReader(conn)
	}
}

func (m *clusterMutex) Lock(ctx context.Context) error {
	for ctx.Err() == nil {
		m.n++
		m.owner = fmt.Sprintf("%s/%d", m.client.Name, m.n)
		m.validUntil = time.Now().Add(lease)
		reply, err := m.ask("SET", m.client.Key, m.owner, "NX", "PX", fmt.Sprint(lease.Milliseconds()))
		switch {
		case err == nil && reply == "+OK" && time.Now().Before(m.validUntil):
			return nil
		case err != nil: // the key may be set
			m.Unlock(ctx)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (m *clusterMutex) Unlock(ctx context.Context) error {
	const script = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	for {
		reply, err := m.ask("EVAL", script, "1", m.client.Key, m.owner)
		switch {
		case err == nil && reply == ":1":
			return nil
		case err == nil:
			return errors.New("the lock was no longer its own")
		case ctx.Err() != nil || !time.Now().Before(m.validUntil):
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Three masters with one replica each form a Cluster. A replica may take over before it has received the key, so this
// lock saves work but does not protect data.
func ExampleServers_Clustered() {
	TestClusterMutex := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newClusterMutex, TTL: lease,
			Servers: locktest.Redis(3).Replicated(1).Clustered(time.Second),
			Faults:  locktest.Failovers, Laws: locktest.EfficiencyLaws})
	}
	_ = TestClusterMutex
}
