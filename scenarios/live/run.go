package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// Fleet is a run's set of lock servers.
type Fleet interface {
	// Can returns an error that says why a fault on the servers cannot be carried out, or nil if it can be. It is
	// called for each fault in the plan, before anything starts.
	Can(f *nemesis.Fault) error
	// Front returns the front end through which the user's clients reach the servers. own is the simulated servers'
	// front end, or nil if they have none.
	Front(own sim.Front) sim.Front
	// Server returns the server that replaces a simulated lock server or Sentinel (own). It returns own if that server
	// should not be replaced.
	Server(id sim.ProcessID, own sim.Server) sim.Server
	// Begin starts the servers. It uses the loop to pass everything that they do to the simulated world.
	Begin(l *realtime.Loop) error
	// End stops everything that Begin started. It is called once, after the loop has ended, even if Begin failed.
	End() error
}

// Simulated is a Fleet of simulated servers.
type Simulated struct{}

// Can accepts any fault.
func (Simulated) Can(*nemesis.Fault) error { return nil }

// Front returns the simulated front end unchanged.
func (Simulated) Front(own sim.Front) sim.Front { return own }

// Server returns the simulated server unchanged.
func (Simulated) Server(_ sim.ProcessID, own sim.Server) sim.Server { return own }

// Begin does nothing, because there is nothing to start.
func (Simulated) Begin(*realtime.Loop) error { return nil }

// End does nothing, because there is nothing to stop.
func (Simulated) End() error { return nil }

// Options describe a run: the scenario, its servers, and its clients.
type Options struct {
	Scenario *scenarios.Scenario
	Command  string          // shell command that starts the user's client; empty: use the scenario's own protocol
	Own      process.Command // command that makes this program call Child
	Host     string          // address to listen on
	Fleet    Fleet
	Keeper   *process.Keeper // starts the clients, and makes sure that none of them outlives the run
	Context  context.Context // the run ends when this context is done
	Patience time.Duration   // how long the clients may take to send their first report
	Hidden   string          // environment variable that the clients do not inherit; empty: they inherit all
	Again    func(why error) // if set, called when the host has delayed the start, before another attempt to start
	Virtual  *Virtual        // if set, the clients that Command starts run in virtual time
	wanted   scenarios.Wanted
}

// Patience is the maximum time, including a margin, that programs may take to start.
const Patience = 30 * time.Second

// Result is the result of a run.
type Result struct {
	scenarios.Result
	Late  realtime.Lateness
	Notes []string // what readers of the report must know about the run
	// Partial is set if a client ended or misbehaved before it had finished its work. Laws may then hold only because
	// too little was tested.
	Partial bool
	Printed []Printed
	calls   []traced.Call // in virtual time, if requested
}

// Printed is a client's output, or the last part of it.
type Printed struct {
	Client sim.ProcessID
	Text   string
}

// Run carries out the plan. If the plan cannot be carried out, Run returns a *RefusedError before anything starts. A
// client that violates the report protocol ends the run. If the scenario had begun by then, the result says so;
// otherwise Run returns a *ClientError. If something else ends the run after its start, Run returns both a result and
// an error, and the result must not be judged.
func Run(o Options, p nemesis.Plan) (*Result, error) {
	if err := refuse(&o, p.Faults); err != nil {
		return nil, err
	}
	st := &stage{Options: o, seed: p.Seed, standing: map[place]owned{},
		locks: o.Scenario.Locks(), groups: o.Scenario.Targets().Groups}
	var err error
	if st.clock, err = st.newClock(); err != nil {
		return nil, err
	}
	defer st.End() // if something panics
	runner := scenarios.NewRunnerWith(o.Scenario, st)
	runner.ReportSent(o.wanted.Sent)
	if o.wanted.Watch != nil {
		runner.Watch(func(m sim.Moment) {
			m.At = max(m.At-st.zero, 0)
			o.wanted.Watch(m)
		})
	}
	r, err := runner.Run(p)
	if failed := errors.Join(err, st.failed); failed != nil && (err != nil || !st.begun) {
		return nil, failed
	}
	rebase(r.History, st.zero)
	for i := range r.Sent {
		s := &r.Sent[i]
		for _, t := range []*sim.Time{&s.Left, &s.Arrived, &s.Answered, &s.Taken} {
			*t = max(*t-st.zero, 0)
		}
	}
	r.Stalled = stalled(o.Scenario, st.loop.Late().Max())
	result := &Result{Result: r, Late: st.loop.Late(), Notes: st.notes(r.Stalled), Printed: st.printed()}
	result.Partial = len(st.crashes.keys) > 0
	if st.virtual != nil {
		result.calls = st.virtual.calls
		result.EndedEarly = st.tooLittle()
	}
	var fault *ClientError
	var flood *realtime.FloodError
	if errors.As(st.failed, &fault) || errors.As(st.failed, &flood) {
		result.Partial = true
		result.Notes = append([]string{"the run ended early: " + shown(st.failed.Error(), mostSaid)}, result.Notes...)
		return result, nil
	}
	return result, st.failed
}

