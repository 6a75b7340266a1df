package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// A Sentinel's defaults, from sentinel.conf and from the source code.
const (
	DefaultDownAfter        = 30 * time.Second
	defaultPingEvery        = time.Second
	defaultFailoverTimeout  = 180 * time.Second
	DefaultReconfigureAfter = 8 * time.Second
)

// If a Sentinel has not checked the nodes for longer than tiltTrigger, it no longer trusts what it knows about them.
// For tiltPeriod, it only monitors the nodes (TILT).
const (
	tiltTrigger = 2 * time.Second
	tiltPeriod  = 30 * time.Second
)

// replTimeout is the time after which a master and a replica close the link between them if they do not hear from each
// other (repl-timeout).
const replTimeout = 60 * time.Second

// The Sentinel asks each node for its role and offset (INFO) every infoPeriod. It asks a replica every closeInfoPeriod
// while the replica's master is down or is being replaced, or while the link between the two is down. A master that
// reports that it is a replica counts as down after DownAfter plus twice infoPeriod.
const (
	infoPeriod      = 10 * time.Second
	closeInfoPeriod = time.Second
)

// reconfTimeout is how long the Sentinel waits for a replica that has been ordered to follow the new master but is not
// following it yet.
const reconfTimeout = 10 * time.Second

// The Sentinel checks all nodes at intervals of 52 to 100 ms: each interval is 1 s divided by a random number from
// leastHz to 2*leastHz-1.
const leastHz = 10

