package etcd

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// TestAKeepAliveIsAnsweredBeforeItsStreamEnds has a client send one keepalive and immediately say that it will not send
// any more. Every member, even one that has to ask the leader, must respond and then end the stream, as etcd does.
func TestAKeepAliveIsAnsweredBeforeItsStreamEnds(t *testing.T) {
	d := newDesk(t)
	d.want(1, GrantLease(30, 7), "[7 30]")
	for member := range 3 {
		at, got := sim.Conn{Server: sim.ProcessID(fmt.Sprintf("etcd-%d", member+1))}, ""
		d.AddClient(sim.ProcessID(fmt.Sprintf("finishes-%d", member)), d.Now(), func(env sim.Env) {
			alive := KeepLeaseAlive(7)
			alive.Stream = 1
			finish := Call{Path: alive.Path, Stream: 1, What: Finishes}
			for _, r := range env.Call(time.Second, nil, sim.Request{Conn: at, Args: alive.Args()},
				sim.Request{Conn: at, Args: finish.Args()}) {
				for rest := r.Raw(); len(rest) > 0; {
					var next Record
					next, rest, _ = CutRecord(rest)
					got += fmt.Sprintf("%d %d; ", next.Kind, next.Code)
				}
			}
		})
		d.pass(2 * time.Second)
		if want := fmt.Sprintf("%d %d; %d %d; ", Message, OK, End, OK); got != want {
			t.Errorf("etcd-%d sends %q, want %q", member+1, got, want)
		}
	}
}