// tooLittle returns a sentence that names the clients that ended before they had finished their work. It returns "" if
// there are none.
func (st *stage) tooLittle() string {
	if len(st.crashes.keys) == 0 {
		return ""
	}
	return "A client ended on its own before it had finished its work, so too little was tried: " +
		strings.Join(st.crashes.list(), "; ") + "."
}

func (st *stage) printed() (list []Printed) {
	for _, k := range st.clients {
		if text := k.said.all(); text != "" {
			list = append(list, Printed{k.id, text})
		}
	}
	return list
}

// rebase subtracts zero from a history's times. Times before zero become 0.
func rebase(h *history.History, zero sim.Time) {
	shift := func(t *sim.Time) {
		if *t != history.Never {
			*t = max(*t-zero, 0)
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		shift(&e.Time)
		switch {
		case e.F == history.KeySet || e.F == history.KeyProlonged:
			shift(&e.Until)
		case e.F == history.Crashed && e.Until != 0:
			e.Until = max(e.Until-zero, 1)
		}
		if e.Sent != 0 { // 0 means unknown
			shift(&e.Sent)
		}
		if g := e.Grant; g != nil {
			shift(&g.Since)
			shift(&g.Granted)
			shift(&g.Until)
		}
	}
	shift(&h.Header.End)
}

// notes returns what readers of the report must know about the run.
func (st *stage) notes(stall string) []string {
	late, notes := st.loop.Late(), st.crashes.list()
	if st.virtual == nil {
		notes = append(notes, fmt.Sprintf("real time: another run of this plan will not be identical. "+
			"Host delay: median %v, 99th percentile %v, maximum %v",
			rounded(late.Quantile(0.5)), rounded(late.Quantile(0.99)), rounded(late.Max())))
	}
	if n := st.ungranted; n > 0 {
		notes = append(notes, fmt.Sprintf("clients reported ACQUIRED or EXTENDED %d times "+
			"although no server had set or extended the lock's key for them: "+
			"the validity of these leases was not checked", n))
	}
	notes = append(notes, st.incidents.list()...)
	for _, k := range st.clients {
		if n := st.front.Refused(k.id); n > 0 {
			notes = append(notes, fmt.Sprintf("connections to the ports of %s that were refused, "+
				"because they did not give its password or were opened by another process: %d", k.id, n))
		}
		if text := shown(k.said.last(mostQuoted), mostQuoted); text != "" {
			notes = append(notes, fmt.Sprintf("%s printed last: %s", k.id, text))
		}
	}
	if stall != "" {
		notes = append(notes, stall)
	}
	if st.virtual != nil {
		return notes
	}
	return append(notes, warnings(st.Scenario)...)
}

// stalled returns a note if the host stalled for longer than some client waits for a reply, because this may have
// changed the outcome of the run. Otherwise, it returns "".
func stalled(s *scenarios.Scenario, stall time.Duration) string {
	for i := range s.Clients {
		if most := s.Clients[i].Lock.Timeout; stall > most {
			return fmt.Sprintf("the host stalled for longer than %s waits for a reply (%v): "+
				"a client that got no reply may have waited for the host; run it again on an idle machine",
				s.Clients[i].ID, most)
		}
	}
	return ""
}

// mostQuoted is the maximum number of bytes of a client's output to quote in a note.
const mostQuoted = 300

func rounded(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}

// leastTTL and leastSlack are the smallest TTL and slack at which a host stall is unlikely to change the outcome of a
// run. The slack is the TTL minus the time for which a client holds the lock.
const (
	leastTTL   = 300 * time.Millisecond
	leastSlack = 50 * time.Millisecond
)

// warnings says why host stalls may change the outcome of a run of s. The list is empty if that is unlikely.
func warnings(s *scenarios.Scenario) (list []string) {
	for i := range s.Clients {
		l, hold := &s.Clients[i].Lock, s.Clients[i].Work.Hold
		if ttl := l.TTL; ttl < leastTTL && expires(l) {
			return append(list, fmt.Sprintf("a TTL of %v is short for real time: "+
				"below %v, a stall of the host may determine the outcome of the run", ttl, leastTTL))
		}
		if slack := l.TTL - hold; expires(l) && l.Extension == nil && slack >= 0 && slack < leastSlack {
			return append(list, fmt.Sprintf("the TTL is only %v longer than the critical sections: "+
				"below %v, a stall of the host may determine the outcome of the run", slack, leastSlack))
		}
	}
	return list
}

func expires(c *locks.Config) bool {
	d := locks.Define(c.Protocol)
	return d != nil && d.Expires
}