// SentinelConfig is the configuration of a Sentinel in a run. Zero durations mean the defaults.
type SentinelConfig struct {
	// Groups lists the nodes of each group. The first node is the group's first master, and gives the group its name.
	Groups [][]sim.ProcessID
	// Version is the name of the Sentinel's Redis version, for [redis.VersionOf]; empty means 7.0.
	Version string
	// DownAfter is the time after which a node counts as down if it has not answered a ping.
	DownAfter time.Duration
	// PingEvery is the time between a node's answer and the next ping. If DownAfter is shorter, DownAfter is used
	// instead.
	PingEvery time.Duration
	// FailoverTimeout is the time after which the Sentinel gives up on a replica that does not become master. After a
	// failover has failed, the Sentinel does not begin another one until twice FailoverTimeout has passed since the
	// failed one began.
	FailoverTimeout time.Duration
	// ReconfigureAfter is how long a deposed master must be reachable before it is made a replica. Until then, it keeps
	// serving clients. If ReconfigureAfter is negative, the master is made a replica immediately.
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

// Sentinel monitors the groups' masters, promotes a replica when a master is down, and tells clients which node is the
// master. It implements [sim.Peer]. It sends nodes only pings, INFO requests, and orders to follow a master.
//
// It checks its nodes every 52 to 100 ms, and performs one step of a failover in each check, as Redis's Sentinel does
// (sentinel.c): it finds that the master is down, chooses a replica, orders it to become master, waits until the
// replica reports that it is master, makes the other replicas follow it one by one, and announces the switch.
//
// It answers client libraries as Redis's Sentinel does (clients.go). Process names serve as host names, as with
// resolve-hostnames and announce-hostnames in sentinel.conf. Of the channels, only +switch-master is simulated. Modeled
// clients use shorter messages: they send SUBSCRIBE switch-master, and then receive a push "switch-master old new" for
// each switch.
//
// It represents a quorum of Sentinels that agree immediately. Their votes and elections are not modeled, and neither is
// a minority that is cut off along with a master. So, like a single Sentinel with a quorum of one, it may promote a
// replica even though other Sentinels could still reach the master. It learns from the master how long a replica has
// been cut off from it. If only the link to the replica is cut, the link counts as up. A deposed master is made a
// replica once it has been reachable for ReconfigureAfter, whereas a real Sentinel waits for its next INFO, which it
// sends every 10 s. Partial resynchronization is not modeled: every change of master is a full resync, with the same
// result.
type Sentinel struct {
	cfg         SentinelConfig
	host        sim.Host // nil while the process is down
	groups      []*group // kept when the process ends, as sentinel.conf is
	subscribers []uint64
	lastLook    time.Duration
	tiltUntil   time.Duration
	face        *Node // handles the connections of client libraries; nil until there are any
}

// group is what a Sentinel knows about one group of nodes.
type group struct {
	name   string
	nodes  []*watched
	master *watched
	wanted *watched // the node that a fault has ordered to be master, until it is master; nil if there is none

	stage     stage
	since     time.Duration // when the stage began
	promoting *watched      // the replica that was chosen; nil before the choice
	attempted bool          // a failover has begun since the last switch
	began     time.Duration // when that failover began, plus the random part of a second that a real Sentinel adds
}

// stage is how far a failover has progressed. Each stage lasts at least until the Sentinel's next check.
type stage uint8

const (
	idle stage = iota
	starting
	selecting     // choosing the replica to promote
	ordering      // ordering the replica to become master
	awaiting      // waiting for the INFO in which the replica reports that it is master
	reconfiguring // making the other replicas follow the new master
)

// watched is a node as the Sentinel sees it. Times are on the Sentinel's monotonic clock.
type watched struct {
	name     sim.ProcessID
	linked   bool          // whether, as far as the Sentinel knows, there is a connection to the node
	dialed   time.Duration // when the Sentinel last began to connect
	pinged   time.Duration // when the oldest unanswered ping was sent, or when the node became known
	waiting  bool          // there is an unanswered ping
	lastPing time.Duration
	lastPong time.Duration
	down     bool // the node has been silent for too long
	downAt   time.Duration

	informed bool          // the node has answered an INFO
	info     time.Duration // when the node last answered an INFO
	asked    time.Duration // when an INFO was last sent to the node
	last     pong          // the node's latest answer to INFO
	// linkDown is how long the node had been disconnected from the master when the master last answered.
	linkDown   time.Duration
	wrong      bool // the node is up and does not report the role and the master that it should have
	wrongSince time.Duration

	// The fields below are used in a failover. sentAfter reports whether the node was ordered to follow the new master,
	// and sentAt is when. follows is true if the node follows the new master, or if the Sentinel is no longer waiting
	// for it to do so.
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

// reset resets s for the next run, so that it is like a new Sentinel.
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

// Start begins monitoring the nodes. The Sentinel still knows which nodes were masters when the process stopped.
func (s *Sentinel) Start(h sim.Host) {
	s.host = h
	s.lastLook, s.tiltUntil = h.Monotonic(), 0
	for _, g := range s.groups {
		s.meet(g, s.lastLook)
	}
	h.WakeAfter(0, 0)
}

// meet forgets everything about a group except which node is the master. It then waits for a reply from each node.
func (s *Sentinel) meet(g *group, now time.Duration) {
	*g = group{name: g.name, nodes: g.nodes, master: g.master, wanted: g.wanted}
	for _, w := range g.nodes {
		*w = watched{name: w.name, waiting: true, pinged: now, lastPong: now, dialed: now - s.cfg.PingEvery}
	}
}

// EventLoop marks the Sentinel as a [sim.EventLoop].
func (s *Sentinel) EventLoop() {}

// Stop ends the process.
func (s *Sentinel) Stop(sim.Stop) {
	s.host, s.subscribers, s.face = nil, nil, nil
	for _, g := range s.groups {
		g.wanted = nil
	}
}

// ClockChanged does nothing, because all times are measured on the monotonic clock. A real Sentinel uses the wall
// clock, and reacts to a jump as it does to a pause (TILT).
func (s *Sentinel) ClockChanged() {}

// Fault accepts an order to fail over. The order is executed once the given node can be promoted. Other faults are
// ignored.
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

// node returns the node with the given name, or nil if it is not in the group.
func (g *group) node(name sim.ProcessID) *watched {
	if i := slices.IndexFunc(g.nodes, func(w *watched) bool { return w.name == name }); i >= 0 {
		return g.nodes[i]
	}
	return nil
}

// The messages between a node and the Sentinel that monitors it. A pong has the key of the message that it answers.
type (
	// probe is a message that asks a node whether it is alive, as PING does, or for its state, as INFO does.
	probe struct {
		Key  sim.Key
		Info bool
	}
	// order is a message that makes a node follow a master, or become the master, as REPLICAOF does. If this changes
	// the node's role or master, the node disconnects its clients.
	order struct{ Master sim.ProcessID }
	// pong is the answer to a probe. Info is true if the probe was an INFO. Master is the node that the sender follows;
	// it is empty for a master. Linked is true if the sender is in sync with its master. Offset is the sender's
	// replication offset, in effects. Silent lists the replicas that a master has not heard from for longer than
	// replTimeout.
	pong struct {
		Info   bool
		Master sim.ProcessID
		Linked bool
		Offset int64
		Silent []silence
	}
	// silence is how long the link to a replica has been down.
	silence struct {
		replica sim.ProcessID
		down    time.Duration
	}
)

// Phases of the messages between a node and the Sentinel. The random delay of a message depends on its phase.
const (
	phasePing  = "ping"
	phaseInfo  = "info"
	phaseOrder = "replicaof"
	phasePong  = "pong"
)

// pong answers a probe, which is a PING or an INFO from the Sentinel.
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
