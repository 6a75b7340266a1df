// Package scenarios turns a situation described in a file into runs: scenario -> plan -> run -> history -> verdict. It
// holds the keys of scenario files, the embedded catalogue, the clients and the protected resource, and the runner that
// puts them into a simulated world.
//
// Goals: a scenario is data that a person can read; a run is a function of (scenario, plan), and a plan holds the seed
// and every fault. Non-goals: judging (checker), presenting (reports), knowing a fault's mechanics (sim, nemesis).
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

// Scenario is a parsed and validated scenario file. Every field without a default in its comment is required.
type Scenario struct {
	Name    string
	Summary string
	Source  string // the document that describes the situation
	Path    string // the file it was read from; empty for the catalogue's
	text    []byte
	code    *Code // of a library's lock; nil: the lock is a protocol of package locks

	Servers  Servers
	Network  Network
	Clients  []Client // client-1 first; they differ only as the file says
	Resource ResourceConfig
	Faults   []nemesis.Fault
	Mix      draw.Mix        // from which random faults are drawn; default draw.For the lock's TTL
	Within   time.Duration   // the time in which they strike; zero: as long as a run without faults takes
	Promise  checker.Promise // default the laws that Expect does not name as violated or any
	Shown    []checker.Law   // that some run must exercise: those promised explicitly, or expected to hold
	Limit    time.Duration   // of simulated time; default 120 s
	Bound    time.Duration   // of an uncontended acquire or release; default the lock's TTL and [Servers.silence]
	Expect   format.All
}

// Servers are the lock servers.
type Servers struct {
	Backend     locks.Backend // their kind
	N           int           // masters of Redis, or members of a cluster: redis-1 …
	Replicas    int           // of each master: redis-1-replica-1 …; default 0. With replicas there is a Sentinel
	Persistence store.Policy  // default: AOF with everysec, as Redis ships
	Fsync       time.Duration // how long one fsync takes; default 1 ms

	Version              string // of Redis, as FORMAT.md has it; default 7.0
	NotifyKeyspaceEvents string // of Redis, as redis.conf writes it; default none

	// With ZooKeeper only.
	TickTime  time.Duration // default 2 s
	SyncLimit int           // in ticks; default 5

	// With replicas only.
	MinReplicasToWrite int           // default 0: none
	MinReplicasMaxLag  time.Duration // default 10 s
	SemiSync           bool          // replies wait for one replica; default off
	SemiSyncTimeout    time.Duration // then falls back to asynchronous; default 1 s
	DownAfter          time.Duration // of the Sentinel; default 30 s
	ReconfigureAfter   time.Duration // of a deposed master that is reachable; default 8 s
}

// silence is how long members of these servers may be without a leader before they miss it, if it falls silent; 0 if
// that is not set.
func (s *Servers) silence() time.Duration {
	if s.Backend != locks.OnZooKeeper || s.N == 1 {
		return 0
	}
	return time.Duration(s.SyncLimit) * s.TickTime
}

// Persistent reports whether a server that loses power still has anything on its disk.
func (s *Servers) Persistent() bool { return s.consensus() || s.Persistence != store.None }

// StandsStill is how long a Redis node serves nobody after a write, since it fsyncs first.
func (s *Servers) StandsStill() time.Duration {
	if !s.consensus() && s.Persistence == store.Always {
		return s.Fsync
	}
	return 0
}

// Network is the delay of every message.
type Network struct {
	Delay sim.Delay       // default 200 µs to 2 ms
	Tail  sim.Tail        // the slow share of messages; default none
	Links []sim.LinkDelay // directions with a delay of their own
}

// Client is one client: its lock library and its work.
type Client struct {
	ID   sim.ProcessID
	Lock locks.Config
	Work Work
}

// Work is what a client does, Cycles times: acquire; Writes times read, compute, write; hold; release.
type Work struct {
	Start         sim.Delay      // when the first cycle begins; default (number of the client - 1) x 10 ms
	Cycles        int            // default 1
	Locks         []history.Lock // in the order in which the client takes them; empty: the lock's own name
	Take          Take           // which of the Locks each section takes; default all
	Think         sim.Delay      // between cycles; default none
	Writes        int            // read-modify-writes of the resource in each section; default 0
	Compute       time.Duration  // between a read and its write; default none
	Hold          time.Duration  // in the section, after the writes; default 100 ms
	HoldKind      HoldKind
	CheckValidity bool // before each write and step; default off: the careless client
	StopWhenLost  bool // when an extension failed, the client stops; default on
	Nested        bool // the function that works on the resource takes the lock again and gives it back; default off
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
	HoldValidity                 // until the end of the validity that it was given
	HoldForever                  // its work hangs
)

// ResourceConfig is the protected resource: a register behind the network.
type ResourceConfig struct {
	Fencing Fencing
	Writes  WriteMode
	Timeout time.Duration // of a client waiting for its reply; default 1 s
}

func (c *ResourceConfig) rules() rules {
	return rules{Lower: c.Fencing == FencingOn, Equal: c.Fencing == FencingRefuseEqual,
		Changed: c.Writes == CompareAndSet, Again: c.Writes == Idempotent}
}

// Fencing is what the resource does with fencing tokens.
type Fencing uint8

const (
	FencingOff         Fencing = iota
	FencingOn                  // refuses tokens lower than the highest seen, on reads and writes
	FencingRefuseEqual         // the article's storage: refuses writes whose token is not higher than the last write's
)

// WriteMode is what kind of write the resource takes.
type WriteMode uint8

const (
	BlindWrites   WriteMode = iota // last one wins
	CompareAndSet                  // only onto the value that the writer has read
	Idempotent                     // each operation is applied once; all clients run the same job
)

// Text is the file's text, which must not be changed.
func (s *Scenario) Text() []byte { return s.text }

// Locks are the distinct names of the locks in use. They are the keys on the servers.
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
