package redis

// Redis Sentinel, a program of a server process: it watches the masters of groups, promotes a replica when one is down,
// and informs clients who is master. A node receives from it only pings and orders to follow a master.

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Defaults of a Sentinel: those of sentinel.conf and of its source.
const (
	DefaultDownAfter        = 30 * time.Second
	defaultPingEvery        = time.Second
	defaultFailoverTimeout  = 180 * time.Second
	DefaultReconfigureAfter = 8 * time.Second
)

// A Sentinel that was stopped for longer than tiltTrigger mistrusts what it sees and only watches for tiltPeriod
// (TILT).
const (
	tiltTrigger = 2 * time.Second
	tiltPeriod  = 30 * time.Second
)

// replTimeout is after how long without a sign of the other a master and a replica give their link up (repl-timeout).
const replTimeout = 60 * time.Second

// infoPeriod is how often a real Sentinel asks a node for its role. A master that says it is a replica counts as down
// after DownAfter and two of these; here every answer to a ping states the role.
const infoPeriod = 10 * time.Second

// SentinelConfig is what a run may choose about a Sentinel. Zero durations are the defaults.
type SentinelConfig struct {
	// Groups lists the nodes of each group, its first master first. A group is named after that.
	Groups [][]sim.ProcessID
	// Version is that of the Redis that it comes with, by the name that [redis.VersionOf] reads; empty is 7.0.
	Version string
	// DownAfter is for how long a node must leave a ping unanswered to count as down.
	DownAfter time.Duration
	// PingEvery is how often each node is pinged; DownAfter if that is shorter.
	PingEvery time.Duration
	// FailoverTimeout is after which an order to promote that nothing came of is given up, for another choice.
	FailoverTimeout time.Duration
	// ReconfigureAfter is for how long a deposed master must be reachable before it is made a replica. Until then it
	// continues to serve. Negative is at once.
	ReconfigureAfter time.Duration
}

func (c SentinelConfig) withDefaults() SentinelConfig {
	for _, d := range []struct {
		set  *time.Duration
		zero time.Duration
	}{{&c.DownAfter, DefaultDownAfter}, {&c.PingEvery, defaultPingEvery}, {&c.FailoverTimeout, defaultFailoverTimeout},
		{&c.ReconfigureAfter, DefaultReconfigureAfter}} {
		if *d.set == 0 {
			*d.set = d.zero
		}
	}
	c.PingEvery = min(c.PingEvery, c.DownAfter)
	return c
}

// Sentinel watches the masters of groups, promotes a replica when one is down, and informs clients who is master. It
// implements [sim.Peer].
//
// It answers client libraries as Redis's Sentinel does (clients.go). Hosts are the names of processes, as with
// resolve-hostnames and announce-hostnames in sentinel.conf. Of its channels there is +switch-master. Modelled clients
// get the same in short: SUBSCRIBE switch-master, and then a push "switch-master old new" for each switch.
//
// It represents a quorum of Sentinels that agree at once: their votes, their elections, and a minority that is cut off
// with a master are not modelled. So it may promote a replica although others would still reach the master, as one
// Sentinel with a quorum of one does. It promotes as soon as it may, where a real one looks every 50 to 100 ms, takes
// one step of a failover at each look, and waits for twice failover-timeout after one that found no replica. For how
// long a replica has been without its master is what the master saw of it: a link that is cut towards the replica
// alone counts as up. Partial resynchronisation is not modelled either: every change of master is a full resync, which
// leaves the same data.
type Sentinel struct {
	cfg         SentinelConfig
	host        sim.Host // nil between lives
	groups      []*group // they outlive the process, as sentinel.conf does
	subscribers []uint64
	ordered     []sim.ProcessID // by faults, not yet carried out
	lastTick    time.Duration
	tiltUntil   time.Duration
	checked     time.Duration // for when an extra look at pings is arranged
	face        *Node         // serves client libraries; nil before there is any
}

// group is what a Sentinel knows of one group.
type group struct {
	name   string
	nodes  []*watched
	master *watched
	// promoting is the node that the Sentinel has ordered to be master and that has not confirmed it yet; nil if there
	// is none.
	promoting *watched
	since     time.Duration // when it was ordered
}

