//go:build linux

package zkserver

import (
	"testing"

	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// TestRecords has a client ask for a lock, give it back, ask again, and close its session.
func TestRecords(t *testing.T) {
	r := start(t, 3)
	list := r.play(func(c *client) {
		c.connect("6000")
		c.folder("a")
		first := c.must("client-1/1", zookeeper.ReqCreate, "/locks/a/lock-", "", "3")
		if got := first.Text(0); got != "/locks/a/lock-0000000000" {
			t.Errorf("it was called %s", got)
		}
		c.must("client-1/1", zookeeper.ReqDelete, first.Text(0), "-1")
		c.must("client-1/2", zookeeper.ReqCreate, "/locks/a/lock-", "", "3")
		c.must("", zookeeper.ReqClose)
	})
	equal(t, told(list), []string{
		"key-set a/lock-0000000000 of client-1/1 by client-1/1 ",
		"key-gone a/lock-0000000000 of client-1/1 by client-1/1 deleted",
		"key-set a/lock-0000000001 of client-1/2 by client-1/2 ",
		"key-gone a/lock-0000000001 of client-1/2 by client-1/2 deleted"})
}
