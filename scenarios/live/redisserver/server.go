package redisserver

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Server is a real redis-server in a simulated world: a master, a replica, or a Sentinel. Package sim calls its methods
// on the world's goroutine.
type Server struct {
	*fleet.Lives
	name    sim.ProcessID
	cfg     *servers
	reports bool // whether the process reports key changes, so that they can be recorded

	at       endpoint // where the process listens
	cuts     bool     // whether a power loss destroys data that was not fsynced
	disk     process.Disk
	guard    *guard // set only for a user's server
	group    *group
	deaf     bool     // whether it failed to accept its priority for a failover
	sentinel *watcher // set only for a Sentinel

	// Only the world's goroutine uses the fields below.
	life    *life // nil while the server is stopped
	records records
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.Pauser
} = (*Server)(nil)

// Start starts the server. On the first call, the fleet has already started its process. Later calls start a new
// process. Requests that arrive before the process is ready wait, as if the operating system had kept the server's
// socket open.
func (s *Server) Start(h sim.Host) {
	x := &life{Life: s.Begin(h), s: s, more: make(chan struct{}, 1), links: map[uint64]*link{}}
	s.life = x
	if s.reports {
		s.records.begin(h)
	}
	go func() {
		defer x.closeAll()
		if err := s.boot(x); err != nil {
			x.Explain(err)
			return
		}
		x.run()
	}()
}

// boot starts the process once the previous one has ended, and opens the executor's own connections.
func (s *Server) boot(x *life) error {
	if err := x.Boot(func() error { return s.start(x.Context.Done()) }); err != nil {
		return err
	}
	go x.Watch()
	if s.reports && s.cfg.Persistence == store.No {
		go s.disk.Watch(s.Daemon.Folder, s.Daemon.Ended())
	}
	if err := x.open(); err != nil {
		return fmt.Errorf("%s does not accept connections: %w", s.name, err)
	}
	return x.survey()
}

// request is a client's request, in the form that the executor uses. Only the world's goroutine may access the embedded
// Incoming.
type request struct {
	*sim.Incoming
	conn    uint64
	attempt history.Attempt
	sent    history.Time
	args    []string
	// commands contains the commands that the request executes: args itself or, if args is EXEC, the transaction's
	// commands.
	commands [][]string
}

// Serve passes a request to the process, which executes it after all earlier requests.
func (s *Server) Serve(r *sim.Incoming) {
	if s.sentinel.serves(r) {
		return
	}
	x, args := s.life, slices.Clone(r.Args)
	q := &request{r, r.ConnID, r.Attempt, r.Left(), args, [][]string{args}}
	x.queue(func() error { return x.serve(q) })
}

// Closed handles the end of a client's connection by closing the corresponding connection to the server's process.
func (s *Server) Closed(conn uint64) {
	x := s.life
	s.sentinel.forget(conn)
	x.queue(func() error {
		x.forget(conn)
		return nil
	})
}

// Wake reads the keys whose deadlines have passed.
func (s *Server) Wake(uint64) {
	x := s.life
	names := s.records.due(s.Host.Wall())
	if len(names) == 0 {
		s.arm()
		return
	}
	x.queue(func() error { return x.touch(names) })
}

// arm sets the timer to the earliest key deadline.
func (s *Server) arm() {
	if !s.reports || s.records.replica {
		return
	}
	if when := s.records.data.NextDeadline(); when <= store.LastTimed {
		s.Host.WakeAtWall(store.EndOf(when), 0)
	}
}

// retry is the delay before rereading a key that has expired by the world's clock but not yet by the server's clock.
const retry = time.Millisecond

// touchedDue records the effects of reading the keys whose deadlines had passed.
func (s *Server) touchedDue(said []notice, keys []store.Key) {
	s.records.note(s.Host.Wall(), "", 0, nil, said, keys)
	if len(s.records.due(s.Host.Wall())) > 0 {
		s.Host.WakeAfter(retry, 0)
		return
	}
	s.arm()
}

// observed records the effects of a request or, if r is nil, effects that do not belong to a request. If err is set,
// the effects could not be read, and the next comparison of all keys with the records will find them.
func (s *Server) observed(r *request, said []notice, keys []store.Key, err error) {
	if r == nil {
		r = &request{}
	}
	if err != nil {
		s.records.guess = r.attempt
		return
	}
	if s.records.note(s.Host.Wall(), r.attempt, r.sent, r.commands, said, keys) {
		s.arm()
	}
}

// removed records the effects of an operator's command.
func (s *Server) removed(why history.Why, said []notice, keys []store.Key) {
	s.records.operator = why
	s.observed(nil, said, keys, nil)
	s.records.operator = ""
}

// surveyed compares the given keys with the records, and records the differences. It also handles a change in the
// server's role.
func (s *Server) surveyed(replica bool, keys []store.Key) {
	switch was := s.records.replica; {
	case was && !replica:
		s.group.promoted(s, keys)
	case !was && replica:
		s.group.demoted(s, keys)
	default:
		s.records.survey(s.Host.Wall(), keys)
	}
	s.arm()
}

func (s *Server) push(l *link, b []byte) {
	s.Host.Push(l.id, sim.Key(0).Text(string(b)), s.named(b))
}

// ClockChanged sets the process's clocks to the world's clocks. Keys expire according to these clocks.
func (s *Server) ClockChanged() {
	s.Lives.ClockChanged()
	s.arm()
}

// Fault makes fsyncs slow, makes a Sentinel order a failover, or removes keys as an operator would.
func (s *Server) Fault(f sim.ServerFault) {
	switch x := s.life; {
	case f.Kind == sim.FailOver && s.sentinel != nil && x != nil:
		go s.sentinel.order(x, f.To)
	case f.Kind == sim.RemoveKeys && x != nil:
		x.queue(func() error { return x.removeKeys(f.Key, f.Why) })
	}
	if f.Kind != sim.SlowFsync {
		return
	}
	by := f.By
	if !f.Begin {
		by = -by
	}
	if err := s.Daemon.Shim.SlowFsync(by); err != nil {
		s.Fail(fmt.Errorf("making the fsyncs of %s slow: %w", s.name, err))
	}
}

// Stop stops the server. A power loss destroys data that was not fsynced.
func (s *Server) Stop(how sim.Stop) {
	x := s.life
	s.life = nil
	underWay := x.underWay() // read this before the executor learns of the stop
	s.sentinel.endLife()
	if s.reports {
		s.records.end(how.Loss(s.cfg.Persistence != store.None), underWay)
	}
	x.Stop(how, func() error { return s.end(how) })
}
