// Package scenarios turns a scenario file into runs: scenario -> plan -> run -> history -> verdict. It contains the
// scenario file settings, the embedded catalog, the clients, the protected resource, and the runner that puts them into
// a simulated world.
//
// Goals: a scenario is data that a person can read. A run depends only on its scenario and its plan, and the plan
// contains the seed and every fault.
//
// Non-goals: judging (checker), presenting (reports), and how faults work (sim, nemesis).
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

// Scenario is a parsed and validated scenario file. FORMAT.md says which keys a file must contain.
type Scenario struct {
	Name    string
	Summary string
	Source  string // the published document that describes the situation
	Path    string // the file that the scenario was read from; empty for a scenario of the catalog
	text    []byte
	code    *Code // how to run the lock of a library or of programs; nil: the lock is a protocol of package locks

	Servers  Servers
	Network  Network
	Clients  []Client // client-1 first; all alike, except for overrides
	Resource ResourceConfig
	Faults   []nemesis.Fault
	// Mix says how to draw random faults. By default, it is what [draw.For] returns for the time that a lock can block
	// other clients, with the kinds in Faults added.
	Mix     draw.Mix
	Within  time.Duration   // the time within which drawn faults may strike; zero: the length of a run without faults
	Promise checker.Promise // default: all laws except those that Expect names as violated or any
	Shown   []checker.Law   // laws that some run must exercise: those promised explicitly, or expected to hold
	Limit   time.Duration   // maximum length of a run, in simulated time; default 120 s
	// Bound is the maximum time for an uncontended acquire or release. The default is the lock's TTL plus
	// [Servers.silence].
	Bound  time.Duration
	Expect format.All
}

// Servers describes a scenario's lock servers.
type Servers struct {
	Backend locks.Backend // the kind of server
	N       int           // number of Redis masters, or of members of a cluster: redis-1 …
	// number of each master's replicas: redis-1-replica-1 …; default 0. If there are any, there is also a Sentinel,
	// except in a Cluster
	Replicas    int
	Persistence store.Policy  // default: AOF with everysec, like Redis's own default
	Fsync       time.Duration // how long one fsync takes; default 1 ms

	Version              string // version of Redis, as in FORMAT.md; default 7.0
	NotifyKeyspaceEvents string // setting of Redis, as in redis.conf; default none

	// The next two fields are only for ZooKeeper.
	TickTime  time.Duration // length of a tick; default 2 s
	SyncLimit int           // the setting syncLimit, in ticks; default 5

	RaftMultiplier int // the setting raft_multiplier of Consul; default 5

	// Cluster is set if the Redis masters form a Redis Cluster; default false.
	Cluster     bool
	NodeTimeout time.Duration // how long a master of a Cluster must be silent until it is replaced; default 15 s

	// The remaining fields are only for replicas.
	MinReplicasToWrite int           // number of replicas that a master needs to accept writes; default 0
	MinReplicasMaxLag  time.Duration // how old the last acknowledgment of these replicas may be; default 10 s
	SemiSync           bool          // a master replies after one replica has received the write; default off
	SemiSyncTimeout    time.Duration // how long a reply waits for a replica; default 1 s
	DownAfter          time.Duration // how long a master must be silent until the Sentinel replaces it; default 30 s
	ReconfigureAfter   time.Duration // time until a deposed master that can be reached stops serving; default 8 s
}

// silence returns how long a fault may keep clients waiting although a quorum of the servers is up (see
// Backend.Silence). It returns 0 if no setting determines that time.
func (s *Servers) silence() time.Duration {
	if b := s.backend(); b != nil && b.Silence != nil {
		return b.Silence(s)
	}
	return 0
}

// Persistent reports whether a server keeps data on its disk through a power failure.
func (s *Servers) Persistent() bool { return s.consensus() || s.Persistence != store.None }

// StandsStill returns how long a Redis node stops serving clients while it is waiting for fsync after a write.
func (s *Servers) StandsStill() time.Duration {
	if !s.consensus() && s.Persistence == store.Always {
		return s.Fsync
	}
	return 0
}

// Network describes how long messages take.
type Network struct {
	Delay sim.Delay       // how long a message takes on a link; default 200 µs to 2 ms
	Tail  sim.Tail        // the share of slow messages; default none
	Links []sim.LinkDelay // links, in one direction each, with their own delay
}

// Client is one client: its lock and its work.
type Client struct {
	ID   sim.ProcessID
	Lock locks.Config
	Work Work
}

// Work is what a client does in each of its cycles. It acquires its locks. Then it reads the resource, computes and
// writes the result, until it has written Writes times. It stays in the section for the Hold time and then releases the
// locks.
type Work struct {
	Start         sim.Delay      // when the first cycle begins; default 10 ms × (number of the client - 1)
	Cycles        int            // number of cycles; default 1
	Tasks         int            // how many tasks of the client do the work at the same time; default 1
	Locks         []history.Lock // in the order in which the client acquires them; empty: only the lock's own name
	Take          Take           // which of Locks a section acquires; default all
	Think         sim.Delay      // pause between two cycles; default none
	Writes        int            // number of read-modify-writes of the resource per section; default 0
	Compute       time.Duration  // time between a read and its write; default none
	Hold          time.Duration  // time in the section after the writes; default 100 ms
	HoldKind      HoldKind
	CheckValidity bool // check the lease before each write and step; default off, as in careless clients
	StopWhenLost  bool // stop working if an extension failed; default on
	ReleaseFirst  bool // release the lock before the last write; default off
	Nested        bool // the work on the resource acquires the lock again and releases it; default off
}

// Take determines which of its locks a client acquires in a section.
type Take uint8

const (
	TakeAll Take = iota
	TakeOne      // one of them at random
)

// HoldKind determines how long a client stays in its section.
type HoldKind uint8

const (
	HoldFor      HoldKind = iota // for the time in Work.Hold
	HoldValidity                 // until the validity of its lock ends
	HoldForever                  // forever, because its work hangs
)

// ResourceConfig configures the protected resource: a register that clients reach over the network.
type ResourceConfig struct {
	Fencing Fencing
	Writes  WriteMode
	Timeout time.Duration // how long a client waits for a reply; default 1 s
}

func (c *ResourceConfig) rules() rules {
	return rules{Lower: c.Fencing == FencingOn, Equal: c.Fencing == FencingRefuseEqual,
		Changed: c.Writes == CompareAndSet, Again: c.Writes == Idempotent}
}

// Fencing determines how the resource uses fencing tokens.
type Fencing uint8

const (
	FencingOff Fencing = iota
	FencingOn          // refuses reads and writes with tokens lower than the highest seen
	// as in Martin Kleppmann's article: the resource refuses writes unless their token is higher than the last write's
	FencingRefuseEqual
)

// WriteMode determines which writes the resource accepts.
type WriteMode uint8

const (
	BlindWrites   WriteMode = iota // the last write wins
	CompareAndSet                  // a write is accepted only if the value has not changed since the writer read it
	Idempotent                     // each operation is applied once; all clients run the same operations
)

// Text returns the file's text. Callers must not change it.
func (s *Scenario) Text() []byte { return s.text }

// Locks returns the distinct names of the locks used by the clients. The names are also the keys on the servers.
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
