package libraries

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// replicated reports whether the servers are a master, its replica and a Sentinel. All other setups have one or five
// servers.
func replicated(c *locktest.Client) bool { return len(c.Addrs) == 3 }

// askTimeout is how long the Sentinel may take to name the master.
const askTimeout = time.Second

// dialMaster connects to the master that the Sentinel names. It stands in for a proxy or a DNS name that follows the
// master.
func dialMaster(ctx context.Context, c *locktest.Client) (net.Conn, error) {
	sentinel, err := within(ctx, askTimeout, c.DialContext, c.Addr(2))
	if err != nil {
		return nil, err
	}
	defer sentinel.Close()
	sentinel.SetDeadline(time.Now().Add(askTimeout))
	fmt.Fprint(sentinel, "*3\r\n$8\r\nSENTINEL\r\n$23\r\nget-master-addr-by-name\r\n$7\r\nredis-1\r\n")
	said := bufio.NewReader(sentinel)
	var master string
	for range 3 { // read the lines "*2", the length of the host name, and the host name
		if master, err = said.ReadString('\n'); err != nil {
			return nil, err
		}
	}
	switch master = strings.TrimSpace(master); master {
	case "redis-1":
		return c.DialContext(ctx, "tcp", c.Addr(0))
	case "redis-1-replica-1":
		return c.DialContext(ctx, "tcp", c.Addr(1))
	}
	return nil, fmt.Errorf("the Sentinel calls %q the master", master)
}
