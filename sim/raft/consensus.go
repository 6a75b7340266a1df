// Package raft provides a replicated log for simulated services. It runs the go.etcd.io/raft/v3 library on simulated
// time and a simulated network, so crashes, pauses, cuts and clock faults affect its members like any other server.
//
// A [Cluster] has several members. A [Member] is the program of one server process and runs one [Machine], which
// implements the service. The commands that a machine receives through [Machine.Apply] are committed: every member
// receives the same commands in the same order.
//
// Goals: a run depends only on its seed. When a reply is sent, a majority has the command on disk. A leader that is cut
// off steps down after at most two election timeouts or, with [Config].Connections, two heartbeats after
// [Config].Silence. A member can find out when it is up to date enough to answer a read.
//
// Non-goals: membership changes; snapshots and log compaction (a run's log is short, and a restarted member replays
// it); leadership transfer before an orderly shutdown.
//
// # Time
//
// The raft library chooses election timeouts with random numbers that do not depend on the seed. Therefore, this
// package calls the library's Tick only for a leader, whose timeouts are fixed. A follower that has not received
// anything for [Config].Silence forgets its leader and may vote for another member. It starts a campaign within
// [Config].Campaign after that, at a random time that depends on the term. All of this is measured on the monotonic
// clock: wall clock jumps have no effect, but drift and pauses do.
//
// # Disk
//
// Everything is fsynced before it is acknowledged, so a power loss does not destroy anything that was acknowledged. A
// member that has lost its disk ([sim.LoseAllState]) must not come back under its old name. It may have made promises
// that it no longer knows about, such as a vote, and a majority of such members could elect a leader that lacks
// committed commands. It stays out of the cluster for the rest of the run and turns clients away with [Unavailable], as
// etcd does ("has already been bootstrapped"). If it is the only member of its cluster, it starts over with an empty
// log, as in etcd and ZooKeeper.
package raft

