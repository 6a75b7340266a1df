package scenarios

// This file simulates the protected resource, such as a file store or a database row. It has one register for each
// lock, and clients reach it over the network. It accepts or refuses each request on arrival, and records which. It may
// check fencing tokens. It never fails and has no clock.
//
// READ  lock token                  -> the value; 0 refused
// WRITE lock token value read job   -> 1 applied, 0 stale token; 2 applied before, 3 the value had changed

import (
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// rules says which requests a resource refuses. The zero value does not refuse anything: the last write wins.
type rules struct {
	Lower   bool // refuse reads and writes whose token is lower than the highest seen
	Equal   bool // refuse writes whose token is not higher than the last write's
	Changed bool // refuse writes if the value has changed since the writer read it
	Again   bool // refuse writes for a job that has already been done
}

// resource is the protected resource. It is a [sim.Server].
type resource struct {
	rules     rules
	host      sim.Host
	registers map[string]*register
	reply     []byte // reply to the latest request
}

func newResource(r rules) *resource { return &resource{rules: r} }

type register struct {
	value string
	token history.Token // the highest token of an accepted write or, with rules.Lower, of any accepted request
	jobs  map[string]bool
}

// Start begins a run with empty registers.
func (r *resource) Start(h sim.Host) {
	r.host = h
	r.registers = map[string]*register{}
}

// Wake does nothing, because a resource does not set timers.
func (r *resource) Wake(uint64) {}

// ClockChanged does nothing, because a resource has no clock.
func (r *resource) ClockChanged() {}

// Fault does nothing, because this kind of server has no faults.
func (r *resource) Fault(sim.ServerFault) {}

// Stop does nothing, because no fault stops a resource.
func (r *resource) Stop(sim.Stop) {}

// Serve applies or refuses a request and sends the reply.
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
	if r.rules.Lower && e.Token < g.token {
		r.refuse(q, e, history.StaleToken)
		return
	}
	if r.rules.Lower {
		g.token = e.Token
	}
	e.Type, e.Value = history.OK, g.value
	r.host.Record(e)
	r.reply = sim.AppendBulk(r.reply[:0], g.value)
	q.Reply(r.reply)
}

func (r *resource) write(q *sim.Incoming, g *register, e history.Event) {
	value, seen, job := q.Args[3], q.Args[4], q.Args[5]
	e.Op, e.Value = history.Write, value
	switch {
	case r.rules.Lower && e.Token < g.token,
		r.rules.Equal && e.Token <= g.token:
		r.refuse(q, e, history.StaleToken)
		return
	case r.rules.Changed && seen != g.value:
		r.refuse(q, e, history.CompareFailed)
		return
	case r.rules.Again && g.jobs[job]:
		r.refuse(q, e, history.AlreadyApplied)
		return
	}
	g.value, g.token, g.jobs[job] = value, max(g.token, e.Token), true
	e.Type = history.OK
	r.host.Record(e)
	r.answer(q, accepted)
}

// accepted is the resource's reply to a write that it has accepted.
const accepted = 1

// reasons lists why a request was refused. The index of a reason is the resource's reply.
var reasons = [...]history.Why{history.StaleToken, accepted: "", 2: history.AlreadyApplied, 3: history.CompareFailed}

// WhyRefused returns the reason why the resource refused a write, given the number that it replied with. It returns ""
// if the resource accepted the write.
func WhyRefused(reply int64) history.Why { return reasons[reply] }

func (r *resource) refuse(q *sim.Incoming, e history.Event, why history.Why) {
	e.Type, e.Why = history.Fail, why
	r.host.Record(e)
	r.answer(q, int64(slices.Index(reasons[:], why)))
}

func (r *resource) answer(q *sim.Incoming, n int64) {
	r.reply = sim.AppendInt(r.reply[:0], n)
	q.Reply(r.reply)
}
