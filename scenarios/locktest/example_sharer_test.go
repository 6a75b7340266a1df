package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// readWrite is a read-write lock on one Redis server. Each holder is a hash field with its mode and the end of its
// lease by the server's clock. One script removes the holders whose lease has ended, and adds the client if no
// remaining holder excludes it.
type readWrite struct {
	*mutex
	read         bool
	take, remove string // scripts
}

const (
	takeReadWrite = `local t = redis.call("time")
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local all = redis.call("hgetall", KEYS[1])
for i = 1, #all, 2 do
  local mode, ends = string.match(all[i + 1], "(%a+) (%d+)")
  if tonumber(ends) < now then
    redis.call("hdel", KEYS[1], all[i])
  elseif mode == "write" or ARGV[3] == "write" then
    return 0
  end
end
redis.call("hset", KEYS[1], ARGV[1], ARGV[3] .. " " .. now + ARGV[2])
redis.call("pexpire", KEYS[1], ARGV[2])
return 1`
	removeReadWrite = `return redis.call("hdel", KEYS[1], ARGV[1])`
)

// newReadWrite creates a read lock for two of the clients and a write lock for all others.
func newReadWrite(c *locktest.Client) (locktest.Lock, error) {
	m, err := openMutex(c)
	if err != nil {
		return nil, err
	}
	read := c.Name == "client-2" || c.Name == "client-3"
	return readWrite{m, read, takeReadWrite, removeReadWrite}, nil
}

func (l readWrite) Lock(ctx context.Context) error {
	l.n++
	l.owner = fmt.Sprintf("%s/%d", l.client.Name, l.n)
	mode := "write"
	if l.read {
		mode = "read"
	}
	for ctx.Err() == nil {
		l.validUntil = time.Now().Add(lease)
		reply, err := l.do("EVAL", l.take, "1", l.client.Key, l.owner, fmt.Sprint(lease.Milliseconds()), mode)
		if err != nil {
			return err
		}
		if reply == ":1" && time.Now().Before(l.validUntil) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (l readWrite) Unlock(context.Context) error {
	reply, err := l.do("EVAL", l.remove, "1", l.client.Key, l.owner)
	if err == nil && reply != ":1" {
		err = errors.New("the lock was no longer its own")
	}
	return err
}

// Shared makes a readWrite a [locktest.Sharer].
func (l readWrite) Shared() bool { return l.read }

func (l readWrite) ValidUntil() time.Time { return l.validUntil }

// A read-write lock reports which of its holds are shared. In this test, two clients read and the others write. Readers
// may hold the lock at the same time.
func ExampleSharer() {
	TestReadWrite := func(t *testing.T) {
		locktest.Run(t, locktest.Config{New: newReadWrite, Clients: 4, TTL: lease, Faults: locktest.Pauses,
			Laws: locktest.LeaseLaws})
	}
	_ = TestReadWrite
}
