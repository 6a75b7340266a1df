// Package scenarios turns a situation that a file describes into runs: scenario -> plan -> run -> history -> verdict.
// It contains the keys of scenario files, the embedded catalogue, the clients, the protected resource, and the runner
// that puts them into a simulated world.
//
// Goals: a scenario is data that a person can read. A run is a function of its scenario and plan, and the plan holds
// the seed and every fault. Non-goals: judging (checker), presenting (reports), and how faults work (sim, nemesis).
package scenarios

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Scenario is a parsed and validated scenario file. Fields whose comments state no default are required.
type Scenario struct {
	Name    string
	Summary string
	Source  string // the document that describes the situation
	Path    string // the file from which it was read; empty for the catalogue
	text    []byte
	code    *Code // runs the lock of a library or of programs; nil: the lock is a protocol of package locks

	Servers  Servers
	Network  Network
	Clients  []Client // client-1 first; they differ only as the file says
	Resource ResourceConfig
	Faults   []nemesis.Fault
	Mix      draw.Mix        // for drawing random faults; default draw.For the lock's TTL
	Within   time.Duration   // the time in which drawn faults may strike; zero: as long as a run without faults
	Promise  checker.Promise // default: the laws that Expect does not name as violated or any
	Shown    []checker.Law   // laws that some run must exercise: those promised explicitly, or expected to hold
	Limit    time.Duration   // in simulated time; default 120 s
	Bound    time.Duration   // for an uncontended acquire or release; default the lock's TTL plus [Servers.silence]
	Expect   format.All
}

// Servers are the lock servers.
type Servers struct {
	Backend     locks.Backend // the kind of servers
	N           int           // Redis masters, or members of a cluster: redis-1 …
	Replicas    int           // per master: redis-1-replica-1 …; default 0. With replicas there is a Sentinel
	Persistence store.Policy  // default: AOF with everysec, as Redis ships
	Fsync       time.Duration // how long one fsync takes; default 1 ms

	Version              string // of Redis, as in FORMAT.md; default 7.0
	NotifyKeyspaceEvents string // of Redis, as in redis.conf; default none

	// The next two are for ZooKeeper only.
	TickTime  time.Duration // default 2 s
	SyncLimit int           // in ticks; default 5

	RaftMultiplier int // of Consul; default 5

	// The rest are for replicas only.
	MinReplicasToWrite int           // default 0: none
	MinReplicasMaxLag  time.Duration // default 10 s
	SemiSync           bool          // replies wait for one replica; default off
	SemiSyncTimeout    time.Duration // after this time without a replica, replies no longer wait; default 1 s
	DownAfter          time.Duration // time until the Sentinel replaces a silent master; default 30 s
	ReconfigureAfter   time.Duration // time until a deposed master that is reachable stops serving; default 8 s
}

// silence returns how long members of these servers may go on serving after they last heard from their leader. It is 0
// if no setting limits that.
func (s *Servers) silence() time.Duration {
	if b := s.backend(); b != nil && b.Silence != nil {
		return b.Silence(s)
	}
	return 0
}

// Persistent reports whether a server still has data on its disk after it lost power.
func (s *Servers) Persistent() bool { return s.consensus() || s.Persistence != store.None }

// StandsStill returns how long a Redis node serves no client after a write, because it fsyncs first.
func (s *Servers) StandsStill() time.Duration {
	if !s.consensus() && s.Persistence == store.Always {
		return s.Fsync
	}
	return 0
}

// Network says how long messages travel.
type Network struct {
	Delay sim.Delay       // default 200 µs to 2 ms
	Tail  sim.Tail        // the share of slow messages; default none
	Links []sim.LinkDelay // directions with a delay of their own
}

// Client is one client: its lock and its work.
type Client struct {
	ID   sim.ProcessID
	Lock locks.Config
	Work Work
}

// Work is what a client does in each of its Cycles: acquire; Writes times read, compute and write; hold; release.
type Work struct {
	Start         sim.Delay      // when the first cycle begins; default 10 ms × (number of the client - 1)
	Cycles        int            // default 1
	Locks         []history.Lock // in the order in which the client takes them; empty: only the lock's own name
	Take          Take           // which of Locks a section takes; default all
	Think         sim.Delay      // between two cycles; default none
	Writes        int            // read-modify-writes of the resource per section; default 0
	Compute       time.Duration  // between a read and its write; default none
	Hold          time.Duration  // time in the section after the writes; default 100 ms
	HoldKind      HoldKind
	CheckValidity bool // check before each write and step; default off, as careless clients do
	StopWhenLost  bool // stop working if an extension failed; default on
	ReleaseFirst  bool // release the lock before the last write; default off
	Nested        bool // the work on the resource takes the lock again and releases it; default off
}

// Take says which of its locks a client's section takes.
type Take uint8

const (
	TakeAll Take = iota
	TakeOne      // one of them at random
)

// HoldKind says how long a client stays in its section.
type HoldKind uint8

const (
	HoldFor      HoldKind = iota // Work.Hold
	HoldValidity                 // until the validity that it was given ends
	HoldForever                  // its work hangs
)

// ResourceConfig configures the protected resource: a register behind the network.
type ResourceConfig struct {
	Fencing Fencing
	Writes  WriteMode
	Timeout time.Duration // how long a client waits for a reply; default 1 s
}

func (c *ResourceConfig) rules() rules {
	return rules{Lower: c.Fencing == FencingOn, Equal: c.Fencing == FencingRefuseEqual,
		Changed: c.Writes == CompareAndSet, Again: c.Writes == Idempotent}
}

// Fencing says what the resource does with fencing tokens.
type Fencing uint8

const (
	FencingOff         Fencing = iota
	FencingOn                  // refuses reads and writes with tokens lower than the highest seen
	FencingRefuseEqual         // as in the article: refuses writes whose token is not above the last write's
)

// WriteMode says which writes the resource accepts.
type WriteMode uint8

const (
	BlindWrites   WriteMode = iota // the last write wins
	CompareAndSet                  // only if the value has not changed since the writer read it
	Idempotent                     // each operation is applied once; all clients run the same operations
)

// Text returns the file's text. Callers must not change it.
func (s *Scenario) Text() []byte { return s.text }

// Locks returns the distinct names of the locks in use. They are the keys on the servers.
func (s *Scenario) Locks() []history.Lock {
	var names []history.Lock
	for i := range s.Clients {
		of := s.Clients[i].Work.Locks
		if len(of) == 0 {
			of = []history.Lock{s.Clients[i].Lock.Key}
		}
		for _, name := range of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
