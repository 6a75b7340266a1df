package raft

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

const ms = time.Millisecond

// register is a Machine that keeps a list of all written values, in order.
type register struct {
	applied []string // index, term and arguments of each entry
	report  []string
	leads   []string // the reported changes of leader
	served  int

	proposed, values []any // values of the commands that it proposed and of those that it applied
}

func (g *register) Reset(*Member) { *g = register{} }

func (g *register) Apply(m *Member, e *Entry) []byte {
	g.applied = append(g.applied, fmt.Sprintf("%d/%d %s %s", e.Index, e.Term, e.Attempt, strings.Join(e.Args, " ")))
	g.values = append(g.values, e.Value)
	if e.First {
		m.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: "log", Value: e.Args[0], Of: e.Attempt,
			Until: history.Never})
	}
	return fmt.Appendf(nil, ":%d\r\n", len(g.applied))
}

func (g *register) Serve(m *Member, r *sim.Incoming) {
	g.served++
	switch r.Args[0] {
	case "write":
		value := &struct{ args []string }{r.Args[1:]}
		g.proposed = append(g.proposed, value)
		m.Propose(Command{r.Attempt, r.Args[1:], value}, func(reply []byte, err error) {
			if err != nil {
				reply = []byte("-" + err.Error() + "\r\n")
			}
			r.Reply(reply)
		})
	case "read":
		m.ReadIndex(func(err error) {
			if err != nil {
				r.Reply([]byte("-" + err.Error() + "\r\n"))
				return
			}
			r.Reply(fmt.Appendf(nil, ":%d\r\n", len(g.applied)))
		})
	case "catch up":
		m.CatchUp(func(error) { r.Reply(fmt.Appendf(nil, ":%d\r\n", len(g.applied))) })
	case "lead":
		m.ProposeAsLeader(Command{Attempt: r.Attempt, Args: r.Args[1:]})
		r.Reply(fmt.Appendf(nil, "+%v\r\n", m.Leading()))
	case "active":
		r.Reply(fmt.Appendf(nil, "+%v\r\n", m.Active()))
	case "stale":
		r.Reply(fmt.Appendf(nil, ":%d\r\n", len(g.applied)))
	}
}

func (g *register) LeaderChanged(m *Member) {
	g.leads = append(g.leads, fmt.Sprintf("%v %v", m.Leader(), m.Leading()))
}
func (g *register) Wake(m *Member, tag uint64) {
	g.report = append(g.report, fmt.Sprintf("wake %d", tag))
}
func (g *register) ReceiveFromPeer(m *Member, from sim.ProcessID, body any) {
	g.report = append(g.report, fmt.Sprintf("%v: %v", from, body))
}
func (g *register) Lost(m *Member, why history.Why) {
	for _, e := range g.applied {
		m.Record(history.Event{Type: history.OK, F: history.KeyGone, Lock: "log", Value: e, Why: why})
	}
}
func (g *register) Fault(m *Member, f sim.ServerFault) { g.report = append(g.report, f.Kind) }

// lab is a world with a cluster and delays of 1 ms.
type lab struct {
	*sim.World
	*Cluster
	t       testing.TB
	clients int
	log     []string
}

func names(n int) (all []sim.ProcessID) {
	for i := range n {
		all = append(all, sim.ProcessID(fmt.Sprintf("m-%d", i+1)))
	}
	return all
}

func newLab(t testing.TB, members int, c Config) *lab {
	l := &lab{World: sim.New(7, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t,
		Cluster: NewCluster(c, names(members), func() Machine { return &register{} })}
	l.AddTo(l.World.AddServer)
	return l
}

// rerun starts another run with the same cluster and reuses the cluster's memory.
func (l *lab) rerun(seed uint64, opts sim.Options, c Config) {
	l.World.Reset(seed, opts)
	l.Cluster.Reset(c)
	l.AddTo(l.World.AddServer)
	l.clients, l.log = 0, nil
}

func (l *lab) register(i int) *register { return l.Members()[i-1].machine.(*register) }

func (l *lab) leaders() (all []int) {
	for _, m := range l.Members() {
		if m.Leading() {
			all = append(all, m.Number())
		}
	}
	return all
}

// schedule makes the world call f at time d.
func (l *lab) schedule(d time.Duration, f func()) { l.At(sim.Time(d), f) }

// say logs a line with the true time, which only a test may see.
func (l *lab) say(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%v %s", l.Now().Duration(), fmt.Sprintf(format, args...)))
}

// ask adds a client that sends one request at the given time and logs the answer.
func (l *lab) ask(at time.Duration, member int, timeout time.Duration, args ...string) {
	l.clients++
	name := sim.ProcessID(fmt.Sprintf("c-%d", l.clients))
	l.AddClient(name, sim.Time(at), func(env sim.Env) {
		r := env.Call(timeout, nil, sim.Request{Conn: sim.Conn{Server: names(member)[member-1]}, Args: args,
			Attempt: history.Attempt(name)})
		l.say("%s: %s%d", strings.Join(args, " "), strings.TrimSpace(string(r[0].Raw())), r[0].Status)
	})
}

func (l *lab) run(until time.Duration) {
	l.t.Helper()
	l.Run(sim.Time(until), nil)
	if l.Err() != nil {
		l.t.Fatal(l.Err())
	}
}

func (l *lab) want(got []string, want ...string) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