import (
	"errors"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config contains a cluster's settings. The zero value means etcd's defaults.
type Config struct {
	// Heartbeat is how often a leader sends heartbeats; 0 means every 100 ms.
	Heartbeat time.Duration
	// ElectionTicks is the election timeout, as a number of heartbeats. It must be at least 2; 0 means 10.
	ElectionTicks int
	// RequestTimeout is how long a member waits for a command to be committed or a read to be confirmed before the
	// request fails with errTimeout. 0 means 5 s plus the longer of two election timeouts and twice Silence.
	RequestTimeout time.Duration
	// Fsync is how long a write to disk takes. A sim.SlowFsync fault adds to it.
	Fsync time.Duration
	// Connections makes members notice when their connections to each other break, as ZooKeeper's members do (etcd's do
	// not). If a leader has not received anything from a follower for Silence, it closes the connection, and the
	// follower knows that it has lost its leader. The leader sends nothing more to that follower until the follower
	// sends something. At every second heartbeat, a leader that is not connected to a majority resigns. When a member's
	// process ends, the other members notice at once.
	Connections bool
	// Silence is how long a member waits for a message from its leader before giving up on it. With Connections, it is
	// also how long a leader waits for a message from a follower. 0 means the election timeout.
	Silence time.Duration
	// Campaign is the maximum time between giving up on a leader and starting a campaign; 0 means the election timeout.
	// With Connections, a member whose connection to the leader has broken waits between one and two times Campaign. So
	// does a member whose first campaign has failed. The second, third, fourth and fifth failure each double this wait.
	Campaign time.Duration
	// Lease is how long a leader carries on without contact with a majority before it resigns, as in hashicorp/raft
	// (LeaderLeaseTimeout). It must be longer than a few heartbeats. 0 means that only the election timeout limits this
	// time.
	Lease time.Duration
	// ColdStart makes the run start without a leader. If it is not set, the first member is the leader from the start.
	ColdStart bool
}

// ElectionTimeout returns the election timeout. A follower that does not receive anything from its leader for this long
// forgets the leader, unless Silence specifies a different duration.
func (c Config) ElectionTimeout() time.Duration { return time.Duration(c.ElectionTicks) * c.Heartbeat }

func (c Config) withDefaults() Config {
	if c.Heartbeat == 0 {
		c.Heartbeat = 100 * time.Millisecond
	}
	if c.ElectionTicks == 0 {
		c.ElectionTicks = 10
	}
	if c.Silence == 0 {
		c.Silence = c.ElectionTimeout()
	}
	if c.Campaign == 0 {
		c.Campaign = c.ElectionTimeout()
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 5*time.Second + 2*max(c.ElectionTimeout(), c.Silence)
	}
	return c
}

// errTimeout reports that a command or read was not confirmed in time. The command may still be committed later.
var errTimeout = errors.New("request timed out")

// Unavailable is the RESP error that a member returns after losing its disk.
const Unavailable = "-UNAVAILABLE this member has lost its disk and stays out of the cluster\r\n"

// Command is a change to the replicated state, proposed by a member. All members apply the same Command. Once it has
// been proposed, neither the Command nor the object that Value points to may be changed.
type Command struct {
	// Attempt is the attempt that the command belongs to. It is empty if the service itself proposes the command, for
	// example to expire a key.
	Attempt history.Attempt
	// Args contains strings whose meaning is up to the machine. The random delays of messages about the command are
	// derived from Attempt and the first element of Args or, if Attempt is empty, from all elements. Therefore,
	// commands without an Attempt should have different Args.
	Args []string
	// Value is a Go value for the machine that cannot be expressed in Args. Members neither encode nor copy it.
	Value any
}

// key returns the key for the random delays of the messages about a command. It is derived from the attempt and the
// first argument. If the command does not belong to an attempt, it is derived from all arguments.
func (c *Command) key() sim.Key {
	key := sim.Key(0).Text(string(c.Attempt))
	for _, a := range c.Args {
		key = key.Text(a)
		if c.Attempt != "" {
			break
		}
	}
	return key
}

// Entry is a committed command.
type Entry struct {
	Command
	Index uint64 // position in the log; increasing, but with gaps
	Term  uint64 // term of the leader that added it to the log
	// First is true for the first member of the cluster that applies the entry in this run. That member must record the
	// entry's effects. First is never true in a replay.
	First bool
	// Copied is true if another member has already applied the entry in this run, and this member is now applying it
	// for the first time. The member may then record that it has a copy. Copied is never true in a replay.
	Copied bool
	// Own is true if a client of this member is waiting for the reply. If not, the reply is dropped and may be nil.
	Own bool
}

// Machine is the service that a member runs. The member calls one method at a time. The replicated state must depend
// only on the entries applied. Clocks and randomness may only affect what is proposed.
type Machine interface {
	// Reset is called when the member starts. It must give the machine an empty state without connections. All
	// committed entries are then applied again before anything else happens. Reset must not propose anything.
	Reset(m *Member)
	// Apply executes a committed command and returns the encoded reply, which is valid until the next call. Apply
	// may call Record only if e.First is true. It may record the member's copies of keys only if e.Copied is true. It
	// may call Push for clients of this member. e is valid until Apply returns.
	Apply(m *Member, e *Entry) (reply []byte)
	// Serve handles a client's request. The machine calls r.Reply at once or later.
	Serve(m *Member, r *sim.Incoming)
	// LeaderChanged is called when the result of Leading, Leader or Unled has changed. At that time, the member may not
	// have applied all committed commands yet.
	LeaderChanged(m *Member)
	// Wake is called when a timer expires. Timers that were set before the member's last start are ignored.
	Wake(m *Member, tag uint64)
	// Lost is called before a member restarts, if it is the only member of its cluster and has lost its disk. The
	// machine must record that its state (the result of all entries for which First was true) has been lost, for the
	// given reason. Reset is called next.
	Lost(m *Member, why history.Why)
	// ReceiveFromPeer handles a message sent by another member's machine with SendToPeer.
	ReceiveFromPeer(m *Member, from sim.ProcessID, body any)
	// Fault is called for every fault except SlowFsync, even while the member is down (see Up).
	Fault(m *Member, f sim.ServerFault)
}

// Cluster contains the members that share a replicated log, together with data that they share outside the simulated
// world: the commands, which the log represents only by numbers, and a record of the entries that any member has
// applied.
type Cluster struct {
	members []*Member
	voters  []uint64 // the raft IDs of the members
	first   uint64   // the highest index that any member has applied in this run
	// commands maps the ID of each request in this run to the command proposed on its behalf.
	commands map[uint64]*Command
}

// NewCluster returns a cluster with one member for each name. It calls machine once per member to create the member's
// service.
func NewCluster(c Config, names []sim.ProcessID, machine func() Machine) *Cluster {
	cluster := &Cluster{commands: map[uint64]*Command{}}
	for i, name := range names {
		id := uint64(i + 1)
		cluster.members = append(cluster.members, &Member{cluster: cluster, id: id, name: name, machine: machine()})
		cluster.voters = append(cluster.voters, id)
	}
	cluster.Reset(c)
	return cluster
}

// Reset returns the cluster to its initial state, for the next run.
func (c *Cluster) Reset(config Config) {
	c.first = 0
	clear(c.commands)
	for _, m := range c.members {
		m.reset(config.withDefaults())
	}
}

// Members returns the members in the order of the names given to NewCluster.
func (c *Cluster) Members() []*Member { return c.members }

// AddTo adds the members to a world as servers, by calling add for each of them.
func (c *Cluster) AddTo(add func(sim.ProcessID, sim.Server)) {
	for _, m := range c.members {
		if m.config.Connections {
			add(m.name, &connected{m})
		} else {
			add(m.name, m)
		}
	}
}

var _ sim.Peer = (*Member)(nil)
