package redis

// Redis Sentinel, a program of a server process: it watches the masters of groups, promotes a replica when one is down,
// and informs clients who is master. A node receives from it only pings and orders to follow a master.

import (
	"slices"
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

// A Sentinel that has not looked for longer than tiltTrigger mistrusts what it sees and only watches for tiltPeriod
// (TILT).
const (
	tiltTrigger = 2 * time.Second
	tiltPeriod  = 30 * time.Second
)

// replTimeout is after how long without a sign of the other a master and a replica give their link up (repl-timeout).
const replTimeout = 60 * time.Second

// A node is asked for its role and its offset (INFO) every infoPeriod. A replica is asked every closeInfoPeriod while
// its master is down or is being replaced. A master that says it is a replica counts as down after DownAfter and two of
// infoPeriod.
const (
	infoPeriod      = 10 * time.Second
	closeInfoPeriod = time.Second
)

// reconfTimeout is after how long a replica that was sent after a new master, and does not follow it yet, is not waited
// for.
const reconfTimeout = 10 * time.Second

// Between two looks at all nodes lies a second divided by a number from leastHz, drawn anew after each look, below
// twice that: 52 to 100 ms.
const leastHz = 10

// SentinelConfig is what a run may choose about a Sentinel. Zero durations are the defaults.
type SentinelConfig struct {
	// Groups lists the nodes of each group, its first master first. A group is named after that.
	Groups [][]sim.ProcessID
	// Version is that of the Redis that it comes with, by the name that [redis.VersionOf] reads; empty is 7.0.
	Version string
	// DownAfter is for how long a node must leave a ping unanswered to count as down.
	DownAfter time.Duration
	// PingEvery is how long after an answer a node is pinged again; DownAfter if that is shorter.
	PingEvery time.Duration
	// FailoverTimeout is after which an order to promote that nothing came of is given up. Between the beginnings of
	// two failovers of which the first came to nothing lies at least twice as much.
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
	return c
}

// Sentinel watches the masters of groups, promotes a replica when one is down, and informs clients who is master. It
// implements [sim.Peer].
//
// It looks at its nodes every 52 to 100 ms, and takes one step of a failover at each look, as Redis's does
// (sentinel.c): it finds the master down, chooses a replica, orders it to be master, waits until the replica says so,
// sends the other replicas after it one by one, and announces the switch.
//
// It answers client libraries as Redis's Sentinel does (clients.go). Hosts are the names of processes, as with
// resolve-hostnames and announce-hostnames in sentinel.conf. Of its channels there is +switch-master. Modelled clients
// get the same in short: SUBSCRIBE switch-master, and then a push "switch-master old new" for each switch.
//
// It represents a quorum of Sentinels that agree at once: their votes, their elections, and a minority that is cut off
// with a master are not modelled. So it may promote a replica although others would still reach the master, as one
// Sentinel with a quorum of one does. For how long a replica has been without its master is what the master saw of it:
// a link that is cut towards the replica alone counts as up. A deposed master is made a replica as soon as
// ReconfigureAfter is over, where a real Sentinel waits for its next INFO, every 10 s. Partial resynchronisation is not
// modelled either: every change of master is a full resync, which leaves the same data.
type Sentinel struct {
	cfg         SentinelConfig
	host        sim.Host // nil between lives
	groups      []*group // they outlive the process, as sentinel.conf does
	subscribers []uint64
	lastLook    time.Duration
	tiltUntil   time.Duration
	face        *Node // serves client libraries; nil before there is any
}

// group is what a Sentinel knows of one group.
type group struct {
	name   string
	nodes  []*watched
	master *watched
	wanted *watched // a fault has ordered that it be master, and it is not yet; nil if none has

	stage     stage
	since     time.Duration // when the stage began
	promoting *watched      // the replica chosen; nil until one is
	attempted bool          // a failover has begun since the last switch
	began     time.Duration // when it did, and the part of a second that a real Sentinel adds
}

// stage is how far a failover is. Each takes at least one look.
type stage uint8

const (
	idle stage = iota
	starting
	selecting     // a replica to promote
	ordering      // it to be master
	awaiting      // its INFO, which says that it is
	reconfiguring // the other replicas
)

// watched is a node as a Sentinel sees it. Times are on the Sentinel's monotonic clock.
type watched struct {
	name     sim.ProcessID
	linked   bool          // there is a connection to it, or at least no sign that there is none
	dialed   time.Duration // when the latest connection was begun
	pinged   time.Duration // the oldest ping that is unanswered, or when the node became known
	waiting  bool          // there is one
	lastPing time.Duration
	lastPong time.Duration
	down     bool // it has been silent for too long
	downAt   time.Duration

	informed bool          // it has answered an INFO
	info     time.Duration // when it last did
	asked    time.Duration // when it was last sent one
	last     pong          // the answer
	// linkDown is for how long its link to the master had been down when the master last answered.
	linkDown   time.Duration
	wrong      bool // it is up and reports that it follows the wrong master, or none
	wrongSince time.Duration

	// Of a failover: when it was sent after the new master, if it was, and whether that is done or given up.
	sentAfter bool
	sentAt    time.Duration
	follows   bool
}

var _ interface {
	sim.Peer
	sim.Closer
	sim.EventLoop
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

// Start begins to watch, with what the last life knew of who is master.
func (s *Sentinel) Start(h sim.Host) {
	s.host = h
	s.lastLook, s.tiltUntil = h.Monotonic(), 0
	for _, g := range s.groups {
		s.meet(g, s.lastLook)
	}
	h.WakeAfter(0, 0)
}

// meet forgets all of a group but who is master, and gives every node the time that it may be silent for.
func (s *Sentinel) meet(g *group, now time.Duration) {
	*g = group{name: g.name, nodes: g.nodes, master: g.master, wanted: g.wanted}
	for _, w := range g.nodes {
		*w = watched{name: w.name, waiting: true, pinged: now, lastPong: now, dialed: now - s.cfg.PingEvery}
	}
}

// EventLoop makes it a [sim.EventLoop].
func (s *Sentinel) EventLoop() {}

// Stop ends the life.
func (s *Sentinel) Stop(sim.Stop) {
	s.host, s.subscribers, s.face = nil, nil, nil
	for _, g := range s.groups {
		g.wanted = nil
	}
}

// ClockChanged does nothing: all is counted on the monotonic clock. A real Sentinel counts on the wall clock, and
// mistrusts a jump as it does a pause (TILT).
func (s *Sentinel) ClockChanged() {}

// Fault takes the order of a failover, carried out once the node meant can be chosen; others are not a Sentinel's.
func (s *Sentinel) Fault(f sim.ServerFault) {
	if f.Kind != sim.FailOver || s.host == nil {
		return
	}
	for _, g := range s.groups {
		if w := g.node(f.To); w != nil {
			g.wanted = w
		}
	}
}

// node is the node with a name; nil if it is of another group.
func (g *group) node(name sim.ProcessID) *watched {
	if i := slices.IndexFunc(g.nodes, func(w *watched) bool { return w.name == name }); i >= 0 {
		return g.nodes[i]
	}
	return nil
}

// The messages between a node and its observer, a Sentinel. A pong has the key of what it answers.
type (
	// probe asks a node for a sign of life, as PING does, or for its state, as INFO does.
	probe struct {
		Key  sim.Key
		Info bool
	}
	// order makes a node follow a master, or be one, as REPLICAOF does. If that is new to the node it disconnects its
	// clients.
	order struct{ Master sim.ProcessID }
	// pong answers a probe: whether of an INFO, whom the node follows (nobody: it is a master) and whether it has that
	// one's data, how far it has come, its replication offset in effects, and, of a master, its replicas that have long
	// said nothing.
	pong struct {
		Info   bool
		Master sim.ProcessID
		Linked bool
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
	phasePing  = "ping"
	phaseInfo  = "info"
	phaseOrder = "replicaof"
	phasePong  = "pong"
)

// pong answers the observer.
func (n *Node) pong(to sim.ProcessID, of probe) {
	n.repl.observer = to
	p := pong{Info: of.Info, Master: n.repl.master, Linked: n.repl.linked, Offset: n.repl.end()}
	for i := range n.repl.replicas {
		r := &n.repl.replicas[i]
		if d := n.host.Monotonic() - r.seen - replTimeout; p.Master == "" && d > 0 {
			p.Silent = append(p.Silent, silence{r.name, d})
		}
	}
	n.post(to, phasePong, of.Key, p)
}
