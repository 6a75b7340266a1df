package redisserver

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// TestRepliesOfAnyLengthAreRead checks replies that do not fit in the connection's buffer. Each is followed by another
// reply, which must be read too.
func TestRepliesOfAnyLengthAreRead(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, reply := range []string{"+" + long + "\r\n", "-ERR " + long + "\r\n", "$10000\r\n" + long + "\r\n",
		"*2\r\n+" + long + "\r\n-" + long + "\r\n", "(" + strings.Repeat("1", 10_000) + "\r\n"} {
		here, there := net.Pipe()
		go func() {
			_, _ = there.Write([]byte(reply + "+OK\r\n"))
			there.Close()
		}()
		w := &wire{conn: here, in: bufio.NewReader(here)}
		for _, want := range []string{reply, "+OK\r\n"} {
			if got, err := w.raw(nil); string(got) != want || err != nil {
				t.Errorf("%.12q: got %d bytes of %d, %v", reply, len(got), len(want), err)
			}
		}
		w.close()
	}
}

// TestAReplicaWithAnUnknownPortHasNoPriority checks that a Sentinel's list of replicas may contain a server that does
// not belong to the run, or that has no port.
func TestAReplicaWithAnUnknownPortHasNoPriority(t *testing.T) {
	n := &watcher{s: &Server{cfg: &servers{all: map[sim.ProcessID]*Server{}}}}
	replica := func(fields ...string) (v resp.Value) {
		for _, f := range fields {
			v.List = append(v.List, resp.Value{Text: f})
		}
		return v
	}
	list := resp.Value{List: []resp.Value{replica("port", "1", "slave-priority", "100"), replica("slave-priority", "0"),
		replica()}}
	if n.prefers(list, "redis-1-replica-1") {
		t.Error("a replica that is not in the list has a priority")
	}
}
