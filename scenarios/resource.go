package scenarios

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// resource is the thing that the locks protect: for each lock a register, behind the network, that may check fencing
// tokens. It stands for a file store or a database row; it never fails and has no clock.
//
//	READ  lock token                  -> the value
//	WRITE lock token value read job   -> 1 applied, 0 refused; 2 applied before
type resource struct {
	config    ResourceConfig
	host      sim.Host
	registers map[string]*register
}

type register struct {
	value string
	token history.Token // highest seen
	jobs  map[string]bool
}

func (r *resource) Start(h sim.Host) {
	r.host = h
	r.registers = map[string]*register{}
}

func (r *resource) Wake(uint64)           {}
func (r *resource) ClockChanged()         {}
func (r *resource) Fault(sim.ServerFault) {}
func (r *resource) Stop(sim.Stop)         {}

func (r *resource) Serve(q *sim.Incoming) {
	lock := q.Args[1]
	g := r.registers[lock]
	if g == nil {
		g = &register{jobs: map[string]bool{}}
		r.registers[lock] = g
	}
	n, _ := strconv.ParseInt(q.Args[2], 10, 64)
	token := history.Token(n)
	e := history.Event{F: history.Apply, Lock: history.Lock(lock), Of: q.Attempt, Token: token}
	if q.Args[0] == "READ" {
		r.read(q, g, e)
	} else {
		r.write(q, g, e)
	}
}

func (r *resource) read(q *sim.Incoming, g *register, e history.Event) {
	e.Op = history.Read
	if r.config.Fencing == FencingOn && e.Token < g.token {
		r.refuse(q, e, history.StaleToken)
		return
	}
	if r.config.Fencing == FencingOn {
		g.token = e.Token
	}
	e.Type, e.Value = history.OK, g.value
	r.host.Record(e)
	q.Reply(sim.AppendBulk(nil, g.value))
}

func (r *resource) write(q *sim.Incoming, g *register, e history.Event) {
	value, seen, job := q.Args[3], q.Args[4], q.Args[5]
	e.Op, e.Value = history.Write, value
	switch {
	case r.config.Fencing == FencingOn && e.Token < g.token,
		r.config.Fencing == FencingRefuseEqual && e.Token <= g.token:
		r.refuse(q, e, history.StaleToken)
		return
	case r.config.Writes == CompareAndSet && seen != g.value:
		r.refuse(q, e, history.CompareFailed)
		return
	case r.config.Writes == Idempotent && g.jobs[job]:
		e.Type, e.Why = history.Fail, history.AlreadyApplied
		r.host.Record(e)
		q.Reply([]byte(":2\r\n"))
		return
	}
	g.value, g.token, g.jobs[job] = value, max(g.token, e.Token), true
	e.Type = history.OK
	r.host.Record(e)
	q.Reply([]byte(":1\r\n"))
}

func (r *resource) refuse(q *sim.Incoming, e history.Event, why history.Why) {
	e.Type, e.Why = history.Fail, why
	r.host.Record(e)
	q.Reply([]byte(":0\r\n"))
}
