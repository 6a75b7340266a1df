package etcd

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
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

// TestAnAnswerToAnEarlierLifeReachesNobody checks that a member that has restarted drops the leader's answer to a
// request that it sent before the restart.
func TestAnAnswerToAnEarlierLifeReachesNobody(t *testing.T) {
	var members []*server
	d := &desk{World: sim.New(3, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t}
	d.Cluster = raft.NewCluster(raft.Config{}, []sim.ProcessID{"etcd-1", "etcd-2", "etcd-3"}, func() raft.Machine {
		members = append(members, &server{})
		return members[len(members)-1]
	})
	d.AddTo(d.World.AddServer)
	d.want(1, GrantLease(30, 9), "[9 30]")
	d.want(2, KeepLeaseAlive(9), "[9 30]")
	earlier := members[1].lastAsk
	d.Stop("etcd-2", sim.PowerLoss)
	d.Restart("etcd-2")
	d.pass(100 * ms)
	d.Cut("etcd-2", "etcd-1")
	d.At(d.Now()+sim.Time(100*ms), func() {
		d.Members()[0].SendToPeer("etcd-2", "lease", 0, leaderAnswer{number: earlier})
	})
	d.At(d.Now()+sim.Time(200*ms), func() { d.Heal("etcd-2", "etcd-1") })
	d.want(2, KeepLeaseAlive(9), "[9 30]")
}
