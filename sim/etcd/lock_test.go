package etcd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	_ "github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

const ms = time.Millisecond

// lab is a world with a cluster and clients that compete for one lock.
type lab struct {
	*sim.World
	*raft.Cluster
	t     testing.TB
	names []sim.ProcessID
	work  worker
	done  int
	later []func() // functions that inject faults, called after the clients were added
}

var network = sim.Options{Delay: sim.Delay{Lo: 200 * time.Microsecond, Hi: 2 * ms}}

func newLab(t testing.TB, members int) *lab {
	l := &lab{World: sim.New(0, network), t: t}
	for i := range members {
		l.names = append(l.names, sim.ProcessID(fmt.Sprintf("etcd-%d", i+1)))
	}
	l.Cluster = New(raft.Config{}, l.names)
	l.work = worker{servers: l.names, ttl: 5, cycles: 2, hold: 100 * ms, think: 20 * ms, done: &l.done}
	l.begin(1)
	return l
}

// begin prepares a run with the given seed.
func (l *lab) begin(seed uint64) {
	l.World.Reset(seed, network)
	l.Cluster.Reset(raft.Config{})
	l.AddTo(l.World.AddServer)
	l.done, l.later = 0, nil
}

// clients adds n clients, each of which tries a different server first. The first client starts earlier than the
// others, so that it acquires the lock first.
func (l *lab) clients(n int) {
	for i := range n {
		w := l.work
		w.at = i % len(l.names)
		l.AddClient(sim.ProcessID(fmt.Sprintf("client-%d", i+1)), sim.Time(time.Duration(i)*30*ms), w.main)
	}
	for _, f := range l.later {
		f()
	}
}

// whenAcquired calls f when client-1 acquires the lock for the first time.
func (l *lab) whenAcquired(f func()) {
	l.later = append(l.later, func() { l.AtPoint("client-1", sim.Acquired, 1, f) })
}

func (l *lab) at(d time.Duration, f func()) { l.At(sim.Time(d), f) }

// fault records the beginning or end of a fault, as a nemesis does.
func (l *lab) fault(t history.Type, line string, on ...history.Process) {
	f, _, _ := strings.Cut(line, " ")
	struck := &history.Fault{On: on}
	if history.F(f) == history.Cut {
		struck.On, struck.To = on[:1], on[1:]
	}
	l.Record(history.Nemesis, history.Event{Type: t, F: history.F(f), Value: line, Fault: struck})
}

// pauseHolder pauses client-1 as soon as it has acquired the lock.
func (l *lab) pauseHolder(d time.Duration) {
	const id = "client-1"
	l.whenAcquired(func() {
		line := fmt.Sprintf("pause %s for %v after acquired", id, d)
		l.fault(history.Invoke, line, id)
		l.Pause(id)
		l.at(l.Now().Duration()+d, func() { l.fault(history.OK, line, id); l.Resume(id) })
	})
}

// cutBetween cuts all links between the servers in a and those in b.
func (l *lab) cutBetween(a, b []sim.ProcessID, from, until time.Duration) {
	each := func(f func(from, to sim.ProcessID)) {
		for _, x := range a {
			for _, y := range b {
				f(x, y)
				f(y, x)
			}
		}
	}
	l.at(from, func() { each(l.Cut) })
	l.at(until, func() { each(l.Heal) })
}

// judge runs the world until the clients are done, and checks the history.
func (l *lab) judge(clients int) checker.Verdict {
	l.t.Helper()
	l.clients(clients)
	if l.Run(sim.Time(5*time.Minute), func() bool { return !l.Busy() }) {
		l.t.Errorf("seed %d: the clients are not done after five minutes", l.Seed())
	}
	h := l.Finish()
	if l.Err() != nil {
		l.t.Fatal(l.Err())
	}
	h.Header.Servers, h.Header.Groups, h.Header.Quorum = l.names, [][]history.Process{l.names}, len(l.names)/2+1
	h.Header.Locks, h.Header.TTL, h.Header.Hold = []history.Lock{"orders"},
		history.Of(time.Duration(l.work.ttl)*time.Second), history.Of(l.work.hold)
	h.Header.Bound, h.Header.Slack = history.Of(15*time.Second), history.Of(10*time.Second)
	for i := range clients {
		h.Header.Clients = append(h.Header.Clients, sim.ProcessID(fmt.Sprintf("client-%d", i+1)))
	}
	return checker.Check(h)
}

func (l *lab) holds(v checker.Verdict, laws ...checker.Law) {
	l.t.Helper()
	for _, law := range laws {
		if f := v.Of(law); f.Outcome != checker.Holds {
			l.t.Errorf("seed %d: %s: %v %v %v", l.Seed(), law, f.Outcome, f.Cause, f)
		}
	}
}