// watched is a node as a Sentinel sees it. Times are on the Sentinel's monotonic clock.
type watched struct {
	name     sim.ProcessID
	answered bool          // it has answered anything in this life of the Sentinel
	lastPong time.Duration // when it last did
	waiting  bool          // a ping is unanswered
	pinged   time.Duration // the oldest such ping
	last     pong
	// linkDown is for how long its link to the master had been down when the master last answered.
	linkDown   time.Duration
	wrong      bool // it is up and reports that it follows the wrong master, or none
	wrongSince time.Duration
}

var _ interface {
	sim.Peer
	sim.Closer
} = (*Sentinel)(nil)

// NewSentinel makes a Sentinel for one run.
func NewSentinel(cfg SentinelConfig) *Sentinel {
	s := &Sentinel{}
	s.reset(cfg)
	return s
}

// reset makes s as new, for the next run.
func (s *Sentinel) reset(cfg SentinelConfig) {
	*s = Sentinel{cfg: cfg.withDefaults()}
	for _, names := range cfg.Groups {
		if len(names) == 0 {
			continue
		}
		sh := &group{name: string(names[0])}
		for _, name := range names {
			sh.nodes = append(sh.nodes, &watched{name: name})
		}
		sh.master = sh.nodes[0]
		s.groups = append(s.groups, sh)
	}
}

// Tags of a Sentinel's timers.
const (
	sentinelTick uint64 = iota + 1
	wakeLook
	sentinelOrder
)

// Start begins to watch, with what the last life knew of who is master.
func (s *Sentinel) Start(h sim.Host) {
	s.host = h
	s.lastTick, s.tiltUntil, s.checked = h.Monotonic(), 0, 0
	h.WakeAfter(0, sentinelTick)
}

// Stop ends the life.
func (s *Sentinel) Stop(sim.Stop) {
	s.host, s.subscribers, s.ordered, s.face = nil, nil, nil, nil
	for _, sh := range s.groups {
		for _, w := range sh.nodes {
			*w = watched{name: w.name}
		}
	}
}

// ClockChanged does nothing: all is counted on the monotonic clock. A real Sentinel counts on the wall clock, and
// mistrusts a jump as it does a pause (TILT).
func (s *Sentinel) ClockChanged() {}

// Fault takes the order of a failover, carried out once the process runs; others are not a Sentinel's.
func (s *Sentinel) Fault(f sim.ServerFault) {
	if f.Kind == sim.FailOver && s.host != nil {
		s.ordered = append(s.ordered, f.To)
		s.host.WakeAfter(0, sentinelOrder)
	}
}

// The messages between a node and its observer, a Sentinel. A pong has the key of what it answers.
type (
	// probe asks a node for its state, as PING and INFO do.
	probe struct{ Key sim.Key }
	// order makes a node follow a master, or be one, as REPLICAOF does. If that is new to the node it disconnects its
	// clients.
	order struct {
		Master sim.ProcessID
		Key    sim.Key
	}
	// pong answers a probe or an order: whom the node follows (nobody: it is a master), how far it has come, its
	// replication offset in effects, and, of a master, its replicas that have long said nothing.
	pong struct {
		Master sim.ProcessID
		Offset int64
		Silent []silence
	}
	// silence is for how long the link to a replica has been down.
	silence struct {
		replica sim.ProcessID
		down    time.Duration
	}
)

// Phases of these messages; they key the draws of delays.
const (
	phaseProbe = "ping"
	phaseOrder = "replicaof"
	phasePong  = "pong"
)

// pong answers the observer.
func (n *Node) pong(to sim.ProcessID, key sim.Key) {
	p := pong{Master: n.repl.master, Offset: n.repl.end()}
	for i := range n.repl.replicas {
		r := &n.repl.replicas[i]
		if d := n.host.Monotonic() - r.seen - replTimeout; p.Master == "" && d > 0 {
			p.Silent = append(p.Silent, silence{r.name, d})
		}
	}
	n.post(to, phasePong, key, p)
}
