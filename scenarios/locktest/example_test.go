package locktest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// spin is a lock that asks until SET NX PX succeeds, and that deletes the key without checking whose it is.
type spin struct {
	conn net.Conn
	key  string
}

func (l spin) ask(request string) string {
	fmt.Fprint(l.conn, request)
	answer, _ := bufio.NewReader(l.conn).ReadString('\n')
	return answer
}

func (l spin) Lock(ctx context.Context) error {
	for l.ask(fmt.Sprintf("*6\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nx\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n8000\r\n",
		len(l.key), l.key)) != "+OK\r\n" {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (l spin) Unlock(context.Context) error {
	l.ask(fmt.Sprintf("*2\r\n$3\r\nDEL\r\n$%d\r\n%s\r\n", len(l.key), l.key))
	return nil
}

// A lock of twenty lines, tested under pauses. Its leases exclude each other, which is all that this test asks of it.
func Example() {
	TestSpin := func(t *testing.T) {
		locktest.Run(t, locktest.Config{
			TTL: 8 * time.Second, Faults: locktest.Pauses, Laws: []checker.Law{checker.LeaseExclusion},
			New: func(c *locktest.Client) locktest.Lock {
				conn, err := c.Dial("tcp", c.Addr(0))
				if err != nil {
					return locktest.Refused(err)
				}
				return spin{conn, c.Key}
			},
		})
	}
	_ = TestSpin // in a file that ends in _test.go it would be a test function
}
