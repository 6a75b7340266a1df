package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// watch adds a client that watches at a member and logs what it receives.
func (d *desk) watch(name sim.ProcessID, member sim.ProcessID, request string) {
	d.AddClient(name, d.Now(), func(env sim.Env) {
		c := sim.Conn{Server: member, N: 1}
		r := env.Call(10*time.Second, nil, sim.Request{Conn: c, Args: strings.Split(request, " ")})
		d.log = append(d.log, string(name)+" "+show(r[0]))
		for {
			data, status := env.Receive(c, time.Hour)
			if status != sim.Answered {
				d.log = append(d.log, string(name)+" closed")
				return
			}
			d.log = append(d.log, string(name)+" "+show(sim.NewReply(data)))
		}
	})
	d.pass(20 * ms)
}

func (d *desk) report(want ...string) {
	d.t.Helper()
	d.pass(20 * ms)
	if got := strings.Join(d.log, "\n  "); got != strings.Join(want, "\n  ") {
		d.t.Errorf("got\n  %s\nwant\n  %s", got, strings.Join(want, "\n  "))
	}
	d.log = nil
}

func TestAWatchReportsLaterRevisions(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "PUT l/1 old")
	d.watch("w", "etcd-3", "WATCH l/ PREFIX")
	d.watch("x", "etcd-2", "WATCH l/2")
	d.ask(1, "PUT l/2 v")
	d.ask(2, "PUT m v")
	d.ask(2, "TXN THEN 2 DELETE l/1 THEN 3 PUT l/3 w")
	d.ask(1, "DELETE l/2")
	d.pass(20 * ms)
	var w, x []string
	for _, line := range d.log {
		if line[0] == 'w' {
			w = append(w, line)
		} else {
			x = append(x, line)
		}
	}
	d.log = w
	d.report("w [2 1]", "w [1 3 [PUT [l/2 v 3 3 1 0]]]", "w [1 5 [DELETE [l/1  0 5 0 0]] [PUT [l/3 w 5 5 1 0]]]",
		"w [1 6 [DELETE [l/2  0 6 0 0]]]")
	d.log = x
	d.report("x [2 1]", "x [1 3 [PUT [l/2 v 3 3 1 0]]]", "x [1 6 [DELETE [l/2  0 6 0 0]]]")
}

func TestAWatchReadsOnFromARevision(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "PUT a 1")
	d.ask(1, "PUT a 2")
	d.ask(1, "DELETE a")
	d.watch("w", "etcd-2", "WATCH a REV 3")
	d.report("w [4 1]", "w [1 3 [PUT [a 2 2 3 2 0]]]", "w [1 4 [DELETE [a  0 4 0 0]]]")
	d.watch("x", "etcd-2", "WATCH a REV 6") // a future revision
	d.ask(1, "PUT a 5")
	d.ask(1, "PUT a 6")
	d.report("x [4 2]", "w [1 5 [PUT [a 5 5 5 1 0]]]", "w [1 6 [PUT [a 6 5 6 2 0]]]", "x [2 6 [PUT [a 6 5 6 2 0]]]")
}

func TestAWatchIsTakenUpAtAnotherMemberWithoutAGap(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "PUT a 1")
	d.watch("w", "etcd-2", "WATCH a REV 2")
	d.Stop("etcd-2", sim.ShutDown)
	d.ask(1, "PUT a 2")
	d.report("w [2 1]", "w [1 2 [PUT [a 1 2 2 1 0]]]", "w closed")
	d.watch("w2", "etcd-3", "WATCH a REV 3")
	d.report("w2 [3 1]", "w2 [1 3 [PUT [a 2 2 3 2 0]]]")
}

func TestAWatchAtAMemberThatIsCutOffFallsBehindAndCatchesUp(t *testing.T) {
	d := newDesk(t)
	d.watch("w", "etcd-3", "WATCH a")
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Cut("etcd-3", other)
		d.Cut(other, "etcd-3")
	}
	d.ask(1, "PUT a 1")
	d.pass(10 * time.Second)
	d.report("w [1 1]")
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Heal("etcd-3", other)
		d.Heal(other, "etcd-3")
	}
	d.pass(time.Second)
	d.report("w [1 2 [PUT [a 1 2 2 1 0]]]")
}

func TestUnwatchEndsAWatch(t *testing.T) {
	d := newDesk(t)
	d.AddClient("w", 0, func(env sim.Env) {
		c := sim.Conn{Server: "etcd-1"}
		for _, request := range []string{"WATCH a", "WATCH b", "UNWATCH 1", "PUT a 1", "PUT b 1"} {
			env.Call(time.Second, nil, sim.Request{Conn: c, Args: strings.Split(request, " ")})
		}
		for {
			data, status := env.Receive(c, time.Second)
			if status != sim.Answered {
				return
			}
			d.log = append(d.log, show(sim.NewReply(data)))
		}
	})
	d.pass(3 * time.Second)
	d.report("[2 3 [PUT [b 1 3 3 1 0]]]")
}
